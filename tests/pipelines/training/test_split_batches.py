"""A training step on two halves of a batch is the step on the whole batch, up to rounding."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers

from pipelines.training.split_batches import train_on_split_batches


@pytest.fixture(autouse=True)
def without_gpus(monkeypatch):
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind=None: [])


def train_sequences(rows, split, kind):
    """Returns (losses of two epochs of three batches, weights); the inputs are a dict and positions have weights."""
    keras.utils.set_random_seed(1)
    source, target = (keras.Input((None,), dtype="int32", name=name) for name in ("source", "target"))
    memory, x = (layers.Embedding(50, 8)(ids) for ids in (source, target))
    if kind == "rnn":
        x = layers.LSTM(8, return_sequences=True)(x, initial_state=[layers.GlobalAveragePooling1D()(memory)] * 2)
    else:
        x = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 4)(x, memory))
    model = keras.Model({"source": source, "target": target}, layers.Dense(50)(x))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="mean_with_sample_weight")
    model.compile(keras.optimizers.SGD(0.1), loss)
    if split:
        train_on_split_batches(model)
    rng = np.random.default_rng(2)
    y = rng.integers(4, 50, (3 * rows, 7))
    inputs = {"source": rng.integers(4, 50, (3 * rows, 6)), "target": rng.integers(4, 50, (3 * rows, 7))}
    weights = (rng.random(y.shape) < 0.6).astype("float32")  # the halves have different total weights
    history = model.fit(inputs, y, sample_weight=weights, batch_size=rows, epochs=2, shuffle=False, verbose=0).history
    return history["loss"], model.get_weights()


@pytest.mark.long
@pytest.mark.parametrize("kind", ["rnn", "attention"])
@pytest.mark.parametrize("rows", [1, 5])
def test_the_loss_and_the_step_are_those_of_the_whole_batch(kind, rows):
    losses, weights = train_sequences(rows, True, kind)
    assert losses[1] < losses[0]
    whole_losses, whole_weights = train_sequences(rows, False, kind)
    np.testing.assert_allclose(losses, whole_losses, rtol=1e-5)
    for value, expected in zip(weights, whole_weights, strict=True):
        np.testing.assert_allclose(value, expected, atol=2e-5)


@pytest.mark.parametrize("class_weight", [None, {0: 0.5, 1: 2.0}])
def test_so_they_are_with_a_mean_over_rows_metrics_and_regularization(class_weight):
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(22, 4)).astype("float32"), rng.integers(0, 2, 22)  # the last batch has one row

    def train(split):
        keras.utils.set_random_seed(1)
        inputs = keras.Input((4,))
        model = keras.Model(inputs, layers.Dense(2, activity_regularizer="l2")(inputs))
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.SGD(0.1), loss, metrics=[keras.metrics.SparseCategoricalAccuracy("accuracy")])
        if split:
            train_on_split_batches(model)
        history = model.fit(x, y, class_weight=class_weight, batch_size=7, epochs=2, shuffle=False, verbose=0).history
        return history, model.get_weights()

    (history, weights), (whole_history, whole_weights) = train(True), train(False)
    assert history.keys() == whole_history.keys() == {"loss", "accuracy"}
    for name, values in whole_history.items():
        np.testing.assert_allclose(history[name], values, rtol=1e-5)
    for value, expected in zip(weights, whole_weights, strict=True):
        np.testing.assert_allclose(value, expected, atol=1e-5)


def test_with_a_gpu_the_model_stays_as_it_is(monkeypatch):
    model = keras.Sequential([keras.Input((4,)), layers.Dense(1)])
    model.compile("sgd", keras.losses.MeanSquaredError())
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind=None: ["a GPU"])
    train_on_split_batches(model)
    assert "train_step" not in vars(model)
