"""What is exported of a language model, against the model itself."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from pipelines import char_lm, exporting, language_models, text, training
from pipelines.configs.base import resolved
from pipelines.configs.char_lm import DEFAULT_MODELS, PRESETS, CharLmConfig
from pipelines.generator import Generator
from pipelines.stepping import steps
from pipelines.text import END, PAD, START, UNKNOWN

TEXT = "To be, or not to be: that is the question.\nWhether 'tis nobler in the mind to suffer.\n" * 3


def make(model="lstm", unit="character", **flags):
    flags = {"layers": 2, "hidden_size": 16, "embedding_size": 8, "window": 12, "heads": 2, "dropout": 0.2} | flags
    config = resolved(CharLmConfig(model=model, unit=unit, **flags), PRESETS, DEFAULT_MODELS)
    keras.utils.set_random_seed(0)
    tokenizer = text.train({"character": "character", "word": "spaced", "subword": "pieces"}[unit], [TEXT] * 5, 60, 1000)
    network = language_models.build(config, tokenizer.vocabulary_size)
    for i, weight in enumerate(network.trainable_variables):  # larger than a fresh model's, so that a difference would show
        weight.assign(weight + np.random.default_rng(i).normal(scale=0.3, size=weight.shape))
    return config, tokenizer, network, Generator(config, network, tokenizer)


# One whose layers are hoisted, one whose cell runs in `keras.layers.RNN`, and one without recurrence.
@pytest.fixture(scope="module", params=["lstm", "peephole", "transformer"])
def made(request):
    return make(request.param)


def softmaxed(logits):
    return tf.nn.log_softmax(logits).numpy()


def test_steps_of_any_size_give_what_the_whole_text_gives(made):
    config, tokenizer, network, _ = made
    ids = tokenizer.encode(tf.constant([TEXT[:11], TEXT[5:16], TEXT[20:31]]))[:, :-1].to_tensor()
    whole = network(ids).numpy()
    model = steps(config, network)
    lengths = tf.constant([7, 4, 1])
    logits, state = model.advance(ids[:, :7], model.start(3), lengths)
    for row, length in enumerate(lengths.numpy()):
        np.testing.assert_allclose(logits[row, :length], whole[row, :length], atol=1e-5)
    for step in range(5):
        chosen = tf.gather(ids, lengths + step, batch_dims=1)[:, None]
        logits, state = model.advance(chosen, state)
        for row in range(3):
            np.testing.assert_allclose(logits[row, 0], whole[row, lengths[row] + step], atol=1e-5)
    assert all(value.shape[0] == 3 for value in state.values()), "batch first on every leaf"


def test_training_carries_the_state_from_window_to_window(made):
    config, tokenizer, network, _ = made
    trained = language_models.build(config, tokenizer.vocabulary_size, streams=2)
    training.copy_weights(network, trained)
    ids = tokenizer.encode(tf.constant([TEXT[:24], TEXT[30:54]]))[:, :24].to_tensor()
    windows = [trained(ids[:, i : i + 12]).numpy() for i in (0, 12)]
    if config.model == "transformer":
        np.testing.assert_allclose(windows[1], network(ids[:, 12:]).numpy(), atol=1e-5)
        return
    np.testing.assert_allclose(np.concatenate(windows, axis=1), network(ids).numpy(), atol=1e-5)
    char_lm.fit_arguments(config, trained, None)["begin_epoch"](None)
    np.testing.assert_allclose(trained(ids[:, :12]).numpy(), windows[0], atol=1e-6)


def test_greedy_text_is_what_step_by_step_gives(made):
    config, tokenizer, _, generator = made
    prompts = ["To be", "", "that is the"]
    outputs = generator.generate(*knobs(prompts, max_length=20, temperature=0.0))
    started = generator.start(tf.constant(prompts))
    logits, state = started.pop("logits"), started
    chosen, total = [], np.zeros(3)
    for _ in range(20):
        allowed = logits.numpy()
        total_row = softmaxed(logits)
        allowed[:, [PAD, UNKNOWN, START, END]] = -np.inf
        ids = allowed.argmax(axis=1)
        total += total_row[np.arange(3), ids]
        chosen.append(ids)
        stepped = generator.step(tf.constant(ids, tf.int32), **state)
        logits, state = stepped.pop("logits"), stepped
    expected = tokenizer.decode(tf.constant(np.stack(chosen, axis=1), tf.int32))
    assert outputs["text"].numpy().tolist() == expected.numpy().tolist()
    np.testing.assert_allclose(outputs["log_probability"], total, rtol=1e-4)
    assert outputs["tokens"].numpy().tolist() == [20] * 3


def knobs(prompts, max_length=10, temperature=1.0, top_k=0, top_p=1.0, seed=1, stop=""):
    each = [(max_length, tf.int32), (temperature, tf.float32), (top_k, tf.int32), (top_p, tf.float32), (seed, tf.int32), (stop, tf.string)]
    return tf.constant(prompts), *(tf.fill([len(prompts)], tf.constant(value, dtype)) for value, dtype in each)


def test_a_prompt_is_answered_the_same_alone(made):
    *_, generator = made
    together = generator.generate(*knobs(["To be", "", "Whether 'tis nobler in the mind"], max_length=30))["text"].numpy()
    assert generator.generate(*knobs(["To be"], max_length=30))["text"].numpy()[0] == together[0]


def test_scores_are_those_of_the_model(made):
    config, tokenizer, network, generator = made
    texts = ["To be, or", "not", ""]  # shorter than the window
    scores = generator.score(tf.constant(texts))
    for i, one in enumerate(texts):
        ids = tokenizer.encode(tf.constant([one]))[:, :-1].to_tensor()
        logs = softmaxed(network(ids))[0]
        expected = sum(logs[t, token] for t, token in enumerate(ids.numpy()[0, 1:]))
        np.testing.assert_allclose(scores["log_probability"][i], expected, atol=1e-4)
        np.testing.assert_allclose(scores["perplexity"][i], np.exp(-expected / max(len(one), 1)), rtol=1e-4)
        assert scores["tokens"][i] == len(one)


def test_generated_text_scores_as_was_said(made):
    config, *_, generator = made
    length = 8 if config.model == "transformer" else 40  # both within the window
    outputs = generator.generate(*knobs([""], max_length=length))
    scored = generator.score(outputs["text"])["log_probability"]
    np.testing.assert_allclose(scored, outputs["log_probability"], rtol=1e-4)


def test_a_long_text_is_scored_with_the_state_carried_or_in_windows_that_overlap(made):
    config, tokenizer, network, generator = made
    ids = tokenizer.encode(tf.constant([TEXT]))[:, :-1].to_tensor()
    got = generator.token_losses(ids[:, 1:])["losses"].numpy()[0]
    n = ids.shape[1] - 1
    if config.model != "transformer":
        expected = -np.take_along_axis(softmaxed(network(ids[:, :-1]))[0], ids.numpy()[0, 1:, None], axis=1)[:, 0]
    else:
        expected = np.zeros(n)
        for start in range(0, n, 6):
            logs = softmaxed(network(ids[:, start : min(start + 12, n)]))[0]
            for t in range(0 if start == 0 else 6, len(logs)):
                expected[start + t] = -logs[t, ids[0, start + t + 1]]
    np.testing.assert_allclose(got, expected, atol=1e-4)


def test_clients_whose_steps_a_server_joins_get_what_they_would_get_alone(made):
    """Started apart, and after unequal numbers of steps; far enough that a transformer's window runs over."""
    signatures = made[3].signatures()
    alone, ids = [], tf.constant([5, 7, 9])
    for row, (prompt, before) in enumerate([("To be", 0), ("", 3), ("question", 9)]):
        state = signatures["start"](text=tf.constant([prompt]))
        for _ in range(before):
            state = signatures["step"](ids=ids[row : row + 1], **{k: v for k, v in state.items() if k != "logits"})
        alone.append(state)
    together = {name: tf.concat([state[name] for state in alone], axis=0) for name in alone[0]}
    for _ in range(15):
        together = signatures["step"](ids=ids, **{k: v for k, v in together.items() if k != "logits"})
        for row, state in enumerate(alone):
            alone[row] = signatures["step"](ids=ids[row : row + 1], **{k: v for k, v in state.items() if k != "logits"})
            np.testing.assert_allclose(together["logits"][row], alone[row]["logits"][0], atol=1e-4)


