"""Sampled softmax: a loss for vocabularies that are too large to score whole at every step.

The cross-entropy over the correct token and some sampled ones. In the softmax, the sum over all V tokens except the
target y is estimated from S sampled ids s. Small ids (the frequent tokens) are sampled more often:

    p(k) = log((k + 2) / (k + 1)) / log(V + 1)
    loss = log(exp(z_y) + sum over s != y of exp(z_s) / (S p(s))) - z_y

The estimate of the sum is unbiased, and has less variance with more samples. Models are scored with the cross-entropy
over all tokens.

Source: Bengio and Senecal 2008, "Adaptive Importance Sampling to Accelerate Training of a Neural Probabilistic Language
Model"; Jean et al. 2015, "On Using Very Large Target Vocabulary for Neural Machine Translation".
"""

import keras
import numpy as np
from keras import ops


def sample_ids(num_sampled: int, vocabulary_size: int, seed):
    """Returns int32 [num_sampled], ids below `vocabulary_size`, sampled with replacement from the p of this module.

    Args:
        seed: a `keras.random.SeedGenerator` or a number.
    """
    uniform = keras.random.uniform((num_sampled,), dtype="float32", seed=seed)
    ids = ops.floor(ops.exp(uniform * np.log(vocabulary_size + 1.0))) - 1
    return ops.minimum(ops.cast(ids, "int32"), vocabulary_size - 1)


def sampled_softmax_loss(features, targets, embeddings, sampled):
    """Returns the loss of each token in nats, float32 [n].

    Args:
        features: float [n, size], which score the tokens: z_k = features . embeddings_k.
        targets: int32 [n].
        embeddings: [vocabulary, size].
        sampled: int32 [num_sampled].
    """
    # The product with all samples is most of the work: mixed_bfloat16 computes it in bfloat16.
    sampled_embeddings = ops.cast(ops.take(embeddings, sampled, axis=0), features.dtype)
    sampled_logits = ops.cast(ops.matmul(features, ops.transpose(sampled_embeddings)), "float32")  # [n, num_sampled]
    target_embeddings = ops.take(embeddings, targets, axis=0)
    target_logits = ops.sum(ops.cast(features, "float32") * target_embeddings, axis=-1)  # [n]
    sampled_logits -= np.log(sampled.shape[0]) + _log_probability(sampled, embeddings.shape[0])
    sampled_logits = ops.where(ops.equal(targets[:, None], sampled[None]), -1e9, sampled_logits)
    return ops.logaddexp(target_logits, ops.logsumexp(sampled_logits, axis=-1)) - target_logits


def _log_probability(ids, vocabulary_size):
    ids = ops.cast(ids, "float32")
    return ops.log(ops.log1p(1.0 / (ids + 1.0))) - np.log(np.log(vocabulary_size + 1.0))


class SampledSoftmaxModel(keras.Model):
    """A functional model of ids -> features, trained with the sampled softmax and evaluated with the softmax over all
    tokens.

    Args:
        inputs, outputs: as in `keras.Model`; the outputs are features [batch, time, size].
        embedding: the `ReversibleEmbedding` whose embeddings score the tokens.
        num_sampled: number of ids sampled for each batch.
        seed: of the sampling.
    """

    def __init__(self, inputs, outputs, embedding, num_sampled: int, seed: int, **kwargs):
        super().__init__(inputs=inputs, outputs=outputs, **kwargs)
        self._embedding = embedding
        self._num_sampled = num_sampled
        self._seed_generator = keras.random.SeedGenerator(seed)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """Returns the sampled softmax loss in training, else the cross-entropy over all tokens."""
        if not training:
            return super().compute_loss(x, y, self._embedding(y_pred, reverse=True), sample_weight, training)
        features = ops.reshape(y_pred, (-1, y_pred.shape[-1]))  # [batch * time, size]
        embeddings = self._embedding.embeddings
        sampled = sample_ids(self._num_sampled, embeddings.shape[0], self._seed_generator)
        return ops.mean(sampled_softmax_loss(features, ops.reshape(y, (-1,)), embeddings, sampled))
