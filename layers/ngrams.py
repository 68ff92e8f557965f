"""Layers over the known n-grams of a text, of its tokens and of its characters: linear models, and a dense layer."""

import keras
import numpy as np
from keras import ops

from layers.known_ngrams import KnownNGrams
from layers.sparse_rows import add_rows

_MIN_NORM = 1e-6


@keras.saving.register_keras_serializable(package="unroll")
class NGramLogits(KnownNGrams):
    """A linear classifier over the n-grams of a text: of its tokens and, if wanted, of the characters of each word.

    F is the set of known n-grams in a text, n_f how often it has n-gram f, r_fc the weight of n-gram f for class c that
    is known before training (such as its inverse document frequency, or its naive Bayes log-count ratio), and w_fc its
    learned weight:

        logit_c = t_c (sum_(f in F) v_f w_fc r_fc / |r_c| + b_c) + (1 - t_c) p_c
        t_c = min(1, |r_c| / m_c)^a,  |r_c| = sqrt(sum_(f in F) (v_f r_fc)^2),  v_f = 1 + s log(n_f)

    With s = 0 an n-gram counts once; with s = 1 its weight grows with the logarithm of its number.

    A text without known n-grams has the logits p_c. A text whose |r_c| is below m_c has logits between its own and p_c:
    for example a sentence, if the training texts are whole reviews.

    N-grams are stored as hashes of 31 bits, even ones for tokens and odd ones for characters. An unknown n-gram has the
    hash of a known one with probability num_ngrams / 2^30, about one in a thousand for a million known n-grams.
    Gradients train nothing in this layer: `set_ngrams` sets what was computed elsewhere. Until then no n-gram is known
    and all logits are zero.

    Parameters, none of them trainable: num_ngrams (1 + 2 num_classes) + 3 num_classes + 1.

    Source: Wang and Manning 2012, "Baselines and Bigrams".

    Args:
        num_classes: number of logits.
        num_ngrams: maximum number of known n-grams.
        max_n: maximum tokens per n-gram.
        max_characters: maximum characters per n-gram of characters; the minimum is 2. 0 uses none. A space may only be
            the first or the last character of an n-gram.
        fading: a, how fast the logits of shorter texts fade to p_c.
        marks: token id and code point that divide the fields of a text: the same n-gram in two fields is then two
            n-grams. None: a text has one field.

    Shapes:
        ids: int [batch, time], 0 for padding; characters, only with `max_characters`: int [batch, length], Unicode code
            points, 0 for padding -> float32 [batch, num_classes].

    Example:
        >>> NGramLogits(num_classes=2, num_ngrams=1000)(np.array([[5, 6, 0]])).shape
        (1, 2)

    Raises:
        ValueError: if num_classes, num_ngrams, max_n or fading is below 1, or max_characters is neither 0 nor at least
            2.
    """

    def __init__(
        self,
        num_classes: int,
        num_ngrams: int,
        max_n: int = 3,
        max_characters: int = 0,
        fading: int = 4,
        marks: tuple[int, int] | None = None,
        **kwargs,
    ):
        kwargs = {"trainable": False, "dtype": "float32", **kwargs}
        sizes = {"num_classes": num_classes, "fading": fading}
        super().__init__(num_ngrams, max_n, max_characters, sizes, marks, **kwargs)

    def build(self, ids_shape, characters_shape=None):
        super().build(ids_shape, characters_shape)
        shape = (self.num_ngrams, self.num_classes)
        self.weighted = self.add_weight(shape, "zeros", trainable=False, name="weighted")  # w r
        self.squared = self.add_weight(shape, "zeros", trainable=False, name="squared")  # r^2
        self.bias = self.add_weight((self.num_classes,), "zeros", trainable=False, name="bias")
        self.min_norm = self.add_weight((self.num_classes,), "zeros", trainable=False, name="min_norm")  # m
        self.prior = self.add_weight((self.num_classes,), "zeros", trainable=False, name="prior")  # p
        self.repeats = self.add_weight((1,), "zeros", trainable=False, name="repeats")  # s

    def set_ngrams(self, hashes, ratios, weights, bias, min_norm, prior, repeats=0.0):
        """Sets the known n-grams. The layer must be built.

        Args:
            hashes: int32 [k], from `hash_ngrams`, without duplicates; k is at most num_ngrams.
            ratios: r, float [k, classes].
            weights: w, float [k, classes].
            bias: b, float [classes].
            min_norm: m, float [classes]; 0 changes no text.
            prior: p, float [classes].
            repeats: s.

        Raises:
            ValueError: if there are more than num_ngrams hashes.
        """
        self.assign(hashes, {"weighted": weights * ratios, "squared": ratios**2})
        self.bias.assign(bias)
        self.min_norm.assign(min_norm)
        self.prior.assign(prior)
        self.repeats.assign([repeats])

    def call(self, ids, characters=None):
        row, index, count = self.find(ids, characters)  # of each known n-gram, [known]
        value = ops.expand_dims(_values(count, self.repeats), 1)  # [known, 1]
        num_rows = ops.shape(ids)[0]
        total = ops.segment_sum(value * ops.take(self.weighted, index, axis=0), row, num_rows)  # [batch, classes]
        norm = ops.sqrt(ops.segment_sum(ops.square(value) * ops.take(self.squared, index, axis=0), row, num_rows))
        return _fade(total, norm, self.bias, self.min_norm, self.prior, self.fading)

    def compute_output_spec(self, ids, characters=None):
        return keras.KerasTensor((ids.shape[0], self.num_classes), dtype=self.compute_dtype)


