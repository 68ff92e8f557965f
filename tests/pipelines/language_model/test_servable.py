"""The export of a language model against the network itself."""

import numpy as np
import pytest
import tensorflow as tf

from pipelines.decoding.options import SAMPLING, SEARCH, filled
from pipelines.export import saved_model
from pipelines.language_model import servable, task
from pipelines.text.tokenizers import END, PAD, START, UNKNOWN
from tests.pipelines.decoding.staggered import run_of, staggered
from tests.pipelines.language_model.models import TEXT, make

PLAIN = {option.name: option.default for option in SAMPLING} | {"max_length": 10, "temperature": 1.0, "top_p": 1.0}


def generate(generator, prompts, **options):
    text = tf.constant(prompts)
    return generator.generate(text=text, **filled(SAMPLING, PLAIN | options, text))


def search(generator, prompts, **options):
    text = tf.constant(prompts)
    values = {"max_length": 6, "beam_width": 1, "length_penalty": 0.0} | options
    return generator.search(text=text, **filled(SEARCH, values, text))


def texts_of(outputs):
    return [text.decode() for text in outputs["text"].numpy()]


def log_softmax(logits):
    return tf.nn.log_softmax(logits).numpy()


@pytest.mark.long
def test_greedy_text_equals_choosing_the_most_likely_token_step_by_step(made):
    _, tokenizer, _, generator = made
    prompts = ["To be", "", "that is the"]
    outputs = generate(generator, prompts, max_length=20, temperature=0.0)
    state = generator.start(tf.constant(prompts))
    logits, chosen, total = state.pop("logits"), [], np.zeros(3)
    for _ in range(20):
        allowed = logits.numpy()
        log_probabilities = log_softmax(logits)
        allowed[:, [PAD, UNKNOWN, START, END]] = -np.inf
        ids = allowed.argmax(axis=1)
        total += log_probabilities[np.arange(3), ids]
        chosen.append(ids)
        state = generator.step(tf.constant(ids, tf.int32), **state)
        logits = state.pop("logits")
    expected = tokenizer.decode(tf.constant(np.stack(chosen, axis=1), tf.int32))
    assert outputs["text"].numpy().tolist() == expected.numpy().tolist()
    np.testing.assert_allclose(outputs["log_probability"], total, rtol=1e-4)
    assert outputs["tokens"].numpy().tolist() == [20] * 3


@pytest.mark.long
def test_a_prompt_alone_gets_the_same_text(made):
    generator = made[-1]
    together = texts_of(generate(generator, ["To be", "", "Whether 'tis nobler in the mind"], max_length=30))
    assert texts_of(generate(generator, ["To be"], max_length=30))[0] == together[0]


@pytest.mark.long
def test_nothing_is_generated_where_the_maximum_length_is_0(made):
    generator = made[3]
    assert texts_of(generate(generator, ["To be", "or"], max_length=0)) == ["", ""]


@pytest.mark.long
def test_serving_default_generates_with_the_defaults(lstm):
    generator = lstm[-1]
    outputs = generator.continue_text(tf.constant(["To be"]))
    defaults = {option.name: option.default for option in SAMPLING}
    assert texts_of(outputs) == texts_of(generate(generator, ["To be"], **defaults))
    assert set(outputs) == {"text", "log_probability"}


def test_scores_are_those_of_the_network(made):
    _, tokenizer, network, generator = made
    texts = ["To be, or", "not", ""]  # shorter than the window
    scores = generator.score(tf.constant(texts))
    for i, text in enumerate(texts):
        ids = tokenizer.encode(tf.constant([text]))[:, :-1].to_tensor()
        log_probabilities = log_softmax(network(ids))[0]
        expected = sum(log_probabilities[t, token] for t, token in enumerate(ids.numpy()[0, 1:]))
        np.testing.assert_allclose(scores["log_probability"][i], expected, atol=1e-4)
        np.testing.assert_allclose(scores["perplexity"][i], np.exp(-expected / max(len(text), 1)), rtol=1e-4)
        assert scores["tokens"][i] == len(text)


def test_the_score_of_generated_text_is_its_reported_log_probability(made):
    config, *_, generator = made
    length = 8 if config.model == "transformer" else 40  # within the window of the transformer
    outputs = generate(generator, [""], max_length=length, min_p=0.02, repetition_penalty=1.2, top_k=20)
    scored = generator.score(outputs["text"])["log_probability"]
    np.testing.assert_allclose(scored, outputs["log_probability"], rtol=1e-4)


