import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf

from pipelines.data.pairs import Pairs
from pipelines.support.errors import UserError
from pipelines.text.tokenizers import END, PAD, START
from pipelines.translation import task
from pipelines.translation.config import TranslationConfig


def make_config(**flags):
    return TranslationConfig(**({"vocabulary_size": 150, "batch_tokens": 300} | flags)).resolve()


@pytest.fixture(scope="module")
def splits():
    return task.load(make_config())


@pytest.fixture(scope="module")
def few(splits):
    """400 training pairs and 50 validation pairs."""
    return dataclasses.replace(splits, train=splits.train.take(np.arange(400)), valid=splits.valid.take(np.arange(50)))


def test_the_description_has_the_number_of_pairs(splits):
    assert task.describe(splits).startswith(
        f"{len(splits.train):,} pairs to train on, {len(splits.valid):,} to validate"
    )


@pytest.mark.parametrize("subword_alpha", [0.0, 0.3])
def test_batches_are_a_pure_function_of_seed_epoch_and_skip(few, tmp_path, subword_alpha):
    config = make_config(subword_alpha=subword_alpha)
    tokenizers = task.make_tokenizer(config, few)
    encoded = task.encode(config, few, tokenizers, tmp_path)
    epochs = [list(task.batches(config, encoded, epoch, 0)) for epoch in (0, 1)]
    assert len(epochs[0]) == len(epochs[1]) == task.steps_per_epoch(config, encoded)
    for epoch in (1, 0):
        for batch, expected in zip(task.batches(config, encoded, epoch, 3), epochs[epoch][3:], strict=True):
            tf.nest.map_structure(np.testing.assert_array_equal, batch, expected)
    first, second = epochs[0][0][1], epochs[1][0][1]
    assert first.shape != second.shape or (first.numpy() != second.numpy()).any()


@pytest.mark.parametrize("subword_alpha", [0.0, 0.3])
def test_an_epoch_has_every_pair_once_as_shifted_inputs_labels_and_weights(few, tmp_path, subword_alpha):
    config = make_config(subword_alpha=subword_alpha)
    tokenizers = task.make_tokenizer(config, few)
    encoded = task.encode(config, few, tokenizers, tmp_path)
    sentences = []
    for inputs, labels, weights in task.batches(config, encoded, 0, 0):
        if not subword_alpha:
            assert labels.shape[0] * max(labels.shape[1], inputs["source"].shape[1]) <= config.batch_tokens
        assert (inputs["target"][:, 0].numpy() == START).all()
        np.testing.assert_array_equal(inputs["target"][:, 1:], labels[:, :-1])
        np.testing.assert_array_equal(weights, labels.numpy() != PAD)
        last = weights.numpy().sum(axis=1)[:, None].astype(int) - 1
        assert (np.take_along_axis(labels.numpy(), last, axis=1) == END).all()
        sentences += tokenizers.source.decode(inputs["source"]).numpy().tolist()
    assert sorted(sentence.decode() for sentence in sentences) == sorted(few.train.source)
    assert task.items_per_epoch(encoded) == len(few.train)


def test_pairs_that_are_too_long_are_left_out_and_counted(few, tmp_path):
    config = make_config(max_tokens=12)
    encoded = task.encode(config, few, task.make_tokenizer(config, few), tmp_path)
    assert 0 < encoded.train.rows < len(few.train)
    for inputs, labels, _ in task.batches(config, encoded, 0, 0):
        assert max(inputs["source"].shape[1], labels.shape[1]) <= 13, "12 tokens and END"
    facts = task.describe_data(config, few, encoded)
    assert facts["notes"]["left out of training, more than 12 tokens"] == len(few.train) - encoded.train.rows
    assert facts["rows"] == {"train": encoded.train.rows, "valid": len(few.valid)}
    defaults = {"beam_width": 5, "length_penalty": 1.0, "max_length": 1000, "temperature": 0.0}
    assert facts["generation_defaults"] == defaults


def test_no_pair_that_is_short_enough_is_an_error(few, tmp_path):
    config = make_config(max_tokens=3)
    with pytest.raises(UserError, match="no training pair has at most 3 tokens: raise --max-tokens 3"):
        task.encode(config, few, task.make_tokenizer(config, few), tmp_path)


