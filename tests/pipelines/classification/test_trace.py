import numpy as np
import pytest
import tensorflow as tf

from tests.pipelines.classification.conftest import make

TEXTS = ["The film was not boring.", "", "Awful!"]


@pytest.mark.long
@pytest.mark.parametrize(
    "options", [{"model": "gru"}, {"model": "gru", "max_ngrams": 50}, {"labels_separator": "|", "model": "gru"}]
)
def test_it_labels_as_serving_default_does(options):
    servable = make(**options).servable
    values = servable.trace(text=tf.constant(TEXTS))
    outputs = servable.classify(tf.constant(TEXTS))
    assert set(outputs) - set(values) == {"top_labels", "top_scores"}
    for name in set(outputs) & set(values):
        expected = outputs[name]
        if expected.dtype == tf.string:
            assert values[name].numpy().tolist() == expected.numpy().tolist()
        else:
            np.testing.assert_allclose(values[name], expected, atol=1e-5)
    assert "trace" in servable.signatures()


@pytest.mark.long
def test_it_returns_the_tokens_and_the_states_of_both_directions():
    values = make(model="lstm").servable.trace(text=tf.constant(TEXTS))
    length = values["lengths"][2].numpy()
    tokens = values["tokens"][2].numpy().tolist()
    assert tokens[:length] == [b"<start>", b"awful", b"!", b"<end>"] and not any(tokens[length:])
    assert values["layer_1_backward_forget_gate"].shape == (3, len(tokens), 8)
    assert not values["layer_1_forward_cell"].numpy()[2, length:].any()


@pytest.mark.long
def test_a_long_text_keeps_its_ends():
    values = make(model="gru", max_tokens=10).servable.trace(text=tf.constant(["a b c d e f g h i j k l m", "a b"]))
    assert values["cut"].numpy().tolist() == [True, False]
    assert values["tokens"][0].numpy().tolist()[:2] == [b"<start>", b"a"] and values["lengths"][0] == 10


def test_a_network_without_recurrent_layers_has_none():
    assert "trace" not in make(model="bag").servable.signatures()


@pytest.mark.long
def test_a_network_over_ngrams_has_none():
    assert "trace" not in make(model="best", max_ngrams=50).servable.signatures()
