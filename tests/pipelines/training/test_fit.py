"""`fit` on a very small model. test_resume.py kills real processes."""

import signal
import threading

import keras
import numpy as np
import pytest
import tensorflow as tf

from pipelines.support.errors import UserError
from pipelines.training import checkpoints, fit
from pipelines.training.fit import FitOptions, Plan
from pipelines.training.optimizers import AveragingAdam


def make_model(optimizer=None):
    keras.utils.set_random_seed(3)
    inputs = keras.Input((4,))
    model = keras.Model(inputs, keras.layers.Dense(1)(keras.layers.Dropout(0.5)(inputs)))
    model.compile(optimizer or keras.optimizers.Adam(0.01), "mse", metrics=["mae"])
    return model


def batches(epoch, skip):
    x = np.random.default_rng(epoch).normal(size=(40, 4)).astype("float32")
    return tf.data.Dataset.from_tensor_slices((x, x.sum(axis=1, keepdims=True))).batch(4).skip(skip)


def run(folder, validate, model=None, options=None, inference_model=None, batches=batches, **changes):
    """`fit` with a plan of 4 epochs of 10 steps."""
    values = {"max_epochs": 4, "patience": 2, "checkpoint_every": 3, "steps": 10, "items": 40, "unit": "rows"}
    model = model or make_model()
    plan = Plan(**values | changes)
    return fit.fit(model, batches, validate, plan, folder, options or FitOptions(), inference_model or model)


def losses(*values):
    """A validator that returns these losses, one per epoch."""
    remaining = list(values)
    return lambda: {"val_loss": remaining.pop(0)}


def size_of(model):
    """A validator whose loss is the size of the model's weights."""
    return lambda: {"val_loss": float(np.abs(model.get_weights()[0]).sum())}


def assert_equal_weights(one, other):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_best_epoch_is_kept_and_patience_ends_the_training(tmp_path):
    model = make_model()
    weights = []
    scores = losses(3.0, 1.0, 2.0, 1.0, 0.0)

    def validate():
        weights.append(model.get_weights())
        return scores()

    position = run(tmp_path, validate, model, max_epochs=10)
    assert [row["val_loss"] for row in position.rows] == [3.0, 1.0, 2.0, 1.0]  # an equal value is not better
    assert (position.best_epoch, position.finished) == (1, True)
    fit.restore_best(model, tmp_path)
    assert_equal_weights(model.get_weights(), weights[1])


@pytest.mark.parametrize(
    ("keep", "expected"), [(0, []), (1, [0, 6]), (2, [0, 3, 6]), (4, [0, 2, 3, 4, 6]), (99, [0, 1, 2, 3, 4, 5, 6])]
)
def test_weights_of_epochs_are_kept(tmp_path, keep, expected):
    model, weights = make_model(), {0: None}
    initial = model.get_weights()

    def validate():
        weights[len(weights)] = model.get_weights()
        return {"val_loss": 1.0}

    run(tmp_path, validate, model, max_epochs=6, patience=9, keep=keep)
    names = sorted(path.name for path in (tmp_path / "checkpoints").glob("epoch-*"))
    assert names == [fit.kept_weights(tmp_path, epoch).name for epoch in expected]
    for epoch in expected:
        checkpoints.restore(fit.kept_weights(tmp_path, epoch), model.weights)
        assert_equal_weights(model.get_weights(), weights[epoch] if epoch else initial)


def test_the_initial_weights_are_kept_once(tmp_path):
    model = make_model()
    with pytest.raises(Exception, match="Stop"):
        run(tmp_path, size_of(model), model, batches=stopping_batches(5), max_epochs=2, checkpoint_every=1, keep=2)
    first = fit.kept_weights(tmp_path, 0).read_bytes()
    resumed = make_model()
    run(tmp_path, size_of(resumed), resumed, max_epochs=2, checkpoint_every=1, keep=2)
    assert fit.kept_weights(tmp_path, 0).read_bytes() == first


def test_monitor_chooses_the_best_epoch(tmp_path):
    scores = iter([{"val_loss": 1.0, "val_bleu": 10.0}, {"val_loss": 2.0, "val_bleu": 30.0}])
    options = FitOptions(monitor=lambda row: -row["val_bleu"])
    position = run(tmp_path, lambda: next(scores), options=options, max_epochs=2)
    assert (position.best_epoch, position.best_value) == (1, -30.0)