@pytest.mark.long
def test_a_long_text_is_scored_with_carried_states_or_in_overlapping_windows(made):
    config, tokenizer, network, generator = made
    ids = tokenizer.encode(tf.constant([TEXT]))[:, :-1].to_tensor()
    losses = generator.token_losses(ids[:, 1:])["losses"].numpy()[0]
    n = ids.shape[1] - 1
    if config.model != "transformer":
        log_probabilities = log_softmax(network(ids[:, :-1]))[0]
        expected = -np.take_along_axis(log_probabilities, ids.numpy()[0, 1:, None], axis=1)[:, 0]
    else:
        expected = np.zeros(n)
        for start in range(0, n, 6):
            log_probabilities = log_softmax(network(ids[:, start : min(start + 12, n)]))[0]
            for t in range(0 if start == 0 else 6, len(log_probabilities)):
                expected[start + t] = -log_probabilities[t, ids[0, start + t + 1]]
    np.testing.assert_allclose(losses, expected, atol=1e-4)


def test_losses_do_not_depend_on_the_size_of_the_chunks(made, monkeypatch):
    """Chunks of 16 tokens and groups of 1 row, against one chunk of all tokens and rows."""
    *_, generator = made
    texts = tf.constant([TEXT[:70], TEXT[9:50], ""])
    whole = generator.score(texts)
    monkeypatch.setattr(servable, "_MAX_CHUNK", 16)
    monkeypatch.setattr(servable, "_MAX_WINDOW_LOGITS", 1)
    config, tokenizer, network, _ = made
    chunked_generator = servable.Generator(config, network, tokenizer)
    in_chunks = chunked_generator.score(texts)
    for name, expected in whole.items():
        np.testing.assert_allclose(in_chunks[name], expected, rtol=1e-5, err_msg=name)


@pytest.mark.long
def test_steps_of_clients_in_one_batch_give_each_what_it_gets_alone(made):
    """Started separately, after different numbers of steps, and beyond the window of the transformer."""
    signatures = made[-1].signatures()
    alone, ids = [], tf.constant([5, 7, 9])
    for row, (prompt, num_steps) in enumerate([("To be", 0), ("", 3), ("question", 9)]):
        state = signatures["start"](text=tf.constant([prompt]))
        for _ in range(num_steps):
            state = signatures["step"](ids=ids[row : row + 1], **{k: v for k, v in state.items() if k != "logits"})
        alone.append(state)
    together = {name: tf.concat([state[name] for state in alone], axis=0) for name in alone[0]}
    for _ in range(15):
        together = signatures["step"](ids=ids, **{k: v for k, v in together.items() if k != "logits"})
        for row, state in enumerate(alone):
            without_logits = {k: v for k, v in state.items() if k != "logits"}
            alone[row] = signatures["step"](ids=ids[row : row + 1], **without_logits)
            np.testing.assert_allclose(together["logits"][row], alone[row]["logits"][0], atol=1e-4)


def inputs_of(prompt, **options):
    """A row of inputs."""
    dtypes = {option.name: option.dtype for option in SAMPLING}
    values = {name: np.array([value], dtypes[name]) for name, value in (PLAIN | options).items() if name != "stop"}
    return values | {"text": [prompt], "stop": [options.get("stop", "")]}


@pytest.mark.long
@pytest.mark.parametrize(
    ("model", "tokenizer"),
    [("lstm", "character"), ("lstm", "word"), ("transformer", "subword"), ("feedforward", "character")],
)
def test_texts_that_join_a_batch_later_get_what_generate_gives_each(model, tokenizer):
    """The window has 12 tokens: the rings of the transformer turn, and are rotated where another text joins."""
    generator = make(model, tokenizer)[-1]
    cases = [
        ("To be", {"max_length": 150, "seed": 3}),
        ("", {"max_length": 9, "temperature": 0.0}),
        ("Whether 'tis nobler in the mind", {"max_length": 21, "seed": 4, "repetition_penalty": 1.3}),
        ("that ", {"max_length": 0}),
        ("or", {"max_length": 60, "seed": 5, "stop": "e"}),
    ]
    pieces = staggered(run_of(generator), [inputs_of(prompt, **options) for prompt, options in cases])
    for (prompt, options), of_text in zip(cases, pieces, strict=True):
        whole = generate(generator, [prompt], **options)
        assert "".join(piece.text for piece in of_text) == texts_of(whole)[0]
        is_cut = whole["tokens"][0] == options["max_length"]
        assert [piece.end for piece in of_text if piece.end] == (["length"] if is_cut else ["stop"])


@pytest.mark.long
def test_search_with_beam_width_1_is_greedy_and_a_wider_beam_is_not_worse(made):
    generator, prompts = made[-1], ["To be", "that"]
    greedy = generate(generator, prompts, max_length=6, temperature=0.0)
    one, five = (search(generator, prompts, beam_width=width) for width in (1, 5))
    assert one["text"].numpy()[:, 0].tolist() == greedy["text"].numpy().tolist()
    assert five["text"].shape == (2, 5)
    assert (five["log_probability"].numpy()[:, 0] >= one["log_probability"].numpy()[:, 0] - 1e-4).all()


