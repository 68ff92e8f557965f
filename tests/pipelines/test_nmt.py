import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf

from pipelines import batching, nmt, text, training, translation_losses, translation_scores
from pipelines.configs.base import resolved
from pipelines.configs.nmt import DEFAULT_MODELS, PRESETS, NmtConfig
from pipelines.errors import UserError
from pipelines.text import END, PAD, START


def config_of(**flags):
    return resolved(NmtConfig(**({"vocabulary_size": 150, "batch_tokens": 300} | flags)), PRESETS, DEFAULT_MODELS)


@pytest.fixture(scope="module")
def splits():
    return nmt.load(config_of())


def test_every_preset_fills_every_open_field():
    open_fields = {f.name for f in dataclasses.fields(NmtConfig) if f.default is None}
    open_fields -= {"data", "target", "pair", "valid", "valid_target", "preset", "model"}
    for (model, preset), values in PRESETS.items():
        assert set(values) == open_fields
        resolved(NmtConfig(model=model, preset=preset), PRESETS, DEFAULT_MODELS).check()


@pytest.mark.parametrize(
    "flag",
    [
        {"pair": "en"}, {"pair": "en-en"}, {"vocabulary_size": 5}, {"sampling": -1.0}, {"max_tokens": 2}, {"layers": 0}, {"heads": 5},
        {"model": "attention", "input_feeding": True}, {"model": "rnn", "reverse_source": True}, {"reverse_source": True},
        {"model": "rnn", "hidden_size": 33}, {"dropout": 1.0}, {"label_smoothing": 1.0},
        {"batch_tokens": 50}, {"average": 1.0}, {"beam_width": 17}, {"beam_width": 0}, {"length_penalty": -0.1}, {"warm_up": 0}, {"seed": -1},
    ],
)  # fmt: skip
def test_a_useless_setting_is_named(flag):
    with pytest.raises(UserError, match=f"^--{list(flag)[-1].replace('_', '-')}[ :].*must be"):
        config_of(**flag).check()


def test_a_loss_that_is_no_number_is_watched_whatever_the_bleu():
    watched = nmt.fit_arguments(config_of(halves=False), None, None)["watched"]
    assert watched({"val_loss": 2.0, "val_bleu": 20.0}) < watched({"val_loss": 1.0, "val_bleu": 10.0}) < watched({"val_loss": 1.0, "val_bleu": 0.0})
    assert np.isnan(watched({"val_loss": float("nan"), "val_bleu": 0.0}))


def test_the_paper_s_base_has_its_sizes():
    config = resolved(NmtConfig(preset="base"), PRESETS, DEFAULT_MODELS)
    assert (config.layers, config.hidden_size, config.feed_forward * config.hidden_size, config.heads) == (6, 512, 2048, 8)


def test_a_preset_that_a_model_does_not_have_is_named():
    with pytest.raises(UserError, match="--preset base: --model rnn has full and quick"):
        config_of(model="rnn", preset="base")


def test_no_validation_sentence_is_in_training(splits):
    assert not set(splits.train.source) & set(splits.valid.source)
    assert len(splits.train) + len(splits.valid) == 6000 and 200 < len(splits.valid) < 400


@pytest.mark.parametrize("sampling", [0.0, 0.3])
def test_batches_are_a_pure_function_of_seed_epoch_and_skip(splits, tmp_path, sampling):
    config = config_of(sampling=sampling)
    small = dataclasses.replace(splits, train=splits.train.take(np.arange(400)), valid=splits.valid.take(np.arange(50)))
    tokenizers = nmt.tokenizer(config, small)
    encoded = nmt.encode(config, tokenizers, small, tmp_path)
    steps = nmt.steps_per_epoch(config, encoded)
    whole = [list(nmt.batches(config, encoded, epoch, 0)) for epoch in (0, 1)]
    assert len(whole[0]) == len(whole[1]) == steps
    for epoch in (1, 0):
        for got, expected in zip(nmt.batches(config, encoded, epoch, 3), whole[epoch][3:], strict=True):
            tf.nest.map_structure(np.testing.assert_array_equal, got, expected)
    sentences = []
    for inputs, targets, counts in whole[0]:
        assert targets.shape[0] * targets.shape[1] <= 300 or sampling
        assert (inputs["target"][:, 0].numpy() == START).all()
        np.testing.assert_array_equal(inputs["target"][:, 1:], targets[:, :-1])
        np.testing.assert_array_equal(counts, targets.numpy() != PAD)
        assert (np.take_along_axis(targets.numpy(), counts.numpy().sum(1)[:, None].astype(int) - 1, 1) == END).all()
        sentences += tokenizers.source.decode(inputs["source"]).numpy().tolist()
    assert sorted(s.decode() for s in sentences) == sorted(small.train.source), "each pair once"
    assert (whole[0][0][1].shape != whole[1][0][1].shape) or (whole[0][0][1].numpy() != whole[1][0][1].numpy()).any()


def test_sampled_pieces_differ_and_spell_the_same(splits):
    tokenizer = nmt.tokenizer(config_of(), splits).source
    texts = np.array([*splits.train.source[:50], "  odd \u00a0 spaces", ""], object)
    sampler = text.Sampler(tokenizer, texts, 0.2)
    first, again, other = (sampler(seed).to_list() for seed in (1, 1, 2))
    assert first == again and first != other
    expected = [" ".join(each.split()) for each in texts]
    for rows in (first, other):
        assert [value.decode() for value in tokenizer.decode(tf.ragged.constant(rows, tf.int32)).numpy()] == expected