def test_a_loss_that_is_never_a_number_is_reported(tmp_path):
    with pytest.raises(UserError, match="not a number in any epoch.*--learning-rate"):
        run(tmp_path, losses(*[float("nan")] * 4))


def test_metrics_csv_has_a_row_per_epoch(tmp_path):
    run(tmp_path, losses(2, 1), max_epochs=2)
    lines = (tmp_path / "metrics.csv").read_text().splitlines()
    assert lines[0] == "epoch,loss,mae,val_loss"
    assert len(lines) == 3


def test_a_finished_training_is_not_repeated(tmp_path):
    first = run(tmp_path, losses(2, 1), max_epochs=2)
    again = run(tmp_path, losses(), max_epochs=2)
    assert first.rows == again.rows


class Stop(Exception):
    pass


def stopping_batches(stop_at):
    """`batches` that raise `Stop` instead of batch number `stop_at` of the training."""
    seen = []

    def batches_until(epoch, skip):
        def count(x, y):
            seen.append(1)
            if len(seen) > stop_at + 1:  # one more batch creates the variables of the metrics
                raise Stop
            return x, y

        data = batches(epoch, skip).map(lambda x, y: tf.numpy_function(count, [x, y], [tf.float32, tf.float32]))
        return data.map(lambda x, y: (tf.ensure_shape(x, [None, 4]), tf.ensure_shape(y, [None, 1])))

    return batches_until


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """The rows and the whole state after two epochs."""
    model = make_model()
    position = run(tmp_path_factory.mktemp("uninterrupted"), size_of(model), model, max_epochs=2)
    return position.rows, state_of(model)


def state_of(model):
    return [variable.numpy() for variable in checkpoints.state_variables(model)]


@pytest.mark.parametrize("stop_at", [1, 3, 9, 10, 14])
def test_a_stopped_training_ends_with_the_same_bits(tmp_path, stop_at, uninterrupted, capsys):
    stopped, resumed = make_model(), make_model()
    with pytest.raises(Exception, match="Stop"):
        run(tmp_path, size_of(stopped), stopped, batches=stopping_batches(stop_at), max_epochs=2, checkpoint_every=1)
    capsys.readouterr()
    position = run(tmp_path, size_of(resumed), resumed, max_epochs=2, checkpoint_every=1)
    if stop_at > 3:  # earlier, the stop may come before the first checkpoint or after it
        assert "resuming at epoch" in capsys.readouterr().err
    assert position.rows == uninterrupted[0]
    assert_equal_weights(state_of(resumed), uninterrupted[1])


def test_without_checkpoints_within_epochs_an_interrupted_epoch_is_repeated(tmp_path, capsys):
    options = FitOptions(save_within_epochs=False)
    model = make_model()
    with pytest.raises(Exception, match="Stop"):
        run(tmp_path, size_of(model), model, options, batches=stopping_batches(15), max_epochs=2, checkpoint_every=1)
    capsys.readouterr()
    run(tmp_path, size_of(model), model, options, max_epochs=2)
    assert "resuming at epoch 2, step 0 of 10" in capsys.readouterr().err


def test_a_finished_training_is_not_resumed(tmp_path, capsys):
    position = run(tmp_path, losses(2, 1), max_epochs=2)
    assert position.finished
    capsys.readouterr()
    assert run(tmp_path, losses(2, 1), max_epochs=2).rows == position.rows
    assert "resuming" not in capsys.readouterr().err


def test_initialize_is_called_for_a_new_training_alone(tmp_path):
    calls = []
    options = FitOptions(initialize=lambda: calls.append(1))
    for epochs in (1, 2):
        run(tmp_path, losses(epochs), options=options, max_epochs=epochs)
        assert calls == [1]


def test_on_epoch_begin_is_called_before_each_epoch_and_before_the_rest_of_an_interrupted_one(tmp_path):
    positions = []
    options = FitOptions(on_epoch_begin=lambda position: positions.append((position.epoch, position.step)))
    model = make_model()
    arguments = {"max_epochs": 3, "checkpoint_every": 1, "patience": 9}
    with pytest.raises(Exception, match="Stop"):
        run(tmp_path, size_of(model), model, options, batches=stopping_batches(15), **arguments)
    assert positions == [(0, 0), (1, 0)]
    run(tmp_path, size_of(model), model, options, **arguments)
    ((epoch, step),) = positions[2:-1]
    assert epoch == 1 and 0 < step < 10 and positions[-1] == (2, 0)


