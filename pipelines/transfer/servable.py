"""What is exported of a classifier whose model reads strings itself: strings in, a label with its probability out."""

import keras
import tensorflow as tf

from layers.hub import HubEncoder
from pipelines.labelled.outputs import (
    CLASSES,
    MOST_PROBABLE,
    TEXT,
    Decision,
    classes_signature,
    label_outputs,
    with_top_classes,
)
from pipelines.text.normalization import Cutter
from pipelines.transfer.head import Beside


class TextClassifier(tf.Module):
    """The servable of a classifier with a pretrained encoder.

    Args:
        model: string [batch] -> logits [batch, classes].
        cut: limits the bytes of the texts.
        classes: names of the classes.
        decision: how labels follow from probabilities.
        beside: a linear model over n-grams.
    """

    def __init__(
        self,
        model: keras.Model,
        cut: Cutter,
        classes: tuple[str, ...],
        decision: Decision = MOST_PROBABLE,
        beside: Beside | None = None,
    ):
        super().__init__()
        self.decision = decision
        self._classes = tf.constant(classes, tf.string)
        self._cut = cut
        # The SavedModel holds the variables, vocabularies and tables of tf.Module's attributes. The model must not be
        # one of them: Keras's variables are then restored into copies, and TF Serving finds a network without weights.
        self._variables = [weight.value for weight in model.weights]
        self._modules = [layer.resources for layer in model.layers if isinstance(layer, HubEncoder)]
        self._model = lambda text: model(text, training=False)
        self.beside = beside
        self._beside = beside.model if beside else None  # the SavedModel holds the variables of a tf.Module
        self._top_classes = classes_signature(self.classify, self._classes)

    @tf.function(input_signature=[TEXT], autograph=False)
    def classify(self, text):
        """Labels texts: string [batch] -> the outputs of `label_outputs`, with the most probable classes."""
        logits = self._model(self._cut(text))
        if self.beside:
            of_network, of_ngrams = self.beside.weights
            logits = of_network * logits + of_ngrams * self.beside.model(text)
        outputs = label_outputs(logits, self._classes, self.decision)
        return with_top_classes(outputs, self._classes)

    def signatures(self) -> dict:
        """Returns the functions to export."""
        signatures = {"serving_default": self.classify}
        return signatures if self.decision.number else signatures | {CLASSES: self._top_classes}
