"""`start`, `read`, `advance` and `losses` of the models that read the last order - 1 tokens (see steps.py)."""

import keras
import tensorflow as tf

from pipelines.language_model.config import LanguageModelConfig
from pipelines.language_model.ngram_layer import BackoffNGrams
from pipelines.text.tokenizers import PAD


class ContextSteps:
    """The state is the last order - 1 tokens, with PAD before the first one.

    Args:
        model: inference model of `networks.build`.
    """

    def __init__(self, config: LanguageModelConfig, model: keras.Model):
        self._model, self._size = model, config.order - 1
        layers = [layer for layer in model.layers if isinstance(layer, BackoffNGrams)]
        self._ngrams = layers[0] if layers else None

    def start(self, batch_size) -> dict[str, tf.Tensor]:
        """Returns the state before the first token."""
        return {"context": tf.fill([batch_size, self._size], PAD)}

    def read(self, ids, lengths):
        """Reads prompts; see `RecurrentSteps.read`."""
        joined = tf.pad(ids, [[0, 0], [self._size, 0]], constant_values=PAD)
        context = tf.gather(joined, lengths[:, None] + tf.range(self._size), batch_dims=1)  # [batch, order - 1]
        return self._model(context)[:, -1], {"context": context}

    def advance(self, ids, state):
        """Reads tokens; see `RecurrentSteps.advance`."""
        joined, state = self._join(ids, state)
        return self._model(joined)[:, self._size :], state

    def losses(self, ids, targets, state):
        """Reads tokens; see `RecurrentSteps.losses`. An n-gram model looks up the targets alone."""
        if not self._ngrams:
            logits, state = self.advance(ids, state)
            return tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits), state
        joined, state = self._join(ids, state)
        padded = tf.pad(targets, [[0, 0], [self._size, 0]])
        return -self._ngrams.target_log_probabilities(joined, padded)[:, self._size :], state

    def align(self, state):
        """See `RecurrentSteps.align`."""
        return state

    def _join(self, ids, state):
        """Returns the context and the ids after it, [batch, order - 1 + time], and the state after them."""
        joined = tf.concat([state["context"], ids], axis=1)
        return joined, {"context": tf.ensure_shape(joined[:, -self._size :], [None, self._size])}