def test_class_weights_change_the_training(tmp_path):
    def train(class_weight, folder):
        keras.utils.set_random_seed(1)
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
        model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))

        def labelled(epoch, skip):
            return batches(epoch, skip).map(lambda x, y: (x, tf.cast(y[:, 0] > 0, tf.int32)))

        options = FitOptions(class_weight=class_weight)
        run(folder, losses(1), model, options, batches=labelled, max_epochs=1)
        return model.get_weights()

    equal, none, other = (
        train(weight, tmp_path / name)
        for name, weight in (("equal", {0: 1.0, 1: 1.0}), ("none", None), ("other", {0: 1.0, 1: 9.0}))
    )
    np.testing.assert_allclose(equal[0], none[0], rtol=1e-6)
    assert np.abs(other[0] - none[0]).max() > 0.01


def test_the_inference_model_is_validated_and_kept_with_the_averages(tmp_path):
    model, inference_model = make_model(AveragingAdam(0.05, use_ema=True, ema_momentum=0.9)), make_model()
    validated = []

    def validate():
        validated.append(inference_model.get_weights())
        return {"val_loss": float(-len(validated))}

    run(tmp_path, validate, model, inference_model=inference_model, max_epochs=2)
    averages = make_model()
    model.optimizer.copy_averages(averages.trainable_variables)
    assert_equal_weights(validated[-1], averages.get_weights())
    assert (model.get_weights()[0] != averages.get_weights()[0]).any()
    restored = make_model()
    fit.restore_best(restored, tmp_path)
    assert_equal_weights(restored.get_weights(), averages.get_weights())


def test_copy_weights_without_averages():
    source, target = make_model(), make_model()
    source.layers[-1].kernel.assign(np.ones((4, 1)))
    fit.copy_weights(source, target)
    assert_equal_weights(target.get_weights(), source.get_weights())


def test_split_batches_train_the_same_model_up_to_rounding(tmp_path, monkeypatch):
    split_models = []
    original = fit.train_on_split_batches
    monkeypatch.setattr(fit, "train_on_split_batches", lambda model: (split_models.append(model), original(model)))

    def train(split, folder):
        keras.utils.set_random_seed(3)
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
        model.compile("sgd", keras.losses.MeanSquaredError())
        run(folder, losses(1), model, FitOptions(split_batches=split), max_epochs=1)
        return model

    whole, split = train(False, tmp_path / "whole"), train(True, tmp_path / "split")
    assert split_models == [split]
    np.testing.assert_allclose(split.get_weights()[0], whole.get_weights()[0], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_and_the_training_resumes_where_it_stopped(tmp_path, number, uninterrupted, capsys, monkeypatch):
    steps = []
    show_progress = fit.Progress.on_train_batch_end

    def send_signal(self, batch, logs=None):
        steps.append(batch)
        if len(steps) == 13:
            signal.raise_signal(number)
        show_progress(self, batch, logs)

    monkeypatch.setattr(fit.Progress, "on_train_batch_end", send_signal)
    handlers = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    stopped = make_model()
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, size_of(stopped), stopped, max_epochs=2, checkpoint_every=100)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == handlers
    assert "stopping after this step" in capsys.readouterr().err
    resumed = make_model()
    position = run(tmp_path, size_of(resumed), resumed, max_epochs=2)
    assert "resuming at epoch 2, step 4 of 10" in capsys.readouterr().err
    assert position.rows == uninterrupted[0]
    assert_equal_weights(state_of(resumed), uninterrupted[1])


def test_make_deterministic_sets_all_seeds():
    samples = []
    for _ in range(2):
        fit.make_deterministic(5)
        samples.append((np.random.random(), float(keras.random.uniform(())), float(tf.random.uniform([]))))
    assert samples[0] == samples[1]


def test_an_epoch_is_printed_with_its_scores_and_speed(tmp_path, capsys):
    run(tmp_path, lambda: {"val_loss": 0.5, "val_bleu": 12.5, "learning weights": 1234}, max_epochs=1)
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("epoch 1/1: ")]
    for part in ("loss ", "mae ", "validation loss 0.5000", "validation bleu 12.5000", "learning weights 1,234"):
        assert part in line
    assert line.endswith(" rows/s")


def test_signals_are_left_alone_outside_the_main_thread():
    previous, found = signal.getsignal(signal.SIGINT), []

    def train():
        with fit._stop_signals() as stop_requested:
            found.append((stop_requested(), signal.getsignal(signal.SIGINT)))

    thread = threading.Thread(target=train)
    thread.start()
    thread.join()
    assert found == [(False, previous)]
