"""What is exported of a translator, compared with its network."""

import numpy as np
import pytest
import tensorflow as tf

from pipelines.decoding.beam_search import beam_search
from pipelines.decoding.loop import STAGE_STEPS
from pipelines.decoding.options import (
    MAX_BEAM_WIDTH,
    MAX_TRANSLATION_LENGTH,
    SAMPLED_TRANSLATION,
    TRANSLATION,
    defaults,
    filled,
)
from pipelines.export import saved_model
from pipelines.text.tokenizers import END, START
from pipelines.translation import networks, steps, task
from pipelines.translation.servable import BANNED_IDS, Translator
from tests.pipelines.decoding.staggered import run_of, staggered

DEFAULTS = {"beam_width": 1, "length_penalty": 1.0, "max_length": 12}


def translate(translator, texts, **options):
    text = tf.constant(list(texts))
    outputs = translator.translate(text, filled(TRANSLATION, DEFAULTS | options, text))
    return {name: value.numpy() for name, value in outputs.items()}


def log_probabilities(model, source, target):
    """Log-probabilities of the tokens after the first one, float [rows, Tt - 1]."""
    logits = model({"source": source, "target": tf.constant(target[:, :-1])})
    return np.take_along_axis(tf.nn.log_softmax(logits).numpy(), target[:, 1:, None], axis=2)[..., 0]


def decode_greedily(small, source, num_tokens):
    """Tokens int32 [rows, num_tokens] without those after END, and the log-probability of each, 0 after END."""
    config, _, model, _ = small
    parts = networks.layers_by_name(model)
    ids, state = (
        np.full(len(source), START, np.int32),
        steps.start(config, parts, networks.encode(config, parts, source)),
    )
    tokens, log_probabilities = [], []
    for time in range(num_tokens):
        if time % STAGE_STEPS == 1:  # the state has room for START
            state = steps.make_room(state)
        logits, state = steps.step(config, parts, tf.constant(ids), state)
        allowed = logits.numpy()
        allowed[:, list(BANNED_IDS)] = -np.inf
        ids = allowed.argmax(axis=1).astype(np.int32)
        tokens.append(ids)
        log_probabilities.append(np.take_along_axis(tf.nn.log_softmax(logits).numpy(), ids[:, None], axis=1)[:, 0])
    tokens, log_probabilities = np.stack(tokens, axis=1), np.stack(log_probabilities, axis=1)
    ends = np.cumsum(tokens == END, axis=1)
    return np.where(ends > 0, 0, tokens), np.where((ends == 0) | ((ends == 1) & (tokens == END)), log_probabilities, 0)


@pytest.mark.long
def test_a_beam_of_one_is_greedy(small_decoder, pairs, encode):
    tokens, _ = decode_greedily(small_decoder, encode(small_decoder, pairs, 3)[0], 12)
    expected = small_decoder.tokenizers.target.decode(tokens).numpy()
    assert translate(small_decoder.translator, pairs.source[:3])["translation"].tolist() == expected.tolist()


def samples(translator, texts, **options):
    text = tf.constant(list(texts))
    given = defaults(SAMPLED_TRANSLATION) | {"max_length": 12, "temperature": 1.0, "top_p": 1.0} | options
    outputs = translator.sample(text, filled(SAMPLED_TRANSLATION, given, text))
    return {name: value.numpy() for name, value in outputs.items()}


@pytest.mark.long
def test_a_sample_at_temperature_0_is_greedy(small_decoder, pairs, encode):
    tokens, log_probabilities = decode_greedily(small_decoder, encode(small_decoder, pairs, 3)[0], 12)
    sampled = samples(small_decoder.translator, pairs.source[:3], temperature=0.0)
    assert sampled["translation"].tolist() == small_decoder.tokenizers.target.decode(tokens).numpy().tolist()
    np.testing.assert_allclose(sampled["log_probability"], log_probabilities.sum(axis=1), rtol=1e-4)


@pytest.mark.long
def test_a_sample_follows_its_seed_and_not_the_other_texts(small_decoder, pairs):
    texts = [*pairs.source[:3], ""]
    together = samples(small_decoder.translator, texts)["translation"].tolist()
    assert samples(small_decoder.translator, texts)["translation"].tolist() == together
    assert samples(small_decoder.translator, texts, seed=2)["translation"].tolist() != together
    assert samples(small_decoder.translator, texts[2:3])["translation"].tolist() == together[2:3]
    assert together[3] == b""