def test_a_transformer_goes_on_past_its_window():
    config, tokenizer, network, generator = make("transformer")
    model = steps(config, network)
    ids = tokenizer.encode(tf.constant([TEXT[:40], TEXT[3:43]]))[:, :40].to_tensor()
    logits, state = model.advance(ids[:, :5], model.start(2), tf.constant([5, 2]))
    for t in range(5, 40):  # row 1 is behind row 0 by three tokens all the way, and is full three steps later
        chosen = tf.stack([ids[0, t], ids[1, t - 3]])[:, None]
        logits, state = model.advance(chosen, state)
    # When its 12 places are full, the last 6 tokens become its past: the places begin at tokens 6, 12, 18, 24, 30 ...
    for row, end in ((0, 40), (1, 37)):
        begin = (end - 1 - 6) // 6 * 6
        np.testing.assert_allclose(logits[row, 0], network(ids[row : row + 1, begin:end])[0, -1], atol=1e-5)


def test_search_of_width_one_is_greedy_and_wider_ones_are_no_worse(made):
    *_, generator = made
    prompts = ["To be", "that"]
    greedy = generator.generate(*knobs(prompts, max_length=6, temperature=0.0))
    fill = lambda value, dtype: tf.fill([2], tf.constant(value, dtype))  # noqa: E731
    one, five = (generator.search(tf.constant(prompts), fill(6, tf.int32), fill(n, tf.int32), fill(0.0, tf.float32)) for n in (1, 5))
    assert one["text"].numpy()[:, 0].tolist() == greedy["text"].numpy().tolist()
    assert five["text"].shape == (2, 5)
    assert (five["log_probability"].numpy()[:, 0] >= one["log_probability"].numpy()[:, 0] - 1e-4).all()


