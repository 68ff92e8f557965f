import numpy as np
import pytest
import tensorflow as tf

from tests.pipelines.networks.test_interventions import assert_same, intervened, traced_values
from tests.pipelines.tagging.small import EACH_KIND

TEXTS = ["Anna lives here. She is well.", "", "one two three four five six seven"]


@pytest.mark.long
@pytest.mark.parametrize("kind", EACH_KIND)
def test_the_first_sentence_has_the_tags_of_serving_default(make_small, kind):
    tagger = make_small(kind).tagger
    assert "trace" in tagger.signatures()
    values = {name: value.numpy() for name, value in tagger.trace(text=tf.constant(TEXTS)).items()}
    expected = {name: value.numpy() for name, value in tagger.tag_text(tf.constant(TEXTS)).items()}
    assert values["lengths"].tolist() == [4, 0, 5]  # Small reads five tokens at once
    assert values["cut"].tolist() == [True, False, True]
    for row, length in enumerate(values["lengths"]):
        for name in ("tokens", "tags"):
            assert values[name][row, :length].tolist() == expected[name][row, :length].tolist()
            assert not any(values[name][row, length:])
        np.testing.assert_allclose(values["scores"][row, :length], expected["scores"][row, :length], atol=1e-5)
    layers = [name for name in values if name.startswith("layer_1")]
    assert layers and all(values[name].shape[-2] == 5 for name in layers)
    assert all(not values[name][1].any() for name in layers)


@pytest.mark.long
@pytest.mark.parametrize("kind", EACH_KIND)
def test_without_an_intervention_it_is_the_trace(make_small, kind):
    tagger = make_small(kind).tagger
    assert_same(intervened(tagger, texts=TEXTS), traced_values(tagger, TEXTS), atol=1e-5)


@pytest.mark.long
def test_the_tags_follow_from_a_state_that_is_set(make_small):
    tagger = make_small("lstm").tagger
    edit = ("layer_1_forward", "hidden", -1, 2, -1, 5.0)
    values, plain = intervened(tagger, edit, texts=TEXTS), traced_values(tagger, TEXTS)
    assert (values["layer_1_forward_hidden"][0, 2] == 5).all() and not values["layer_1_forward_hidden"][1].any()
    np.testing.assert_allclose(values["layer_1_forward_hidden"][0, :2], plain["layer_1_forward_hidden"][0, :2])
    assert np.abs(values["scores"] - plain["scores"]).max() > 1e-3