@pytest.mark.long
def test_sources_that_join_a_batch_later_get_what_sample_gives_each(small, pairs):
    """The sources, the positions and the lengths of the translations differ; the caches are moved."""
    translator = small.translator
    cases = [(pairs.source[0], 40, 0.0), ("", 9, 1.0), (pairs.source[1] + " " + pairs.source[2], 30, 1.0)]
    cases += [(pairs.source[3], 0, 1.0), (pairs.source[4], 3, 0.0), (pairs.source[5], 25, 0.7)]
    requests = []
    for source, max_length, temperature in cases:
        given = defaults(SAMPLED_TRANSLATION) | {"max_length": max_length, "temperature": temperature}
        given |= {"seed": 2, "top_p": 1.0}
        dtypes = {option.name: option.dtype for option in SAMPLED_TRANSLATION}
        requests.append({name: np.array([value], dtypes[name]) for name, value in given.items()} | {"text": [source]})
    pieces = staggered(run_of(translator), requests)
    for (source, max_length, temperature), of_text in zip(cases, pieces, strict=True):
        whole = samples(translator, [source], max_length=max_length, temperature=temperature, seed=2)
        assert "".join(piece.text for piece in of_text) == whole["translation"][0].decode()


@pytest.mark.long
def test_a_translation_does_not_depend_on_the_other_texts_in_the_batch(small_decoder, pairs):
    texts = [pairs.source[0], " ".join(pairs.source[:30]), "", pairs.source[1]]
    together = translate(small_decoder.translator, texts, beam_width=3)
    for i, text in enumerate(texts):
        alone = translate(small_decoder.translator, [text], beam_width=3)
        n = alone["translations"].shape[1]
        assert alone["translations"][0].tolist() == together["translations"][i, :n].tolist()
        np.testing.assert_allclose(alone["scores"][0], together["scores"][i, :n], rtol=1e-4)
        assert (together["scores"][i, n:] == -1e9).all()  # other texts have more different translations


@pytest.mark.long
def test_the_log_probabilities_of_the_beam_are_those_of_the_network(small_decoder, pairs, encode):
    """This fails if beam search moves a hypothesis without its state."""
    config, _, model, _ = small_decoder
    parts = networks.layers_by_name(model)
    source, _ = encode(small_decoder, pairs, 3)

    def step(ids, state):
        return steps.step(config, parts, ids, state)

    @tf.function
    def search():
        logits, state = step(tf.fill([3], START), steps.start(config, parts, networks.encode(config, parts, source)))
        lengths, beam_width, length_penalty = tf.fill([3], 12), tf.fill([3], 4), tf.fill([3], 1.0)
        options = {"make_room": steps.make_room, **steps.sharing(config)}
        return beam_search(step, logits, state, lengths, beam_width, length_penalty, END, BANNED_IDS, **options)

    hypotheses = search()
    for k in range(4):
        target = np.concatenate([np.full((3, 1), START), hypotheses.tokens.numpy()[:, k]], axis=1)
        in_target = np.arange(12) < hypotheses.lengths.numpy()[:, k, None]
        expected = np.where(in_target, log_probabilities(model, source, target), 0).sum(1)
        np.testing.assert_allclose(hypotheses.log_probabilities[:, k], expected, rtol=1e-3)


@pytest.mark.long
def test_a_text_counts_once_even_if_several_token_sequences_give_it(make_small, pairs):
    config, tokenizers, model, _ = make_small("attention")

    class FirstCharacter:
        """A tokenizer that decodes only the first character, so that most hypotheses give the same text."""

        encode = tokenizers.target.encode

        def decode(self, ids):
            return tf.strings.substr(tokenizers.target.decode(ids), 0, 1)

    translator = Translator(config, model, tokenizers.source, FirstCharacter())
    outputs = translate(translator, pairs.source[:3], beam_width=8)
    for row in range(3):
        is_kept = outputs["scores"][row] > -1e8
        texts = outputs["translations"][row]
        assert 1 <= is_kept.sum() < 8 and len(set(texts[is_kept])) == is_kept.sum()
        assert (np.diff(outputs["scores"][row]) <= 0).all() and (texts[~is_kept] == b"").all()


@pytest.mark.long
def test_the_scores_of_translations_are_those_of_the_signature_score(small_decoder, pairs):
    translator, texts = small_decoder.translator, pairs.source[:3].tolist()
    outputs = translate(translator, texts, beam_width=4)
    assert (np.diff(outputs["scores"]) <= 0).all() and outputs["translations"].shape == (3, 4)
    for k in range(4):
        scored = translator.score(tf.constant(texts), tf.constant(outputs["translations"][:, k]))
        np.testing.assert_allclose(scored["log_probability"], outputs["log_probabilities"][:, k], rtol=1e-4)
        np.testing.assert_allclose(scored["score"], outputs["scores"][:, k], rtol=1e-4)


def test_score_is_the_log_probability_of_the_network(small_decoder, pairs, encode):
    source, target = encode(small_decoder, pairs, 1)
    scored = small_decoder.translator.score(tf.constant(pairs.source[:1]), tf.constant(pairs.target[:1]))
    expected = log_probabilities(small_decoder.model, source, target.numpy())
    np.testing.assert_allclose(scored["log_probability"], [expected.sum()], rtol=1e-4)
    np.testing.assert_allclose(np.ravel(scored["token_log_probabilities"]), np.ravel(expected), rtol=1e-3)
    tokens = small_decoder.tokenizers.target.tokens(tf.constant(pairs.target[:1]))[0, 1:-1].numpy().tolist()
    assert scored["target_tokens"].numpy()[0].tolist() == [*tokens, b"<end>"]
    assert scored["tokens"].numpy().tolist() == [target.shape[1] - 1]