def test_pieces_are_drawn_as_often_as_it_says(splits):
    tokenizer = nmt.tokenizer(config_of(), splits).source
    drawn = text.Sampler(tokenizer, np.array(["green"] * 20_000, object), 0.3)(1).to_list()
    ways, counts = np.unique([" ".join(map(str, row)) for row in drawn], return_counts=True)
    usual = tokenizer.encode(tf.constant(["green"]))[:, 1:-1].to_list()[0]
    assert len(ways) > 3 and ways[counts.argmax()] == " ".join(map(str, usual))
    # Ways with the pieces' probabilities p have chances p^0.3: so the logarithms of the counts differ by 0.3 of those of p.
    import sentencepiece

    pieces = sentencepiece.SentencePieceProcessor(model_proto=tokenizer._model)
    logs = np.array([sum(pieces.get_score(int(i)) for i in way.split()) for way in ways])
    order = counts.argsort()[::-1][:4]
    np.testing.assert_allclose(np.log(counts[order] / counts[order[0]]), 0.3 * (logs[order] - logs[order[0]]), atol=0.15)


def test_separate_vocabularies_are_saved_apart(splits, tmp_path):
    for joint in (True, False):
        tokenizers = nmt.tokenizer(config_of(joint_vocabulary=joint), splits)
        assert (tokenizers.source is tokenizers.target) == joint
        folder = tmp_path / str(joint)
        folder.mkdir()
        tokenizers.save(folder)
        loaded = nmt.load_tokenizer(folder)
        assert (loaded.source is loaded.target) == joint
        for side in ("source", "target"):
            assert getattr(loaded, side).vocabulary() == getattr(tokenizers, side).vocabulary()


def test_cased_pieces_keep_case_and_spell_what_was_written(splits):
    tokenizer = nmt.tokenizer(config_of(), splits).source
    written = tokenizer.decode(tokenizer.encode(tf.constant(["The  dog sees Cada cow ."]))).numpy()[0].decode()
    assert written == "The dog sees Cada cow ."


def test_a_plan_keeps_within_its_tokens_and_has_each_row_once():
    lengths = np.random.default_rng(0).integers(1, 40, 500)
    plan = batching.token_plan(lengths, 100)
    for epoch in (0, 1):
        order = batching.token_order(lengths, plan, 3, epoch)
        assert len(order) == len(plan)
        assert sorted(np.concatenate(order)) == list(range(500))
        assert all(len(rows) * lengths[rows].max() <= 100 for rows in order)
    assert batching.token_plan(np.array([7]), 5) == [(0, 1)], "one row is a batch, however long"


def test_the_loss_and_its_gradient_are_the_equation():
    rng = np.random.default_rng(0)
    logits, truth = rng.normal(size=(2, 3, 5)), np.array([[1, 2, 3], [4, 0, 0]])
    weights = np.array([[1.0, 1, 1], [1, 0, 0]])
    logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    wanted = np.full(logits.shape, 0.1 / 5)
    np.put_along_axis(wanted, truth[..., None], 0.9 + 0.1 / 5, axis=-1)
    expected = (-(wanted * logs).sum(-1) * weights).sum() / weights.sum()
    logits = tf.constant(logits, tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(logits)
        got = translation_losses.SmoothedCrossentropy(0.1)(truth, logits, sample_weight=weights)
    np.testing.assert_allclose(got, expected, rtol=1e-5)
    gradient = (np.exp(logs) - wanted) * weights[..., None] / weights.sum()
    np.testing.assert_allclose(tape.gradient(got, logits), gradient, atol=1e-6)


def test_the_paper_s_schedule():
    schedule = translation_losses.InverseSquareRoot(0.5, 100)
    np.testing.assert_allclose([float(schedule(step)) for step in (0, 49, 99, 399)], [0.005, 0.25, 0.5, 0.25], rtol=1e-5)


def test_averages_are_kept_beside_the_weights():
    model, twin = (keras.Sequential([keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros"), ]) for _ in range(2))
    for each in (model, twin):
        each.build((None, 1))
    model.compile(training.AveragingAdam(0.1, use_ema=True, ema_momentum=0.2), "mse")
    seen = []
    x, y = np.ones((1, 1), np.float32), np.ones((1, 1), np.float32)
    for _ in range(3):
        model.fit(x, y, verbose=0)
        seen.append(float(model.weights[0][0, 0]))
    training.copy_weights(model, twin)
    average = seen[0]
    for momentum, value in zip((2 / 11, 0.2), seen[1:], strict=True):  # (1 + t) / (10 + t) at first, and 0.2 once that is more
        average = momentum * average + (1 - momentum) * value
    np.testing.assert_allclose(twin.weights[0], [[average]], rtol=1e-5)
    assert float(model.weights[0][0, 0]) == seen[-1], "the weights themselves go on"


def test_measures():
    references = ["Ein Mann f\u00e4hrt Fahrrad .", "Zwei Hunde laufen im Park ."]
    perfect = translation_scores.measures(["a b", "c d e f g h i j k"], references, references)
    assert perfect["bleu"] == pytest.approx(100) and perfect["chrf"] == pytest.approx(100) and perfect["ter"] == 0
    assert "tok:13a" in perfect["bleu_signature"] and "case:mixed" in perfect["bleu_signature"]
    assert [part["rows"] for part in perfect["bleu_by_length"]] == [1, 1]
    assert translation_scores.measures(["a", "b"], ["x", "y"], references)["bleu"] < 5
