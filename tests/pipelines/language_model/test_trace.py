import numpy as np
import pytest
import tensorflow as tf

from tests.pipelines.language_model import models

TEXTS = ["to be", "", "Whether 'tis nobler"]


def traced(generator, texts):
    return {name: value.numpy() for name, value in generator.trace(text=tf.constant(texts)).items()}


@pytest.fixture(scope="module", params=["lstm", "gru", "transformer"])
def made(request):
    return models.make(request.param, window=32)


@pytest.mark.long
def test_the_log_probabilities_sum_to_the_score(made):
    *_, generator = made
    values = traced(generator, TEXTS)
    expected = generator.score(tf.constant(TEXTS))
    np.testing.assert_allclose(values["log_probabilities"].sum(1), expected["log_probability"], rtol=1e-4)
    assert values["lengths"].tolist() == [n + 1 for n in expected["tokens"]]
    assert values["tokens"][0][:4].tolist() == [b"<start>", b"t", b"o", b" "]


def test_other_rows_and_padding_change_nothing(made):
    *_, generator = made
    together, alone = traced(generator, TEXTS), traced(generator, TEXTS[:1])
    for name, value in alone.items():
        longer = together[name][:1][tuple(slice(size) for size in value.shape)]
        if value.dtype == object:
            assert longer.tolist() == value.tolist()
        else:
            np.testing.assert_allclose(longer, value, atol=1e-5, err_msg=name)
            assert value.ndim != 3 or not together[name][0, 6:].any(), "padding"


@pytest.mark.long
def test_the_features_have_the_logits_of_the_next_tokens(made):
    _, tokenizer, network, generator = made
    values, signatures = traced(generator, TEXTS), generator.signatures()
    logits = signatures["read_out"](features=tf.constant(values["features"][2]))["logits"]
    probabilities = tf.nn.softmax(logits).numpy()
    best = np.argsort(-probabilities, axis=1)[:, :3]
    names = np.array([token.encode() for token in tokenizer.vocabulary()])
    assert names[best].tolist() == values["next_tokens"][2, :, :3].tolist()
    np.testing.assert_allclose(np.sort(probabilities)[:, ::-1][:, :10], values["next_probabilities"][2], rtol=1e-4)
    ids = tokenizer.encode(tf.constant(TEXTS))[2, :-1]
    np.testing.assert_allclose(logits, network(ids[None], training=False)[0], atol=1e-4)


@pytest.mark.long
def test_a_long_text_is_cut():
    *_, generator = models.make("lstm")
    values = traced(generator, ["a" * 300, "a"])
    assert values["cut"].tolist() == [True, False] and values["lengths"].tolist() == [257, 2]
    *_, generator = models.make("transformer", window=12)
    assert traced(generator, ["a" * 300])["lengths"].tolist() == [12]


@pytest.mark.long
@pytest.mark.parametrize("model", ["feedforward", "average"])
def test_other_networks_have_no_trace(model):
    *_, generator = models.make(model, num_layers=1, hidden_size=8, window=12)
    assert not {"trace", "read_out"} & set(generator.signatures())