@pytest.mark.long
def test_unusual_texts_have_a_translation(small_decoder):
    texts = ["", "   ", "\U0001f600", "\x00", "word " * 5000, "\u4f60\u597d"]
    outputs = translate(small_decoder.translator, texts, beam_width=2, max_length=30)
    assert outputs["translation"][:2].tolist() == [b"", b""]
    assert np.isfinite(outputs["score"]).all()
    assert outputs["cut"].tolist() == [False, False, False, False, True, False]


def test_score_reads_the_first_tokens_of_a_very_long_translation(small_decoder):
    scored = small_decoder.translator.score(tf.constant(["a"]), tf.constant(["word " * 5000]))
    assert np.isfinite(scored["score"]).all() and scored["tokens"].numpy().tolist() == [MAX_TRANSLATION_LENGTH + 1]


def test_a_maximum_length_of_0_gives_an_empty_translation(small_decoder):
    assert translate(small_decoder.translator, ["a"], max_length=0)["translation"].tolist() == [b""]


@pytest.mark.parametrize(("option", "value"), [("beam_width", 0), ("length_penalty", -1.0), ("max_length", -1)])
def test_an_option_below_its_minimum_is_an_error_that_names_it(small_decoder, option, value):
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"{option} must be at least"):
        translate(small_decoder.translator, ["a"], **{option: value})


def test_a_beam_width_above_the_maximum_is_set_to_the_maximum(small_decoder):
    outputs = translate(small_decoder.translator, ["The dog."], beam_width=1000, max_length=4)
    assert outputs["translations"].shape == (1, MAX_BEAM_WIDTH)


@pytest.mark.long
def test_serving_default_has_the_options_of_the_config(make_small, pairs):
    config, *_, translator = make_small("transformer, post")
    texts = pairs.source[:2].tolist()
    options = {"beam_width": config.beam_width, "length_penalty": config.length_penalty, "max_length": 1000}
    expected = translate(translator, texts, **options)
    outputs = translator.translate_text(tf.constant(texts))
    assert outputs["translation"].numpy().tolist() == expected["translation"].tolist()
    np.testing.assert_array_equal(outputs["score"], expected["score"])


@pytest.mark.long
def test_the_attention_weights_are_distributions_over_the_source(small_decoder, pairs):
    texts = [pairs.source[0], "dog", ""]
    outputs = {name: value.numpy() for name, value in small_decoder.translator.align(tf.constant(texts)).items()}
    for row in range(3):
        source, target = ([token for token in outputs[f"{side}_tokens"][row] if token] for side in ("source", "target"))
        assert source[-1] == target[-1] == b"<end>"
        weights = outputs["weights"][row]
        np.testing.assert_allclose(weights[:, : len(target), : len(source)].sum(-1), 1.0, atol=1e-5)
        assert not weights[:, len(target) :].any() and not weights[:, :, len(source) :].any()
    expected = small_decoder.translator.translate_text(tf.constant(texts))["translation"]
    assert outputs["translation"].tolist() == expected.numpy().tolist()


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("kind", ["single-rnn", pytest.param("rnn", marks=pytest.mark.exhaustive)])
def test_a_model_without_attention_is_exported_without_align(make_small, pairs, kind, tmp_path):
    translator = make_small(kind).translator
    requests = task.example_requests(translator)
    folder = saved_model.export(translator, "nmt", tmp_path, {}, requests, verify=False).path
    signatures = tf.saved_model.load(str(folder)).signatures
    in_pieces = {"sample_start", "sample_step", "decode"}
    assert set(signatures) == {"serving_default", "translate", "sample", "score", "trace", *in_pieces}
    text = tf.constant(pairs.source[:2])
    expected = translator.translate_text(text)["translation"].numpy().tolist()
    assert signatures["serving_default"](text=text)["translation"].numpy().tolist() == expected


@pytest.mark.long
def test_the_signatures_take_the_declared_inputs(make_small):
    signatures = make_small("transformer, post").translator.signatures()
    inputs = {
        name: {spec.name for spec in tf.nest.flatten(function.structured_input_signature)}
        for name, function in signatures.items()
    }
    rows = inputs.pop("sample_step")
    outputs = set(signatures["sample_step"].structured_outputs)
    assert "num_steps" in rows and rows - {"num_steps"} <= outputs <= set(
        signatures["sample_start"].structured_outputs
    ) | {"tokens", "log_probabilities", "top_ids", "top_log_probabilities"}
    assert inputs == {
        "serving_default": {"text"},
        "translate": {"text", "beam_width", "length_penalty", "max_length"},
        "sample": {"text", "max_length", "temperature", "top_k", "top_p", "min_p", "seed"},
        "sample_start": {"text", "max_length", "temperature", "top_k", "top_p", "min_p", "seed"},
        "decode": {"ids"},
        "score": {"text", "translation"},
        "align": {"text"},
        "trace": {"text"},
    }