@keras.saving.register_keras_serializable(package="unroll")
class SparseNGramLogits(KnownNGrams):
    """`NGramLogits` for many classes: most weights are zero and not stored, and the ratios are those of all classes.

        logit_c = t (sum_(f in F) v_f w_fc r_f / |r| + b_c) + (1 - t) p_c
        t = min(1, |r| / m)^a,  |r| = sqrt(sum_(f in F) (v_f r_f)^2),  v_f = 1 + s log(n_f)

    The weights are stored as a sparse matrix of compressed rows: one row for each n-gram.

    Parameters, none of them trainable: 3 num_ngrams + 2 num_weights + 2 num_classes + 3.

    Source of the pruning: Babbar and Schoelkopf 2017, "DiSMEC: Distributed Sparse Machines for Extreme Multi-label
    Classification".

    Args:
        num_classes: number of logits.
        num_ngrams: maximum number of known n-grams.
        num_weights: maximum number of weights w_fc that are not zero.
        max_n: maximum tokens per n-gram.
        max_characters: maximum characters per n-gram of characters; 0 uses none.
        fading: a, how fast the logits of shorter texts fade to p_c.
        marks: as for `NGramLogits`.

    Shapes:
        ids, characters: as for `NGramLogits` -> float32 [batch, num_classes].

    Example:
        >>> SparseNGramLogits(num_classes=500, num_ngrams=1000, num_weights=5000)(np.array([[5, 6, 0]])).shape
        (1, 500)

    Raises:
        ValueError: if num_classes, num_ngrams, num_weights, max_n or fading is below 1, or max_characters is neither 0
            nor at least 2.
    """

    def __init__(
        self,
        num_classes: int,
        num_ngrams: int,
        num_weights: int,
        max_n: int = 3,
        max_characters: int = 0,
        fading: int = 4,
        marks: tuple[int, int] | None = None,
        **kwargs,
    ):
        kwargs = {"trainable": False, "dtype": "float32", **kwargs}
        sizes = {"num_classes": num_classes, "num_weights": num_weights, "fading": fading}
        super().__init__(num_ngrams, max_n, max_characters, sizes, marks, **kwargs)

    def build(self, ids_shape, characters_shape=None):
        super().build(ids_shape, characters_shape)
        whole, fixed = {"dtype": "int32", "trainable": False}, {"trainable": False}
        self.squared = self.add_weight((self.num_ngrams,), "zeros", **fixed, name="squared")  # r^2
        # The weights of n-gram f are those from starts[f] to starts[f + 1].
        self.starts = self.add_weight((self.num_ngrams + 1,), "zeros", **whole, name="starts")
        self.classes = self.add_weight((self.num_weights,), "zeros", **whole, name="classes")
        self.weighted = self.add_weight((self.num_weights,), "zeros", **fixed, name="weighted")  # w r
        self.bias = self.add_weight((self.num_classes,), "zeros", **fixed, name="bias")
        self.min_norm = self.add_weight((1,), "zeros", **fixed, name="min_norm")  # m
        self.prior = self.add_weight((self.num_classes,), "zeros", **fixed, name="prior")  # p
        self.repeats = self.add_weight((1,), "zeros", **fixed, name="repeats")  # s

    def set_ngrams(self, hashes, ratios, weights, bias, min_norm, prior, repeats=0.0):
        """Sets the known n-grams. The layer must be built.

        Args:
            hashes: int32 [k], ascending, from `hash_ngrams`; k is at most num_ngrams.
            ratios: r, float [k].
            weights: w, a matrix of SciPy in compressed rows [k, classes] with at most num_weights elements.
            bias: b, float [classes].
            min_norm: m; 0 changes no text.
            prior: p, float [classes].
            repeats: s.

        Raises:
            ValueError: if there are more than num_ngrams hashes or num_weights weights.
        """
        if weights.nnz > self.num_weights:
            raise ValueError(f"{weights.nnz} weights were given, but num_weights is {self.num_weights}")
        self.assign(hashes, {"squared": ratios**2})
        num_unused = self.num_weights - weights.nnz
        weighted = weights.data * np.repeat(ratios, np.diff(weights.indptr))
        self.starts.assign(np.pad(weights.indptr, (0, self.num_ngrams - len(hashes)), mode="edge"))
        self.classes.assign(np.pad(weights.indices, (0, num_unused)))
        self.weighted.assign(np.pad(weighted, (0, num_unused)))
        self.bias.assign(bias)
        self.min_norm.assign([min_norm])
        self.prior.assign(prior)
        self.repeats.assign([repeats])

    def call(self, ids, characters=None):
        row, index, count = self.find(ids, characters)  # of each known n-gram, [known]
        value = _values(count, self.repeats)  # [known]
        num_rows = ops.shape(ids)[0]
        norm = ops.sqrt(ops.segment_sum(ops.square(value) * ops.take(self.squared, index), row, num_rows))  # [batch]
        sparse = self.starts, self.classes, self.weighted
        total = add_rows(*sparse, index, value, row, num_rows, self.num_classes)  # [batch, classes]
        return _fade(total, ops.expand_dims(norm, 1), self.bias, self.min_norm, self.prior, self.fading)

    def compute_output_spec(self, ids, characters=None):
        return keras.KerasTensor((ids.shape[0], self.num_classes), dtype=self.compute_dtype)


