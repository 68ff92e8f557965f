"""Learning a vocabulary that is too large to score whole at every step: cross-entropy over the right token and some drawn ones.

Of the sum over all V tokens in the softmax, what is not the truth y is estimated from S drawn ids s, small ids (the frequent
tokens) more often:

    p(k) = log((k + 2) / (k + 1)) / log(V + 1)
    loss = log(exp(z_y) + sum over s != y of exp(z_s) / (S p(s))) - z_y

The estimate of the sum is right on average, and the closer the more are drawn. Models are scored with the cross-entropy over all.

Source: Bengio and Senecal 2008, "Adaptive Importance Sampling to Accelerate Training of a Neural Probabilistic Language Model"; Jean et
al. 2015, "On Using Very Large Target Vocabulary for Neural Machine Translation".
"""

import keras
import numpy as np
from keras import ops


def draw(samples: int, vocabulary_size: int, seed):
    """`samples` ids below `vocabulary_size`, int32, with replacement, by the p of this module."""
    uniform = keras.random.uniform((samples,), dtype="float32", seed=seed)
    ids = ops.floor(ops.exp(uniform * np.log(vocabulary_size + 1.0))) - 1
    return ops.minimum(ops.cast(ids, "int32"), vocabulary_size - 1)


def loss(features, targets, vectors, drawn):
    """Nats for each token, float32 [n].

    Args:
        features: float [n, size], with which tokens are scored: z_k = features . vectors_k.
        targets: int32 [n].
        vectors: [vocabulary, size].
        drawn: int32 [samples].
    """
    features = ops.cast(features, "float32")
    of_truth = ops.sum(features * ops.take(vectors, targets, axis=0), axis=-1)
    of_drawn = ops.matmul(features, ops.transpose(ops.take(vectors, drawn, axis=0)))
    of_drawn -= np.log(drawn.shape[0]) + _log_probability(drawn, vectors.shape[0])
    of_drawn = ops.where(ops.equal(targets[:, None], drawn[None]), -1e9, of_drawn)
    return ops.logaddexp(of_truth, ops.logsumexp(of_drawn, axis=-1)) - of_truth


def _log_probability(ids, vocabulary_size):
    ids = ops.cast(ids, "float32")
    return ops.log(ops.log1p(1.0 / (ids + 1.0))) - np.log(np.log(vocabulary_size + 1.0))


class SampledSoftmaxModel(keras.Model):
    """A functional model of ids -> features, trained with the loss above and scored with that of all tokens.

    Args:
        inputs, outputs: as for `keras.Model`; outputs are features [batch, time, size].
        embedding: the `ReversibleEmbedding` whose vectors score the tokens.
        samples: ids drawn for each batch.
        seed: of the draws.
    """

    def __init__(self, inputs, outputs, embedding, samples: int, seed: int, **kwargs):
        super().__init__(inputs=inputs, outputs=outputs, **kwargs)
        self._embedding = embedding
        self._samples = samples
        self._draws = keras.random.SeedGenerator(seed)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        if not training:
            return super().compute_loss(x, y, self._embedding(y_pred, reverse=True), sample_weight, training)
        features = ops.reshape(y_pred, (-1, y_pred.shape[-1]))
        vectors = self._embedding.embeddings
        drawn = draw(self._samples, vectors.shape[0], self._draws)
        return ops.mean(loss(features, ops.reshape(y, (-1,)), vectors, drawn))
