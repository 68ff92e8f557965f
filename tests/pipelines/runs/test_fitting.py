import keras
import numpy as np
import pytest

from pipelines.training.fit import FitOptions
from tests.pipelines.runs.conftest import Config, train


@pytest.mark.long
def test_the_same_seed_gives_the_same_weights_and_another_one_does_not(small, tmp_path):
    results = [train(tmp_path / str(i), Config(seed=seed)) for i, seed in enumerate((1, 1, 2))]
    assert results[0].epochs == results[1].epochs != results[2].epochs


def test_in_mixed_precision_a_float32_model_is_scored_and_exported(small, tmp_path):
    result = train(tmp_path, Config(precision="mixed_bfloat16"))
    assert result.precision == "mixed_bfloat16"
    assert small.policies == {True: "mixed_bfloat16", False: "float32"}
    assert keras.config.dtype_policy().name == "float32"
    assert small.calls.count("compile_model") == 2


def test_a_task_can_ask_for_an_inference_model(small, tmp_path):
    small.needs_inference_model = lambda config: True
    train(tmp_path)
    assert small.policies == {True: "float32", False: "float32"}


def test_without_that_the_trained_model_is_scored(small, tmp_path):
    train(tmp_path)
    assert small.policies == {True: "float32"}


def test_fit_options_reach_the_training(small, tmp_path):
    initialized = []
    small.fit_options = lambda config, encoded, model: FitOptions(initialize=lambda: initialized.append(model))
    train(tmp_path)
    assert len(initialized) == 1


def test_a_training_on_all_rows_has_the_epochs_of_the_best_one_and_can_be_interrupted(small, tmp_path, monkeypatch):
    rows = np.arange(50, dtype="float32")[:, None] / 50
    epochs, exported = [], []

    def refit(config, encoded, model, servable, train_again):
        scored = model.get_weights()
        train_again(rows)
        exported.append(model.get_weights())
        assert all((new != old).all() for new, old in zip(exported[-1], scored, strict=True))
        return len(rows)

    def batches(config, encoded, epoch, skip):
        epochs.append((len(encoded), epoch))
        return type(small).batches(small, config, encoded, epoch, skip)

    def make_validator(config, tokenizer, encoded, model):
        losses = iter([0.3, 0.2, 0.4])
        return lambda: {"val_loss": next(losses)}

    for function in (refit, batches, make_validator):
        monkeypatch.setattr(small, function.__name__, function)
    assert train(tmp_path / "whole", Config(epochs=3)).about["refitted_rows"] == 50
    assert [each for each in epochs if each[0] == 50] == [(50, 0), (50, 0), (50, 1)]  # the first makes the variables
    (folder,) = (tmp_path / "whole" / "runs").glob("*/*")
    assert not (folder / "refit").exists()
    with monkeypatch.context() as patch:
        patch.setattr(small, "batches", interrupted_at(50, 1, batches))
        with pytest.raises(KeyboardInterrupt):
            train(tmp_path / "killed", Config(epochs=3))
    epochs.clear()
    assert train(tmp_path / "killed", Config(epochs=3)).about["refitted_rows"] == 50
    assert (50, 1) in epochs and epochs.count((50, 0)) == 1
    for array, expected in zip(*exported, strict=True):
        np.testing.assert_array_equal(array, expected)


def interrupted_at(num_rows, number, batches):
    def call(config, encoded, epoch, skip):
        if (len(encoded), epoch) == (num_rows, number):
            raise KeyboardInterrupt
        return batches(config, encoded, epoch, skip)

    return call
