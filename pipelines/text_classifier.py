"""What is exported of a classifier whose model reads strings itself: strings in, a label with its probability out."""

import keras
import tensorflow as tf

from pipelines.normalization import valid_utf8


class TextClassifier(tf.Module):
    """The servable of a classifier that ends in a pretrained encoder.

    Args:
        model: string [batch] -> logits [batch, classes].
        max_bytes: of a text that are read.
        classes: their names.
    """

    def __init__(self, model: keras.Model, max_bytes: int, classes: tuple[str, ...]):
        super().__init__()
        self._classes = tf.constant(classes, tf.string)
        self._max_bytes = max_bytes
        self._held = model  # variables, vocabularies and tables of its modules
        self._model = lambda text: model(text, training=False)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def classify(self, text):
        """string [batch] -> label: string [batch], score: float32 [batch], probabilities: float32 [batch, classes]."""
        probabilities = tf.nn.softmax(self._model(valid_utf8(text, self._max_bytes)))
        label = tf.gather(self._classes, tf.argmax(probabilities, axis=-1))
        return {"label": label, "score": tf.reduce_max(probabilities, axis=-1), "probabilities": probabilities}

    def signatures(self) -> dict:
        return {"serving_default": self.classify.get_concrete_function()}
