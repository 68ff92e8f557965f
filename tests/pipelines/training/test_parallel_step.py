"""The step of one of several workers; how several agree is tested with processes in tests/pipelines/distributed."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from pipelines.training.parallel_step import train_on_parts
from pipelines.translation.losses import SmoothedCrossentropy


class OneWorker:
    """A group whose sums are the values of its only worker."""

    def sum_step(self, values):
        return values

    def gather_slices(self, slices):
        return slices


def make_model(loss, metrics=(), sequences=False):
    keras.utils.set_random_seed(1)
    ids = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(20, 8)(ids)
    x = x if sequences else keras.layers.GlobalAveragePooling1D()(x)
    model = keras.Model(ids, keras.layers.Dense(3)(x))
    model.compile(keras.optimizers.Adam(0.05, global_clipnorm=0.1), loss, metrics=list(metrics))
    return model


def fit(model, batches, **options):
    history = model.fit(batches, epochs=3, shuffle=False, verbose=0, **options).history
    return history, model.get_weights()


def assert_equal(found, expected):
    assert found[0].keys() == expected[0].keys()
    for name in expected[0]:
        np.testing.assert_allclose(found[0][name], expected[0][name], rtol=1e-5)
    for weights, other in zip(found[1], expected[1]):
        np.testing.assert_allclose(weights, other, atol=1e-5)


def labelled_batches(rows=10, batch_size=4):
    rng = np.random.default_rng(2)
    ids, labels = rng.integers(0, 20, (rows, 5)), rng.integers(0, 3, rows)
    return tf.data.Dataset.from_tensor_slices((ids, labels)).batch(batch_size)


def make_classifier():
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return make_model(loss, [keras.metrics.SparseCategoricalAccuracy("accuracy")])


@pytest.mark.parametrize("class_weight", [None, {0: 0.5, 1: 2.0, 2: 1.0}])
def test_one_worker_is_the_step_of_keras(class_weight):
    expected = fit(make_classifier(), labelled_batches(), class_weight=class_weight)
    model = make_classifier()
    train_on_parts(model, OneWorker(), class_weight)
    assert_equal(fit(model, labelled_batches()), expected)


def test_one_worker_with_a_mean_over_weights():
    rng = np.random.default_rng(3)
    ids, y = rng.integers(0, 20, (10, 5)), rng.integers(0, 3, (10, 5))
    weights = (np.arange(5) < rng.integers(1, 6, (10, 1))).astype("float32")
    batches = tf.data.Dataset.from_tensor_slices((ids, y, weights)).batch(4)
    expected = fit(make_model(SmoothedCrossentropy(0.1), sequences=True), batches)
    model = make_model(SmoothedCrossentropy(0.1), sequences=True)
    train_on_parts(model, OneWorker(), None)
    found = fit(model, batches)
    assert_equal(found, expected)


def test_a_row_that_does_not_count_adds_nothing():
    """The other worker has the only row of the batch: what it sends is what all apply."""
    ids, y = np.array([[1, 2, 3]]), np.array([2])

    class Recorder(OneWorker):
        def sum_step(self, values):
            return values + self.others

        def gather_slices(self, slices):
            return [tf.IndexedSlices(0 * each.values, each.indices, each.dense_shape) for each in slices]

    group = Recorder()
    model = make_classifier()
    model.test_on_batch(ids, y)  # creates the variables of the metrics, as `fit.fit` does
    model.reset_metrics()
    size = sum(int(np.prod(variable.shape)) for variable in model.trainable_variables[1:])
    # gradients, 2 states of the accuracy, then loss, weight, rows and stops of a worker with one row
    group.others = tf.constant([0.0] * size + [1.0, 1.0] + [0.7, 1.0, 1.0, 0.0])
    before = model.get_weights()
    train_on_parts(model, group, None)
    result = model.train_on_batch(ids, y, np.array([0.0], "float32"), return_dict=True)
    assert result == pytest.approx({"loss": 0.7, "accuracy": 1.0})
    for weights, other in zip(model.get_weights(), before):
        np.testing.assert_allclose(weights, other, atol=1e-7)


def test_a_request_to_stop_reaches_the_worker():
    class Other(OneWorker):
        def sum_step(self, values):
            return values + tf.concat([tf.zeros([values.shape[0] - 1]), [1.0]], axis=0)

    model = make_classifier()
    stops = train_on_parts(model, Other(), None)
    model.train_on_batch(*next(iter(labelled_batches())))
    assert float(stops) == 1.0
