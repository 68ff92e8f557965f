import numpy as np
import pytest
import tensorflow as tf

from pipelines.classification import reader
from pipelines.data.fields import BETWEEN, Field, of_pair
from pipelines.support.errors import UserError
from pipelines.text.tokenizers import train_tokenizer


class Sizes(tf.Module):
    """A module whose vector of a text is [its bytes, 1]."""

    def __init__(self):
        super().__init__()
        self.calls = tf.Variable(0, trainable=False)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def __call__(self, text):
        length = tf.cast(tf.strings.length(text), tf.float32)
        return {"pooled_output": tf.stack([length, tf.ones_like(length)], axis=1)}


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    folder = tmp_path_factory.mktemp("module")
    tf.saved_model.save(Sizes(), str(folder))
    return str(folder)


@pytest.fixture(scope="module")
def tokenizer():
    return train_tokenizer("word", ["a bb a bb"] * 2, 20, 100)


def test_a_text_has_the_vector_of_the_encoder(module, tokenizer):
    made = reader.make(tokenizer, module, ())
    assert made.vector_size == 2 and made.vocabulary_size == tokenizer.vocabulary_size
    texts = np.array(["abc", "", "\u00e9"], object)
    expected = [[3, 1], [0, 1], [2, 1]]
    np.testing.assert_array_equal(made.encode_all(texts), expected)
    np.testing.assert_array_equal(made.vectors(tf.constant(texts.tolist())), expected)


def test_columns_of_text_are_encoded_one_by_one_and_numbers_are_not(module, tokenizer):
    fields = (Field("title"), Field("price", "number", (1.0,)), Field("body"))
    made = reader.make(tokenizer, module, fields)
    texts = np.array([BETWEEN.join(("abc", "na", "a")), BETWEEN.join(("", "below", "abcde"))], object)
    expected = [[3, 1, 1, 1], [0, 1, 5, 1]]
    np.testing.assert_array_equal(made.encode_all(texts), expected)
    np.testing.assert_array_equal(made.vectors(tf.constant(texts.tolist())), expected)


def test_a_pair_has_also_the_difference_and_the_product(module, tokenizer):
    made = reader.make(tokenizer, module, of_pair("one", "two", False))
    texts = np.array([BETWEEN.join(("abc", "abcde", "", "", "", "below")), "no columns"], object)
    expected = [3, 1, 5, 1, 2, 0, 15, 1]
    assert made.vector_size == len(expected)
    found = made.encode_all(texts)
    np.testing.assert_array_equal(found[0], expected)
    np.testing.assert_array_equal(made.vectors(tf.constant(texts.tolist())), found)


def test_what_is_saved_is_loaded_and_checked(module, tokenizer, tmp_path):
    reader.make(tokenizer, module, of_pair("one", "two", False)).save(tmp_path)
    loaded = reader.load(tmp_path)
    assert loaded.vector_size == 8
    assert loaded.encode(tf.constant(["a bb"])).to_list() == tokenizer.encode(tf.constant(["a bb"])).to_list()
    (tmp_path / "encoder" / "saved_model.pb").write_bytes(b"")
    with pytest.raises(UserError, match="is damaged"):
        reader.load(tmp_path)


def test_a_run_without_an_encoder_has_a_tokenizer_alone(tokenizer, tmp_path):
    tokenizer.save(tmp_path)
    assert not isinstance(reader.load(tmp_path), reader.Reader)


def test_vectors_are_kept_in_the_folder_of_the_run(module, tokenizer, tmp_path, monkeypatch):
    encoder = reader.make(tokenizer, module, ()).encoder
    encoder.keep_in(tmp_path)
    texts = ["abc", "\ud800", "a"]
    first = np.array(encoder.encode(texts))
    assert len(list(tmp_path.iterdir())) == 1
    monkeypatch.setattr(encoder, "_encode", None)
    np.testing.assert_array_equal(encoder.encode(texts), first)
