import numpy as np
import pytest
import tensorflow as tf

pytestmark = pytest.mark.long  # each network is traced


def traced(small, texts):
    return {name: value.numpy() for name, value in small.translator.trace(text=tf.constant(texts)).items()}


def test_it_translates_as_serving_default_does(small, pairs):
    texts = [*pairs.source[:2], ""]
    values = traced(small, texts)
    expected = small.translator.translate_text(tf.constant(texts))
    assert values["translation"].tolist() == expected["translation"].numpy().tolist()
    scored = small.translator.score(tf.constant(texts), expected["translation"])
    np.testing.assert_allclose(values["log_probabilities"].sum(1), scored["log_probability"], rtol=1e-4, atol=1e-4)
    assert values["target_tokens"].tolist() == scored["target_tokens"].numpy().tolist()
    assert values["target_lengths"].tolist() == scored["tokens"].numpy().tolist()


def test_attention_is_that_of_align(small, pairs):
    if "align" not in small.translator.signatures():
        return
    texts = pairs.source[:2]
    last = 2 if small.config.model == "transformer" else 1
    values, aligned = traced(small, texts), small.translator.align(tf.constant(texts))
    np.testing.assert_allclose(values[f"decoder_{last}_attention"], aligned["weights"], atol=1e-5)
    assert values["source_tokens"].tolist() == aligned["source_tokens"].numpy().tolist()


def test_the_states_of_a_reversed_source_are_in_the_order_of_the_source(small, pairs):
    if not small.config.reverse_source:
        return
    values = traced(small, pairs.source[:2])
    lengths = values["source_lengths"]
    assert lengths[0] != lengths[1]
    for row, length in enumerate(lengths):  # what is read first is the last token, after a state of zeros
        gates = {name: values[f"encoder_1_{name}"][row, length - 1] for name in ("input_gate", "candidate", "cell")}
        np.testing.assert_allclose(gates["cell"], gates["input_gate"] * gates["candidate"], atol=1e-6)