def test_the_limits_of_the_server_hold(lstm):
    generator = lstm[-1]
    assert search(generator, ["a"], beam_width=100, max_length=2)["text"].shape == (1, 16)
    with pytest.raises(tf.errors.InvalidArgumentError, match="beam_width must be"):
        search(generator, ["a"], beam_width=0)


def test_a_search_has_no_columns_without_a_continuation(lstm):
    generator = lstm[-1]
    few = search(generator, ["a", "b"], beam_width=16, max_length=0)
    assert few["text"].shape == few["log_probability"].shape == (2, 1)
    assert few["log_probability"].numpy().tolist() == [[0.0], [0.0]]
    mixed = search(generator, ["a", "b"], beam_width=16, max_length=1)["log_probability"].numpy()
    assert mixed.shape[1] <= 16 and (mixed > -1e8).all()


def test_a_text_ends_after_its_stop_text(lstm):
    generator = lstm[-1]
    free = texts_of(generate(generator, ["To be"], max_length=60))[0]
    stop = free[10:12]
    stopped = texts_of(generate(generator, ["To be"], max_length=60, stop=stop))[0]
    assert stopped == free[: free.index(stop) + 2]


def test_the_repetition_penalty_counts_the_tokens_of_the_prompt(lstm):
    """A penalty that forbids all seen tokens: a text of only new characters, as long as there are any."""
    _, tokenizer, _, generator = lstm
    prompt, length = "To be", 12
    text = texts_of(generate(generator, [prompt], max_length=length, temperature=0.0, repetition_penalty=1e6))[0]
    plain = texts_of(generate(generator, [prompt], max_length=length, temperature=0.0))[0]
    assert text != plain and len(text) == length
    first = generator.start(tf.constant([prompt]))["logits"].numpy()[0]
    first[[PAD, UNKNOWN, START, END]] = -np.inf
    seen = tokenizer.encode(tf.constant([prompt])).numpy()[0]
    assert seen.max() < len(first)
    first[seen] = np.where(first[seen] > 0, first[seen] / 1e6, first[seen] * 1e6)
    assert tokenizer.decode(tf.constant([[int(first.argmax())]])).numpy()[0].decode() == text[0]


@pytest.mark.long
@pytest.mark.parametrize("tokenizer", ["word", "subword"])
def test_words_and_subwords(tokenizer):
    *_, generator = make(tokenizer=tokenizer, tie_weights=True)
    outputs = generate(generator, ["To be, or", ""], max_length=12)
    assert outputs["tokens"].numpy().tolist() == [12, 12]
    if tokenizer == "word":  # a word that follows a word gets a space before it
        assert [text[:1].isspace() for text in texts_of(outputs)] == [True, False]
    ids = generator.encode(tf.constant([TEXT[:86]]))["ids"]
    assert generator.decode(ids)["text"].numpy()[0].decode() == TEXT[:86].rstrip(" ")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("temperature", -1.0),
        ("max_length", -1),
        ("top_k", -1),
        ("top_p", 0.0),
        ("top_p", 1.5),
        ("min_p", -0.1),
        ("min_p", 1.1),
        ("repetition_penalty", 0.0),
    ],
)
def test_an_option_out_of_range_is_named(lstm, option, value):
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"{option} must be"):
        generate(lstm[-1], ["x"], **{option: value})


@pytest.mark.parametrize("prompt", ["", "\U0001f600 unseen", "\x00", "word " * 5000, "\n\n\n"])
def test_unusual_prompts_have_an_answer(made, prompt):
    generator = made[-1]
    outputs = generate(generator, [prompt], max_length=5)
    assert outputs["tokens"].numpy().tolist() == [5] and np.isfinite(outputs["log_probability"]).all()
    assert np.isfinite(generator.score(tf.constant([prompt]))["log_probability"]).all()


@pytest.mark.slow
@pytest.mark.long
def test_the_export_of_a_transformer_gives_the_same_answers(tmp_path, monkeypatch, fresh_verifier):
    """`export` compares the answers in a process without our code and with XLA disabled.

    The tests of the command line do the same with all signatures of a recurrent network.
    """
    *_, generator = make("transformer", num_layers=1)
    signatures = {
        "serving_default": generator.continue_text.get_concrete_function(),
        "score": generator.score.get_concrete_function(),
    }
    monkeypatch.setattr(generator, "signatures", lambda: signatures)
    exported = saved_model.export(generator, "lm", tmp_path, {}, task.example_requests(generator))
    answer = tf.saved_model.load(str(exported.path)).signatures["serving_default"](text=tf.constant(["To be", ""]))
    assert set(answer) == {"text", "log_probability"} and answer["text"].shape == (2,)
