import numpy as np
import pytest
import tensorflow as tf

from pipelines.linear.limits import MAX_FEW_CLASSES
from pipelines.linear.text_model import TextModel

WORDS = ("dull", "gripping", "funny", "long")


def data(num_classes: int, count: int = 120):
    rng = np.random.default_rng(1)
    labels = rng.integers(num_classes, size=count).astype(np.int32)
    labels[:num_classes] = np.arange(num_classes)
    filler = rng.choice(["a film", "the story", "one evening"], size=count)
    word = [f"{WORDS[label % 4]}{label // 4 or ''}" for label in labels]
    return np.array([f"{start} {each} end" for start, each in zip(filler, word, strict=True)], object), labels


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("num_classes", [2, MAX_FEW_CLASSES + 1])
def test_it_learns_words_and_its_export_answers_as_it_does(num_classes, tmp_path):
    texts, labels = data(num_classes)
    model = TextModel(texts, num_classes, max_bytes=1000, fading=4)
    assert not model(tf.constant(texts[:3])).numpy().any()  # it knows nothing yet
    choice = model.fit(texts, labels, None, seed=1)
    logits = model(tf.constant(texts)).numpy()
    assert logits.shape == (len(texts), num_classes) and (logits.argmax(axis=1) == labels).mean() > 0.95

    class Servable(tf.Module):
        def __init__(self):
            super().__init__()
            self.beside = model
            self.call = tf.function(lambda text: model(text), input_signature=[tf.TensorSpec([None], tf.string)])

    tf.saved_model.save(Servable(), str(tmp_path / "export"))
    loaded = tf.saved_model.load(str(tmp_path / "export"))
    np.testing.assert_allclose(loaded.call(tf.constant(texts)).numpy(), logits, atol=1e-5)
    # The same settings on the same texts are the same model.
    again = TextModel(texts, num_classes, max_bytes=1000, fading=4)
    again.fit(texts, labels, None, seed=1, choice=choice)
    np.testing.assert_array_equal(again(tf.constant(texts)).numpy(), logits)


@pytest.mark.long
def test_texts_are_cut_at_max_bytes():
    texts, labels = data(2)
    model = TextModel(texts, 2, max_bytes=20, fading=4)
    model.fit(texts, labels, None, seed=1)
    logits = model(tf.constant(["x" * 20 + " gripping", "x" * 20])).numpy()
    np.testing.assert_array_equal(logits[0], logits[1])
