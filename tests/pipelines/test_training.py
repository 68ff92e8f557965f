"""`fit` on a model small enough to see through; what a kill leaves is tested in test_resume.py."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from pipelines import checkpoints, training
from pipelines.checkpoints import Position
from pipelines.errors import UserError


def make_model():
    keras.utils.set_random_seed(3)
    inputs = keras.Input((4,))
    model = keras.Model(inputs, keras.layers.Dense(1)(keras.layers.Dropout(0.5)(inputs)))
    model.compile(keras.optimizers.Adam(0.01), "mse", metrics=["mae"])
    return model


def batches(epoch, skip):
    x = np.random.default_rng(epoch).normal(size=(40, 4)).astype("float32")
    return tf.data.Dataset.from_tensor_slices((x, x.sum(axis=1, keepdims=True))).batch(4).skip(skip)


def plan(**changes):
    return training.Plan(**{"epochs": 4, "patience": 2, "checkpoint_every": 3, "steps": 10, "items": 40, "unit": "rows"} | changes)


def losses(*values):
    remaining = list(values)
    return lambda: {"val_loss": remaining.pop(0)}


def test_the_best_epoch_is_kept_and_patience_ends_it(tmp_path):
    model = make_model()
    weights = []
    scores = losses(3.0, 1.0, 2.0, 1.0, 0.0)

    def validate():
        weights.append(model.get_weights())
        return scores()

    position = training.fit(model, batches, validate, plan(epochs=10), tmp_path)
    assert [row["val_loss"] for row in position.rows] == [3.0, 1.0, 2.0, 1.0]  # equal is no better
    assert (position.best_epoch, position.finished) == (1, True)
    training.restore_best(model, tmp_path)
    for got, expected in zip(model.get_weights(), weights[1], strict=True):
        np.testing.assert_array_equal(got, expected)


def test_a_loss_that_never_is_a_number_is_said(tmp_path):
    with pytest.raises(UserError, match="not a number in any epoch.*--learning-rate"):
        training.fit(make_model(), batches, losses(*[float("nan")] * 4), plan(), tmp_path)


def test_metrics_csv_has_a_line_per_epoch(tmp_path):
    training.fit(make_model(), batches, losses(2, 1), plan(epochs=2), tmp_path)
    lines = (tmp_path / "metrics.csv").read_text().splitlines()
    assert lines[0] == "epoch,loss,mae,val_loss"
    assert len(lines) == 3


def test_a_finished_training_is_not_repeated(tmp_path):
    first = training.fit(make_model(), batches, losses(2, 1), plan(epochs=2), tmp_path)
    again = training.fit(make_model(), batches, losses(), plan(epochs=2), tmp_path)
    assert first.rows == again.rows


@pytest.mark.parametrize("stop_at", [1, 3, 9, 10, 14])
def test_stopped_in_an_epoch_it_goes_on_to_the_same_end(tmp_path, stop_at):
    def validated(model):
        return lambda: {"val_loss": float(np.abs(model.get_weights()[0]).sum())}

    whole = make_model()
    expected = training.fit(whole, batches, validated(whole), plan(epochs=2), tmp_path / "whole")

    stopped = make_model()
    seen = []

    class Stop(Exception):
        pass

    def broken_batches(epoch, skip):
        def count(x, y):
            seen.append(1)
            if len(seen) > stop_at + 1:  # one batch builds the metrics
                raise Stop
            return x, y

        data = batches(epoch, skip)
        return data.map(lambda x, y: tf.numpy_function(count, [x, y], [tf.float32, tf.float32])).map(
            lambda x, y: (tf.ensure_shape(x, [None, 4]), tf.ensure_shape(y, [None, 1]))
        )

    with pytest.raises(Exception, match="Stop"):
        training.fit(stopped, broken_batches, validated(stopped), plan(epochs=2, checkpoint_every=1), tmp_path / "stopped")
    resumed = make_model()
    got = training.fit(resumed, batches, validated(resumed), plan(epochs=2, checkpoint_every=1), tmp_path / "stopped")
    assert got.rows == expected.rows
    for a, b in zip(checkpoints.state_variables(resumed), checkpoints.state_variables(whole), strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_a_checkpoint_holds_dropouts_seed_and_the_running_metrics():
    model = make_model()
    model.fit(batches(0, 0), shuffle=False, verbose=0)
    names = [variable.path for variable in checkpoints.state_variables(model)]
    assert any("seed_generator" in name for name in names)
    assert any("adam" in name and "velocity" in name for name in names)
    assert len(names) > len(model.variables) + len(model.optimizer.variables)


def test_a_damaged_or_foreign_checkpoint_is_named(tmp_path):
    path = tmp_path / "run" / "checkpoints" / "last.npz"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"nonsense")
    with pytest.raises(UserError, match="is damaged: delete the run's folder .*run"):
        checkpoints.restore(path, [])
    checkpoints.save(path, [keras.Variable(np.zeros(3, "float32"))], Position())
    with pytest.raises(UserError, match="belongs to another model"):
        checkpoints.restore(path, [keras.Variable(np.zeros(4, "float32"))])


def test_precision():
    assert training.training_precision("float32") == "float32"
    assert training.training_precision("mixed_bfloat16") == "mixed_bfloat16"
    assert training.training_precision("auto") in ("float32", "mixed_bfloat16")