def _values(count, repeats):
    """Returns 1 + repeats log(count), [known]."""
    return 1 + repeats * ops.log(ops.cast(count, repeats.dtype))


def _fade(total, norm, bias, min_norm, prior, fading):
    """Returns t (total / norm + bias) + (1 - t) prior with t = min(1, norm / min_norm)^fading, [batch, classes]."""
    norm = ops.maximum(norm, _MIN_NORM)
    trust = ops.power(ops.minimum(1.0, norm / ops.maximum(min_norm, _MIN_NORM)), fading)
    return trust * (total / norm + bias) + (1 - trust) * prior


@keras.saving.register_keras_serializable(package="unroll")
class NGramProjection(KnownNGrams):
    """A dense layer over the weights of the n-grams of a text, the input of a feedforward network.

    F is the set of known n-grams in a text and r_f the weight of n-gram f that is known before training, such as its
    inverse document frequency. The layer learns a vector v_f for each n-gram, and a bias b:

        h = sum_(f in F) r_f v_f / |r| + b,    |r| = sqrt(sum_(f in F) r_f^2)

    Without known n-grams, h = b. N-grams and their hashes are those of `NGramLogits`; `set_ngrams` sets them.
    Finding the n-grams of a text takes longer than all the rest: training may find them once, and give `columns`.

    Parameters: trainable (num_ngrams + 1) units, not trainable 2 num_ngrams.

    Args:
        units: size of h.
        num_ngrams: maximum number of known n-grams.
        max_n: maximum tokens per n-gram.
        max_characters: maximum characters per n-gram of characters; 0 uses none.
        marks: as for `NGramLogits`.

    Shapes:
        ids: int [batch, time], 0 for padding; characters, only with `max_characters`: int [batch, length], Unicode code
            points, 0 for padding -> float [batch, units].
        columns, in place of what they contain: int [batch, n], for each known n-gram of a text its number in the
            ascending order of the hashes, from 1; 0 for padding.

    Example:
        >>> NGramProjection(units=8, num_ngrams=1000)(np.array([[5, 6, 0]])).shape
        (1, 8)

    Raises:
        ValueError: if units, num_ngrams or max_n is below 1, or max_characters is neither 0 nor at least 2.
    """

    def __init__(
        self,
        units: int,
        num_ngrams: int,
        max_n: int = 3,
        max_characters: int = 0,
        marks: tuple[int, int] | None = None,
        **kwargs,
    ):
        super().__init__(num_ngrams, max_n, max_characters, {"units": units}, marks, **kwargs)

    def build(self, ids_shape, characters_shape=None):
        super().build(ids_shape, characters_shape)
        self.ratios = self.add_weight((self.num_ngrams,), "zeros", trainable=False, name="ratios")  # r
        # The rows are few of many: Glorot's limits, made for dense inputs, would start with outputs near zero.
        start = keras.initializers.RandomNormal(stddev=0.05)
        self.kernel = self.add_weight((self.num_ngrams, self.units), start, name="kernel")  # v
        self.bias = self.add_weight((self.units,), "zeros", name="bias")

    def set_ngrams(self, hashes, ratios):
        """Sets the known n-grams. The layer must be built.

        Args:
            hashes: int32 [k], from `hash_ngrams`, without duplicates; k is at most num_ngrams.
            ratios: r, float [k].

        Raises:
            ValueError: if there are more than num_ngrams hashes.
        """
        self.assign(hashes, {"ratios": ratios})

    def call(self, ids, characters=None, columns=None):
        num_rows = ops.shape(ids)[0]
        if columns is not None:
            return self._project(columns, num_rows)
        row, index, _ = self.find(ids, characters)  # of each known n-gram, [known]
        ratios = ops.expand_dims(ops.take(self.ratios, index), -1)  # [known, 1]
        total = ops.segment_sum(ops.take(self.kernel, index, axis=0) * ratios, row, num_rows)  # [batch, units]
        norm = ops.sqrt(ops.segment_sum(ops.square(ratios), row, num_rows))  # [batch, 1]
        return total / ops.maximum(norm, _MIN_NORM) + self.bias

    def _project(self, columns, num_rows):
        """The same of known columns, as a product of matrices: its gradient is one, too."""
        shape = ops.shape(columns)
        rows = ops.broadcast_to(ops.expand_dims(ops.arange(shape[0], dtype="int32"), 1), shape)
        positions = ops.reshape(ops.stack([rows, ops.cast(columns, "int32")], axis=-1), (-1, 2))
        ones = ops.ones((shape[0] * shape[1],), self.compute_dtype)
        known = ops.scatter_update(ops.zeros((num_rows, self.num_ngrams + 1), self.compute_dtype), positions, ones)
        weights = known[:, 1:] * self.ratios  # [batch, num_ngrams]
        norm = ops.sqrt(ops.sum(ops.square(weights), axis=1, keepdims=True))
        return ops.matmul(weights, self.kernel) / ops.maximum(norm, _MIN_NORM) + self.bias

    def compute_output_spec(self, ids, characters=None, columns=None):
        return keras.KerasTensor((ids.shape[0], self.units), dtype=self.compute_dtype)
