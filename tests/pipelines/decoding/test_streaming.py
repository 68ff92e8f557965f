"""Rows that start and end at different times get the tokens of `sampling.sample`."""

import contextlib

import numpy as np
import pytest
import tensorflow as tf

from pipelines.decoding import sampling, streaming
from pipelines.decoding.loop import STAGE_STEPS
from pipelines.decoding.options import SAMPLING, filled
from pipelines.text.tokenizers import PAD
from serving.generation import concatenated
from tests.pipelines.decoding.table_model import NO_CHANGE, VOCABULARY, step


def stop_ids(texts):
    """The tokens of texts, their digits, padded on the left."""
    stops = [[int(digit) for digit in text.decode() if digit.isdigit()] for text in texts]
    size = max([1, *map(len, stops)])
    return np.array([[PAD] * (size - len(stop)) + stop for stop in stops], "int32")


def begin(text, options):
    first = tf.strings.to_number(text, tf.int32)
    logits, state = step(first, {"last": tf.ones_like(first)})
    stops = tf.ensure_shape(tf.numpy_function(stop_ids, [options["stop"]], tf.int32), [None, None])
    values = {name: value for name, value in options.items() if name != "stop"}
    seen = tf.one_hot(first, VOCABULARY, True, False, dtype=tf.bool)
    return streaming.Begun(logits, state, stops, seen, tf.fill(tf.shape(text), "~"), tf.ones_like(first)), values


@pytest.fixture(scope="module")
def in_pieces():
    def align(state):
        return state

    signatures = streaming.make_signatures(begin, lambda: step, align, contextlib.nullcontext, SAMPLING, (), None)
    return {name: lambda rows, f=function: call(f, rows) for name, function in signatures.items()}


def call(function, rows):
    specs = {spec.name: spec.dtype for spec in tf.nest.flatten(function.structured_input_signature)}
    outputs = function(**{name: tf.constant(value, specs[name]) for name, value in rows.items()})
    return {name: value.numpy() for name, value in outputs.items()}


def request(first, **options):
    values = {option.name: [(NO_CHANGE | {"seed": 1, "stop": ""} | options)[option.name]] for option in SAMPLING}
    return {"text": [str(first)], **values}


def whole(first, **options):
    """The tokens of `sampling.sample`."""
    values = {name: value[0] for name, value in request(first, **options).items()}

    @tf.function
    def run():
        begun, of_rules = begin(tf.constant([str(first)]), filled(SAMPLING, values, tf.zeros([1])))
        stops = tf.constant(stop_ids([values["stop"].encode()]))
        return sampling.sample(step, begun.logits, begun.state, of_rules, stops, seen=begun.seen)

    samples = run()
    return samples.tokens[0, : samples.lengths[0]].numpy().tolist(), float(samples.log_probabilities[0])


CASES = [
    {"first": 2, "max_length": 11},
    {"first": 3, "max_length": 3, "temperature": 0.0},
    {"first": 4, "max_length": 30, "seed": 7, "top_p": 0.9, "repetition_penalty": 1.4},
    {"first": 2, "max_length": 17, "seed": 5, "top_k": 3, "stop": "12"},
    {"first": 3, "max_length": 20, "seed": 9, "stop": "1"},
    {"first": 2, "max_length": 0},
]


@pytest.mark.long
@pytest.mark.parametrize("num_steps", [1, 3, 100])
def test_rows_that_join_and_leave_get_the_tokens_of_a_whole_sample(in_pieces, num_steps):
    """Each case joins after the run of the one before."""
    rows, names, tokens, totals = {}, [], {}, {}
    for number in range(60):
        if number < len(CASES):
            started = in_pieces["sample_start"](request(**CASES[number]))
            started.pop("lead"), started.pop("num_read")
            rows, names = concatenated(rows, started) if names else started, [*names, number]
        if not names:
            break
        before = rows["lengths"]
        rows = in_pieces["sample_step"](rows | {"num_steps": [num_steps] * len(names)})
        written, log_probabilities = rows.pop("tokens"), rows.pop("log_probabilities")
        top_ids, top = rows.pop("top_ids"), rows.pop("top_log_probabilities")
        assert written.shape[1] <= min(num_steps, STAGE_STEPS) and top_ids.shape == top.shape == (*written.shape, 5)
        for i, name in enumerate(names):
            new = rows["lengths"][i] - before[i]
            assert (written[i, new:] == PAD).all()
            tokens.setdefault(name, []).extend(written[i, :new].tolist())
            totals[name] = totals.get(name, 0.0) + float(log_probabilities[i, :new].sum())
            for chosen, value, ids, values in zip(written[i, :new], log_probabilities[i], top_ids[i], top[i]):
                assert dict(zip(ids.tolist(), values.tolist(), strict=True))[chosen] == pytest.approx(float(value))
                assert (np.diff(values) <= 0).all()
        kept = np.flatnonzero(rows["alive"])
        names, rows = [names[i] for i in kept], {name: array[kept] for name, array in rows.items()}
    assert not names
    for number, case in enumerate(CASES):
        expected, total = whole(**case)
        assert tokens[number] == expected and totals[number] == pytest.approx(total, abs=1e-4)
    assert len(tokens[2]) == 30 and 0 < len(tokens[3]) < 17 and tokens[4][-1] == 1


def test_an_option_out_of_its_range_is_refused(in_pieces):
    with pytest.raises(tf.errors.InvalidArgumentError, match="temperature must be at least 0"):
        in_pieces["sample_start"](request(2, temperature=-1.0, max_length=3))


def test_example_requests_fit_the_signatures(in_pieces):
    functions = {
        name: lambda f=f, **rows: {k: tf.constant(v) for k, v in f(rows).items()} for name, f in in_pieces.items()
    }
    requests = streaming.example_requests(functions, ["2", "3", "4"], SAMPLING)
    assert requests["sample_step"]["alive"].shape == (1,)
    assert in_pieces["sample_step"](requests["sample_step"])["tokens"].shape == (1, 2)