def test_monitor_is_lowest_in_the_best_epoch():
    monitor = task.fit_options(make_config(), None, None).monitor
    good, fair, bad = ({"val_loss": loss, "val_bleu": bleu} for loss, bleu in ((2.0, 20.0), (1.0, 10.0), (1.0, 0.0)))
    assert monitor(good) < monitor(fair) < monitor(bad)
    monitor = task.fit_options(make_config(monitor="loss"), None, None).monitor
    assert monitor(fair) < monitor(good)


@pytest.mark.parametrize("monitored", ["bleu", "loss"])
def test_an_epoch_whose_loss_is_not_a_number_is_never_the_best(monitored):
    monitor = task.fit_options(make_config(monitor=monitored), None, None).monitor
    assert np.isnan(monitor({"val_loss": float("nan"), "val_bleu": 100.0}))


@pytest.mark.parametrize("split_batches", [True, False])
def test_fit_options_say_whether_batches_are_split_and_leave_the_model_unchanged(split_batches):
    model = keras.Sequential([keras.layers.Dense(1)])
    train_step = model.train_step
    assert task.fit_options(make_config(split_batches=split_batches), None, model).split_batches == split_batches
    assert model.train_step == train_step


def test_an_inference_model_is_needed_for_averaged_weights():
    assert task.needs_inference_model(make_config()) and not task.needs_inference_model(make_config(ema_momentum=0.0))


@pytest.mark.parametrize(("total_steps", "warmup_steps"), [(1000, 100), (120, 60), (2, 1), (1, 1)])
def test_cosine_rises_for_at_most_half_of_the_steps_and_falls_to_0(total_steps, warmup_steps):
    config = make_config(warmup_steps=100, learning_rate=0.5)
    schedule = task.learning_rate_schedule(config, total_steps)
    expected = keras.optimizers.schedules.CosineDecay(
        0.0, decay_steps=max(1, total_steps - warmup_steps), warmup_target=0.5, warmup_steps=warmup_steps
    )
    steps = np.unique(np.linspace(0, total_steps, 23).astype(int))
    assert [float(schedule(step)) for step in steps] == [float(expected(step)) for step in steps], "bit for bit"
    assert float(schedule(0)) == 0 and float(schedule(warmup_steps)) == 0.5
    assert total_steps == 1 or float(schedule(total_steps)) < 1e-6


def test_inverse_sqrt_has_its_maximum_at_the_end_of_the_warm_up():
    schedule = task.learning_rate_schedule(
        make_config(schedule="inverse-sqrt", warmup_steps=100, learning_rate=0.5), 1000
    )
    rates = [float(schedule(step)) for step in (0, 49, 99, 399)]
    np.testing.assert_allclose(rates, [0.005, 0.25, 0.5, 0.25], rtol=1e-5)


def test_compile_model_gives_a_model_its_own_optimizer_and_the_loss():
    models = [keras.Sequential([keras.layers.Dense(1)]) for _ in range(2)]
    for model in models:
        task.compile_model(make_config(label_smoothing=0.2, ema_momentum=0.9), model, 100)
    assert models[0].optimizer is not models[1].optimizer
    assert models[0].loss.smoothing == 0.2
    assert models[0].optimizer.use_ema and models[0].optimizer.global_clipnorm == 1.0
    task.compile_model(make_config(ema_momentum=0.0), models[0], 100)
    assert not models[0].optimizer.use_ema


def test_the_validator_returns_the_loss_and_bleu_of_greedy_translations(make_small, tmp_path, monkeypatch):
    class Copy:
        """A translator that returns the source."""

        def __init__(self, config, model, source, target):
            assert config.beam_width == 1

        def translate_text(self, text):
            return {"translation": text}

    config, tokenizers, model, _ = make_small("transformer")
    source = ["The old dog sees a house.", "A cow."]
    pairs = Pairs(np.array(source, object), np.array([source[0], "Una vaca."], object))
    encoded = task.encode(config, task.Splits(pairs, pairs, None, "en-es", {}), tokenizers, tmp_path)
    task.compile_model(config, model, 10)
    monkeypatch.setattr(task, "Translator", Copy)
    row = task.make_validator(config, tokenizers, encoded, model)()
    assert row["val_bleu"] == task.metrics.bleu(pairs.source, pairs.target) > 50
    batches = list(task.batches(config, encoded, 0, 0))
    losses = [model.loss(labels, model(inputs), sample_weight=weights) for inputs, labels, weights in batches]
    sizes = [float(tf.reduce_sum(weights)) for _, _, weights in batches]
    np.testing.assert_allclose(row["val_loss"], np.average(losses, weights=sizes), rtol=0.2)