def test_a_text_ends_behind_its_stop():
    *_, generator = make()
    free = generator.generate(*knobs(["To be"], max_length=60))["text"].numpy()[0].decode()
    stop = free[10:12]
    text = generator.generate(*knobs(["To be"], max_length=60, stop=stop))["text"].numpy()[0].decode()
    assert text == free[: free.index(stop) + 2]


@pytest.mark.parametrize("unit", ["word", "subword"])
def test_other_units(unit):
    _, tokenizer, _, generator = make(unit=unit, tie_weights=True)
    outputs = generator.generate(*knobs(["To be, or", ""], max_length=12))
    assert outputs["tokens"].numpy().tolist() == [12, 12]
    ids = generator.encode(tf.constant([TEXT[:86]]))["ids"]
    assert generator.decode(ids)["text"].numpy()[0].decode() == TEXT[:86].rstrip(" ")


def test_knobs_that_cannot_be_are_named():
    *_, generator = make()
    for knob, value in [("temperature", -1.0), ("max_length", -1), ("top_p", 0.0), ("top_p", 1.5)]:
        with pytest.raises(tf.errors.InvalidArgumentError, match=knob):
            generator.generate(*knobs(["x"], **{knob: value}))


@pytest.mark.parametrize("odd", ["", "\U0001f600 unseen", "\x00", "word " * 5000, "\n\n\n"])
def test_odd_prompts_have_an_answer(made, odd):
    *_, generator = made
    outputs = generator.generate(*knobs([odd], max_length=5))
    assert outputs["tokens"].numpy().tolist() == [5] and np.isfinite(outputs["log_probability"]).all()
    assert np.isfinite(generator.score(tf.constant([odd]))["log_probability"]).all()


def test_a_transformer_s_export_answers_alike(tmp_path, monkeypatch):
    """`export` compares the answers in a process that has none of our code and XLA disabled.

    The tests of the command line do the same with all signatures of a recurrent network.
    """
    *_, generator = make("transformer", layers=1)
    named = {"serving_default": generator.continue_text.get_concrete_function(), "score": generator.score.get_concrete_function()}
    monkeypatch.setattr(generator, "signatures", lambda: named)
    exported = exporting.export(generator, "lm", tmp_path, {}, char_lm.example_requests(generator))
    answer = tf.saved_model.load(str(exported.path)).signatures["serving_default"](text=tf.constant(["To be", ""]))
    assert set(answer) == {"text", "log_probability"} and answer["text"].shape == (2,)
