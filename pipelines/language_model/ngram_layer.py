"""An n-gram model as a Keras layer: ids -> log-probabilities of the next token."""

import keras
import tensorflow as tf

from pipelines.language_model.kneser_ney import Tables
from pipelines.text.tokenizers import PAD

_SMALLEST = 1e-30  # a probability; the logarithm of 0 would make averages infinite


class BackoffNGrams(keras.layers.Layer):
    """The probabilities of kneser_ney.py, looked up in sorted tables.

        p_m(w | c) = alpha(c w) + gamma(c) p_(m-1)(w | c')

    Args:
        order: n.
        vocabulary_size: number of tokens.
        sizes: for contexts of 1, 2, ... order - 1 tokens the number of contexts and of n-grams.

    Shapes:
        ids: int32 [batch, time] -> float32 [batch, time, vocabulary], the log-probabilities of the token after each
        one, from the last order - 1 tokens; before the first token is PAD.
    """

    def __init__(self, order: int, vocabulary_size: int, sizes: list[tuple[int, int]], **kwargs):
        super().__init__(**{**kwargs, "trainable": False, "dtype": "float32"})
        self.order, self.vocabulary_size, self.sizes = order, vocabulary_size, sizes

    def build(self, ids_shape):
        def table(name, size, dtype):
            return self.add_weight((size,), "zeros", dtype=dtype, trainable=False, name=name)

        self.unigrams = table("unigrams", self.vocabulary_size, "float32")
        self.levels = [
            (
                table(f"contexts_{m}", num_contexts, "int64"),
                table(f"gammas_{m}", num_contexts, "float32"),
                table(f"ngrams_{m}", num_ngrams, "int64"),
                table(f"alphas_{m}", num_ngrams, "float32"),
            )
            for m, (num_contexts, num_ngrams) in enumerate(self.sizes, start=1)
        ]

    def assign(self, tables: Tables) -> None:
        """Stores the model."""
        self.unigrams.assign(tables.unigrams)
        for variables, level in zip(self.levels, tables.levels, strict=True):
            for variable, values in zip(
                variables, (level.contexts, level.gammas, level.ngrams, level.alphas), strict=True
            ):
                variable.assign(values)

    def call(self, ids):
        time = tf.shape(ids)[1]
        contexts = self._contexts(ids)  # [batch * time] for each length
        rows = tf.size(ids)
        probabilities = tf.repeat(self.unigrams.value[None], rows, axis=0)  # [batch * time, vocabulary]
        for (index, is_known), (_, gammas, ngrams, alphas) in zip(contexts, self.levels):
            first, end = (_search(ngrams.value, (index + i) * self.vocabulary_size) for i in (0, 1))
            found = tf.ragged.range(first, tf.where(is_known, end, first))  # n-grams of each context
            places = tf.stack(
                [
                    found.value_rowids(),
                    tf.gather(ngrams.value, found.values) % self.vocabulary_size,
                ],
                axis=1,
            )
            part = tf.where(is_known, tf.gather(gammas.value, index), 1.0)  # [batch * time]
            probabilities = tf.tensor_scatter_nd_add(
                part[:, None] * probabilities, places, tf.gather(alphas.value, found.values)
            )
        logits = tf.math.log(tf.maximum(probabilities, _SMALLEST))
        return tf.reshape(logits, [-1, time, self.vocabulary_size])

    def target_log_probabilities(self, ids, targets):
        """Returns the log-probability of each target, float32 [batch, time], after the tokens up to its position.

        Args:
            ids, targets: int32 [batch, time].
        """
        words = tf.cast(tf.reshape(targets, [-1]), tf.int64)
        probabilities = tf.gather(self.unigrams.value, words)  # [batch * time]
        for (index, is_known), (_, gammas, ngrams, alphas) in zip(self._contexts(ids), self.levels):
            key = index * self.vocabulary_size + words
            place, is_there = _find(ngrams.value, key)
            alpha = tf.where(is_known & is_there, tf.gather(alphas.value, place), 0.0)
            part = tf.where(is_known, tf.gather(gammas.value, index), 1.0)
            probabilities = alpha + part * probabilities
        return tf.reshape(tf.math.log(tf.maximum(probabilities, _SMALLEST)), tf.shape(targets))

    def _contexts(self, ids):
        """Returns for each context length 1, 2, ... the index of each position's context, and whether it is known.

        Both are [batch * time]; the index of an unknown context is any.
        """
        time = tf.shape(ids)[1]
        padded = tf.cast(tf.pad(ids, [[0, 0], [self.order - 2, 0]], constant_values=PAD), tf.int64)
        index = tf.zeros([tf.size(ids)], tf.int64)
        is_known = tf.ones([tf.size(ids)], tf.bool)
        found = []
        for m, (contexts, *_) in enumerate(self.levels, start=1):
            first = self.order - 1 - m  # of the oldest token of the contexts of m tokens
            oldest = tf.reshape(padded[:, first : first + time], [-1])
            index, is_there = _find(contexts.value, index * self.vocabulary_size + oldest)
            is_known &= is_there
            found.append((index, is_known))
        return found

    def compute_output_spec(self, ids):
        return keras.KerasTensor((*ids.shape, self.vocabulary_size), "float32")

    def get_config(self):
        values = {"order": self.order, "vocabulary_size": self.vocabulary_size, "sizes": self.sizes}
        return {**super().get_config(), **values}


def table_sizes(tables: Tables) -> list[tuple[int, int]]:
    """Returns the argument `sizes` of the layer."""
    return [(len(level.contexts), len(level.ngrams)) for level in tables.levels]


def _search(table, keys):
    """Returns the number of entries of the sorted table that are below each key, int64 [n]."""
    return tf.searchsorted(table[None], keys[None], out_type=tf.int64)[0]


def _find(table, keys):
    """Returns the place of each key in the sorted table, int64 [n], and whether it is there, bool [n]."""
    place = tf.minimum(_search(table, keys), tf.size(table, tf.int64) - 1)
    return place, tf.equal(tf.gather(table, place), keys)
