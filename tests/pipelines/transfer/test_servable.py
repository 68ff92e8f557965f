import keras
import numpy as np
import pytest
import tensorflow as tf

from pipelines.text.normalization import Cutter
from pipelines.transfer import head
from pipelines.transfer.servable import TextClassifier
from serving.servable import Servable

CLASSES = ("short", "long")
MAX_BYTES = 10


class CountBytes(keras.layers.Layer):
    """string [batch] -> the number of bytes below and above 5, times a weight; NaN in training mode."""

    def build(self, shape):
        self.scale = self.add_weight(shape=(), initializer=keras.initializers.Constant(0.5), name="scale")

    def call(self, text, training=False):
        excess = tf.cast(tf.strings.length(text), tf.float32) - 5
        return self.scale * tf.stack([-excess, excess], axis=1) * (float("nan") if training else 1.0)

    def compute_output_shape(self, shape):
        return (*shape, 2)


@pytest.fixture(scope="module")
def servable():
    text = keras.Input((), dtype="string")
    return TextClassifier(keras.Model(text, CountBytes()(text)), Cutter(MAX_BYTES), CLASSES)


def probability_of_long(num_bytes):
    return 1 / (1 + np.exp(5 - num_bytes))


@pytest.mark.parametrize(
    ("text", "num_bytes"),
    [
        (b"", 0),
        (b"film", 4),
        (b"gripping", 8),
        (b"0123456789", 10),
        (b"0123456789 and more", 10),
        ("\u00e9\u00e9".encode(), 4),
        ("012345678\u00e9".encode(), 9),  # the cut would split the last character
        ("a\u00adb\u200bc".encode(), 3),  # invisible characters
        (b"ab\xff\xfecd", 4),  # bytes that are not UTF-8
    ],
)
def test_the_model_reads_valid_text_up_to_the_maximum_number_of_bytes(servable, text, num_bytes):
    outputs = servable.classify(tf.constant([text, b"film"]))
    expected = probability_of_long(num_bytes)
    np.testing.assert_allclose(outputs["probabilities"].numpy()[0], [1 - expected, expected], atol=1e-6)
    np.testing.assert_allclose(outputs["score"].numpy()[0], max(expected, 1 - expected), atol=1e-6)
    assert outputs["label"].numpy().astype(str).tolist() == [CLASSES[num_bytes > 5], "short"]


def test_the_export_has_the_weights_of_the_model(servable, tmp_path):
    tf.saved_model.save(servable, str(tmp_path), signatures=servable.signatures())
    loaded = tf.saved_model.load(str(tmp_path))
    assert sorted(loaded.signatures) == ["classes", "serving_default"]
    texts = tf.constant(["", "gripping", "0123456789 and more"])
    outputs, expected = loaded.signatures["serving_default"](text=texts), servable.classify(texts)
    assert set(outputs) == {"label", "score", "probabilities", "top_labels", "top_scores"}
    in_session = Servable(tmp_path)  # as TF Serving loads it
    served = in_session.signature("")({"text": texts.numpy()})
    first = in_session.signature("classes")({"text": texts.numpy(), "k": np.array(1, np.int32)})
    np.testing.assert_array_equal(first["top_labels"], expected["top_labels"].numpy()[:, :1])
    in_session.close()
    for name, value in expected.items():
        np.testing.assert_array_equal(outputs[name], value)
        np.testing.assert_array_equal(served[name], value)


def test_a_model_beside_the_network_adds_its_logits_and_is_exported(tmp_path):
    class Beside(tf.Module):  # for "long": half the number of words
        def __init__(self):
            super().__init__()
            self.scale = tf.Variable(0.5)

        def __call__(self, text):
            words = self.scale * tf.cast(tf.strings.split(text).row_lengths(), tf.float32)
            return tf.stack([tf.zeros_like(words), words], axis=1)

    text = keras.Input((), dtype="string")
    beside = head.Beside(Beside(), (0.8, 0.4), None)
    model = keras.Model(text, CountBytes()(text))
    servable = TextClassifier(model, Cutter(MAX_BYTES), CLASSES, beside=beside)
    tf.saved_model.save(servable, str(tmp_path / "1"), servable.signatures())
    loaded = tf.saved_model.load(str(tmp_path / "1"))
    for classify in (servable.classify, loaded.signatures["serving_default"]):
        probability = classify(text=tf.constant(["a b c"]))["probabilities"].numpy()[0, 1]
        assert probability == pytest.approx(1 / (1 + np.exp(-0.4 * 0.5 * 3)), abs=1e-6)  # 5 bytes: the network has 0
