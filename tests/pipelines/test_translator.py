"""What is exported of a translator, against the model itself."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from pipelines import decoding, nmt, translation_models, translation_steps
from pipelines.configs.base import resolved
from pipelines.configs.nmt import DEFAULT_MODELS, PRESETS, NmtConfig
from pipelines.data import sample_pairs
from pipelines.data.pairs import Pairs
from pipelines.text import END, START
from pipelines.translator import MOST_TOKENS, NEVER, Translator

PAIRS = Pairs(*sample_pairs.generate(300))
SMALL = dict(vocabulary_size=150, layers=2, hidden_size=16, embedding_size=8, heads=2, dropout=0.2, preset="quick")
KINDS = {
    "single-rnn": dict(model="single-rnn"),
    "rnn": dict(model="rnn", one_way=True, reverse_source=True, cell="lstm"),
    "attention": dict(model="attention"),
    "attention, luong": dict(model="attention", style="luong", input_feeding=True, score="dot", cell="lstm", one_way=True),
    "transformer": dict(model="transformer"),
    "transformer, post, separate": dict(model="transformer", norm="post", joint_vocabulary=False),
}
LONG = " ".join(PAIRS.source[:30])


def make(**flags):
    config = resolved(NmtConfig(**(SMALL | flags)), PRESETS, DEFAULT_MODELS)
    config.check()
    keras.utils.set_random_seed(0)
    tokenizers = nmt.tokenizer(config, nmt.Splits(PAIRS, PAIRS, None, "en-es", {}))
    model = nmt.build(config, tokenizers, None, training=False)
    for i, weight in enumerate(model.trainable_variables):  # larger than a fresh model's, so that a difference would show
        weight.assign(weight + np.random.default_rng(i).normal(scale=0.3, size=weight.shape))
    return config, tokenizers, model, Translator(config, model, tokenizers.source, tokenizers.target)


@pytest.fixture(scope="module", params=list(KINDS))
def made(request):
    return make(**KINDS[request.param])


# To trace a beam search takes seconds: one with a recurrent state, one with caches.
@pytest.fixture(scope="module", params=["attention, luong", "transformer, post, separate"])
def writes(request):
    return make(**KINDS[request.param])


def ids_of(tokenizers, sources, targets):
    return tokenizers.source.encode(tf.constant(sources))[:, 1:].to_tensor(), tokenizers.target.encode(tf.constant(targets)).to_tensor()


def test_padding_and_neighbours_change_nothing(made):
    _, tokenizers, model, _ = made
    source, target = ids_of(tokenizers, PAIRS.source[:4].tolist(), PAIRS.target[:4].tolist())
    together = model({"source": source, "target": target}).numpy()
    for row in range(4):
        alone_source, alone_target = (ids[row : row + 1][:, : int(tf.math.count_nonzero(ids[row]))] for ids in (source, target))
        padded = tf.pad(alone_source, [[0, 0], [0, 5]])
        for given in (alone_source, padded):
            alone = model({"source": given, "target": alone_target}).numpy()[0]
            np.testing.assert_allclose(together[row, : len(alone)], alone, atol=1e-5)


def test_a_place_sees_nothing_behind_it(made):
    _, tokenizers, model, _ = made
    source, target = ids_of(tokenizers, PAIRS.source[:1].tolist(), PAIRS.target[:1].tolist())
    other = tf.concat([target[:, :3], target[:, 3:][:, ::-1]], axis=1)
    logits = [model({"source": source, "target": ids}).numpy() for ids in (target, other)]
    np.testing.assert_allclose(logits[0][:, :3], logits[1][:, :3], atol=1e-5)


def test_steps_give_what_the_whole_target_gives(made, monkeypatch):
    monkeypatch.setattr(translation_steps, "_SLOTS", 3)  # so that caches grow
    config, tokenizers, model, _ = made
    source, target = ids_of(tokenizers, PAIRS.source[:3].tolist(), PAIRS.target[:3].tolist())
    whole = model({"source": source, "target": target}).numpy()
    parts = translation_models.parts_of(model)
    state = translation_steps.start(config, parts, source)
    for t in range(8):
        logits, state = translation_steps.step(config, parts, target[:, t], state)
        np.testing.assert_allclose(logits, whole[:, t], atol=1e-4)
    assert all(leaf.shape[0] == 3 for leaf in tf.nest.flatten(state)), "batch first on every leaf"


def translate(translator, texts, beam_width=1, length_penalty=1.0, max_length=12):
    each = [(beam_width, tf.int32), (length_penalty, tf.float32), (max_length, tf.int32)]
    outputs = translator.translate(tf.constant(texts), *(tf.fill([len(texts)], tf.constant(value, dtype)) for value, dtype in each))
    return {name: value.numpy() for name, value in outputs.items()}


def test_greedy_is_a_beam_of_one(writes):
    config, tokenizers, model, translator = writes
    texts = PAIRS.source[:3].tolist()
    parts = translation_models.parts_of(model)
    source, _ = ids_of(tokenizers, texts, texts)

    def step(ids, state):
        return translation_steps.step(config, parts, ids, state)

    @tf.function
    def greedy():
        logits, state = step(tf.fill([3], START), translation_steps.start(config, parts, source))
        each = [tf.fill([3], value) for value in (0.0, 0, 1.0, 1)]
        return decoding.sample(step, logits, state, tf.fill([3], 12), *each, stop=tf.fill([3, 1], END), never=NEVER)

    tokens, _, _ = greedy()
    expected = tokenizers.target.decode(tokens).numpy()
    assert translate(translator, texts)["translation"].tolist() == expected.tolist()


def test_a_translation_does_not_depend_on_what_else_is_in_the_batch(writes):
    *_, translator = writes
    texts = [PAIRS.source[0], LONG, "", PAIRS.source[1]]
    together = translate(translator, texts, beam_width=3)
    for i, text in enumerate(texts):
        alone = translate(translator, [text], beam_width=3)
        assert alone["translations"][0].tolist() == together["translations"][i].tolist()
        np.testing.assert_allclose(alone["scores"][0], together["scores"][i], rtol=1e-4)


def test_the_beam_s_log_probabilities_are_the_model_s(writes):
    """So its rows moved with all that belongs to them."""
    config, tokenizers, model, _ = writes
    parts = translation_models.parts_of(model)
    source, _ = ids_of(tokenizers, PAIRS.source[:3].tolist(), PAIRS.target[:3].tolist())

    def step(ids, state):
        return translation_steps.step(config, parts, ids, state)

    @tf.function
    def search():
        logits, state = step(tf.fill([3], START), translation_steps.start(config, parts, source))
        return decoding.beam(step, logits, state, tf.fill([3], 12), tf.fill([3], 4), tf.fill([3], 1.0), END, NEVER, fixed=("memory",))

    tokens, counts, found, _ = (value.numpy() for value in search())
    for k in range(4):
        target = np.concatenate([np.full((3, 1), START), tokens[:, k]], axis=1)
        logs = tf.nn.log_softmax(model({"source": source, "target": tf.constant(target[:, :-1])})).numpy()
        each = np.take_along_axis(logs, target[:, 1:, None], axis=2)[..., 0]
        np.testing.assert_allclose(np.where(np.arange(12) < counts[:, k, None], each, 0).sum(1), found[:, k], rtol=1e-3)


def test_a_text_counts_once_however_it_is_cut():
    config, tokenizers, model, _ = make(**KINDS["attention"])

    class Shortened:
        """What it writes begins alike, however it goes on."""

        encode = tokenizers.target.encode

        def decode(self, ids):
            return tf.strings.substr(tokenizers.target.decode(ids), 0, 1)

    outputs = translate(Translator(config, model, tokenizers.source, Shortened()), PAIRS.source[:3].tolist(), beam_width=8)
    for row in range(3):
        real = outputs["scores"][row] > -1e8
        texts = outputs["translations"][row]
        assert 1 <= real.sum() < 8 and len(set(texts[real])) == real.sum()
        assert (np.diff(outputs["scores"][row]) <= 0).all() and (texts[~real] == b"").all()


def test_the_scores_of_translations_are_those_of_the_pairs(writes):
    config, _, _, translator = writes
    texts = PAIRS.source[:3].tolist()
    outputs = translate(translator, texts, beam_width=4)
    assert (np.diff(outputs["scores"]) <= 0).all() and outputs["translations"].shape == (3, 4)
    for k in range(4):
        scored = translator.score(tf.constant(texts), tf.constant(outputs["translations"][:, k]))
        np.testing.assert_allclose(scored["log_probability"], outputs["log_probabilities"][:, k], rtol=1e-4)
        np.testing.assert_allclose(scored["score"], outputs["scores"][:, k], rtol=1e-4)


def test_scores_are_those_of_the_model(writes):
    _, tokenizers, model, translator = writes
    source, target = ids_of(tokenizers, PAIRS.source[:1].tolist(), PAIRS.target[:1].tolist())
    logs = tf.nn.log_softmax(model({"source": source, "target": target[:, :-1]})).numpy()[0]
    expected = sum(logs[t, piece] for t, piece in enumerate(target.numpy()[0, 1:]))
    scored = translator.score(tf.constant(PAIRS.source[:1]), tf.constant(PAIRS.target[:1]))
    np.testing.assert_allclose(scored["log_probability"], [expected], rtol=1e-4)
    assert scored["tokens"].numpy().tolist() == [target.shape[1] - 1]


def test_odd_sentences_have_an_answer(writes):
    config, _, _, translator = writes
    outputs = translate(translator, ["", "   ", "\U0001f600", "\x00", "word " * 5000, "\u4f60\u597d"], beam_width=2, max_length=1000)
    assert outputs["translation"][:2].tolist() == [b"", b""]
    assert np.isfinite(outputs["score"]).all()
    assert outputs["cut"].tolist() == [False, False, False, False, True, False]
    scored = translator.score(tf.constant(["a"]), tf.constant(["word " * 5000]))
    assert np.isfinite(scored["score"]).all() and scored["tokens"].numpy().tolist() == [MOST_TOKENS + 1]
    assert translate(translator, ["a"], max_length=0)["translation"].tolist() == [b""]


@pytest.mark.parametrize(("knob", "value"), [("beam_width", 0), ("length_penalty", -1.0), ("max_length", -1)])
def test_knobs_that_cannot_be_are_named(writes, knob, value):
    *_, translator = writes
    with pytest.raises(tf.errors.InvalidArgumentError, match=knob):
        translate(translator, ["a"], **{knob: value})


def test_a_beam_of_a_thousand_is_the_widest_there_is(writes):
    *_, translator = writes
    assert translate(translator, ["The dog."], beam_width=1000, max_length=4)["translations"].shape == (1, 16)


def test_where_it_looked_is_a_distribution_over_the_source(writes):
    _, tokenizers, _, translator = writes
    texts = [PAIRS.source[0], "dog", ""]
    outputs = {name: value.numpy() for name, value in translator.align(tf.constant(texts)).items()}
    for row, text in enumerate(texts):
        source, target = ([token for token in outputs[f"{side}_tokens"][row] if token] for side in ("source", "target"))
        assert source[-1] == target[-1] == b"<end>"
        weights = outputs["weights"][row]
        np.testing.assert_allclose(weights[:, : len(target), : len(source)].sum(-1), 1.0, atol=1e-5)
        assert not weights[:, len(target) :].any() and not weights[:, :, len(source) :].any()
    assert outputs["translation"].tolist() == translator.translate_text(tf.constant(texts))["translation"].numpy().tolist()


@pytest.mark.parametrize("kind", ["single-rnn", "rnn"])
def test_a_model_without_attention_is_exported_without_align(kind, tmp_path):
    *_, translator = make(**KINDS[kind])
    tf.saved_model.save(translator, str(tmp_path), signatures=translator.signatures())
    signatures = tf.saved_model.load(str(tmp_path)).signatures
    assert set(signatures) == {"serving_default", "translate", "score"}
    text = tf.constant(PAIRS.source[:2])
    assert signatures["serving_default"](text=text)["translation"].numpy().tolist() == translator.translate_text(text)["translation"].numpy().tolist()
