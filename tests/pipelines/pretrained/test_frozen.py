import numpy as np
import pytest
import tensorflow as tf

from pipelines.pretrained import frozen
from pipelines.pretrained.frozen import WordEncoder
from pipelines.support.errors import UserError
from pipelines.tagging import features


class Lengths(tf.train.Checkpoint):
    """An encoder whose vector of a token is [its length, 1]."""

    def __init__(self):
        super().__init__()

        def encode(tokens):
            lengths = tf.cast(tf.strings.length(tokens), tf.float32)
            return {"vectors": tf.stack([lengths, tf.ones_like(lengths)], axis=-1)}

        self.words = tf.function(encode, input_signature=[tf.TensorSpec([None, None], tf.string, name="tokens")])


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("encoder") / "1"
    module = Lengths()
    tf.saved_model.save(module, str(folder), signatures={"words": module.words.get_concrete_function()})
    return folder


def test_each_token_has_its_vector(exported):
    encoder = frozen.find(str(exported), WordEncoder)
    assert encoder.size == 2
    tokens = tf.ragged.constant([["a", "abc"], [], ["abcd"]], dtype=tf.string)
    assert encoder(tokens).to_list() == [[[1, 1], [3, 1]], [], [[4, 1]]]


def test_the_features_keep_a_copy_of_the_encoder(exported, tmp_path):
    encoder = frozen.find(str(exported), WordEncoder)
    trained = features.train("whitespace", [["a", "b"]], 10, 4, 100, encoder)
    trained.save(tmp_path)
    loaded = features.load(tmp_path)
    tokens = tf.ragged.constant([["a", "abc"]], dtype=tf.string)
    np.testing.assert_array_equal(loaded(tokens)["vectors"].to_list(), [[[1, 1], [3, 1]]])
    (tmp_path / "encoder" / "saved_model.pb").write_bytes(b"")
    with pytest.raises(UserError, match="is damaged"):
        features.load(tmp_path)


def test_a_module_without_vectors_of_tokens_is_refused(tmp_path):
    module = tf.Module()
    module.f = tf.function(lambda text: {"x": text}, input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    tf.saved_model.save(module, str(tmp_path / "1"), signatures=module.f.get_concrete_function())
    with pytest.raises(UserError, match="has no signature 'words'"):
        frozen.find(str(tmp_path / "1"), WordEncoder)


@pytest.mark.parametrize(("handle", "message"), [("absent", "there is no such folder"), (".", "is not a SavedModel")])
def test_what_is_no_module_is_refused(handle, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=message):
        frozen.find(handle, WordEncoder)
