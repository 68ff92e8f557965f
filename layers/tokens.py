"""What happens to the ids of a text before they become vectors."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="unroll")
class HeadAndTail(keras.layers.Layer):
    """At most `size` tokens of each text: of a longer one its start and its end, half each.

    For a text of length L > size, with h = size // 2:

        y_t = x_t for t < h,    y_t = x_(t + L - size) for h <= t < size

    A shorter text stays as it is.

    Args:
        size: tokens to keep, at least 2.

    Shapes:
        ids: int [batch, time], 0 for padding, and that at the end -> int32 [batch, min(time, size)].

    Example:
        >>> HeadAndTail(4)(np.array([[5, 6, 7, 8, 9, 0], [5, 6, 0, 0, 0, 0]]))
        [[5, 6, 8, 9], [5, 6, 0, 0]]

    Raises:
        ValueError: if size is below 2.
    """

    def __init__(self, size: int, **kwargs):
        if size < 2:
            raise ValueError(f"size is {size}: a start and an end take at least 2")
        super().__init__(**{"dtype": "int32", **kwargs})
        self.size = size

    def call(self, ids):
        lengths = ops.sum(ops.cast(ids != 0, "int32"), axis=1, keepdims=True)
        time = ops.shape(ids)[1]  # a number, or a tensor in a TensorFlow graph
        kept = min(time, self.size) if isinstance(time, int) else ops.minimum(time, self.size)
        position = ops.expand_dims(ops.arange(kept, dtype="int32"), 0)
        jump = ops.where(position < self.size // 2, 0, ops.maximum(lengths - self.size, 0))
        return ops.take_along_axis(ops.cast(ids, "int32"), position + jump, axis=1)

    def compute_output_spec(self, ids):
        time = ids.shape[1] and min(ids.shape[1], self.size)
        return keras.KerasTensor((ids.shape[0], time), dtype="int32")

    def get_config(self):
        return {**super().get_config(), "size": self.size}


@keras.saving.register_keras_serializable(package="unroll")
class ReverseTokens(keras.layers.Layer):
    """Each text from its end to its start, the padding still behind it.

    For a text of length L: y_t = x_(L - 1 - t) for t < L.

    Source: Sutskever, Vinyals and Le 2014, "Sequence to Sequence Learning with Neural Networks", section 3.3: read backwards, the
    start of a source is near to the start of its translation.

    Shapes:
        ids: int [batch, time], 0 for padding, and that at the end -> int32 [batch, time].

    Example:
        >>> ReverseTokens()(np.array([[5, 6, 7, 0], [5, 0, 0, 0]]))
        [[7, 6, 5, 0], [5, 0, 0, 0]]
    """

    def __init__(self, **kwargs):
        super().__init__(**{"dtype": "int32", **kwargs})

    def call(self, ids):
        ids = ops.cast(ids, "int32")
        lengths = ops.sum(ops.cast(ids != 0, "int32"), axis=1, keepdims=True)
        position = ops.expand_dims(ops.arange(ops.shape(ids)[1], dtype="int32"), 0)
        return ops.take_along_axis(ids, ops.where(position < lengths, lengths - 1 - position, position), axis=1)

    def compute_output_spec(self, ids):
        return keras.KerasTensor(ids.shape, dtype="int32")


@keras.saving.register_keras_serializable(package="unroll")
class WordDropout(keras.layers.Layer):
    """In training, each token is replaced by the unknown one with probability `rate`.

    Source: Iyyer et al. 2015, "Deep Unordered Composition Rivals Syntactic Methods for Text Classification" (there the tokens
    are left out; replaced ones keep their neighbours apart).

    Args:
        rate: probability for each token, in [0, 1).
        unknown: the id that stands in.
        seed: of the draws.

    Shapes:
        ids: int [batch, time], 0 for padding, which stays -> int32 [batch, time].

    Example:
        >>> WordDropout(0.1, unknown=1)(np.array([[5, 6, 0]]))  # nothing happens outside of training
        [[5, 6, 0]]

    Raises:
        ValueError: if rate is outside [0, 1).
    """

    def __init__(self, rate: float, unknown: int, seed: int | None = None, **kwargs):
        if not 0 <= rate < 1:
            raise ValueError(f"rate is {rate}: it must be in [0, 1)")
        super().__init__(**{"dtype": "int32", **kwargs})
        self.rate = rate
        self.unknown = unknown
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)

    def call(self, ids, training=False):
        ids = ops.cast(ids, "int32")
        if not training or not self.rate:
            return ids
        drawn = keras.random.uniform(ops.shape(ids), dtype="float32", seed=self.seed_generator) < self.rate
        return ops.where(ops.logical_and(drawn, ids != 0), self.unknown, ids)

    def compute_output_spec(self, ids, training=False):
        return keras.KerasTensor(ids.shape, dtype="int32")

    def get_config(self):
        return {**super().get_config(), "rate": self.rate, "unknown": self.unknown, "seed": self.seed}


@keras.saving.register_keras_serializable(package="unroll")
class RandomSpan(keras.layers.Layer):
    """In training, some texts are read in part: a span of a random length at a random place, the rest hidden as padding.

    For a text of length L, log-uniform between the shortest span s and L:

        length = s (L / s)^u,    start = floor(v (L - length + 1)),    u, v ~ U(0, 1)

    A text of at most s tokens stays whole. A model that has met parts of texts does not take a single sentence for a text
    of which most is missing.

    Args:
        rate: probability that a text is cut, in [0, 1].
        shortest: s, at least 1.
        seed: of the draws.

    Shapes:
        ids: int [batch, time], 0 for padding, and that at the end -> int32 [batch, time], 0 outside of the span as well.

    Example:
        >>> RandomSpan(0.5, shortest=2)(np.array([[5, 6, 7, 0]]))  # nothing happens outside of training
        [[5, 6, 7, 0]]

    Raises:
        ValueError: if rate is outside [0, 1] or shortest below 1.
    """

    def __init__(self, rate: float, shortest: int, seed: int | None = None, **kwargs):
        if not 0 <= rate <= 1:
            raise ValueError(f"rate is {rate}: it must be in [0, 1]")
        if shortest < 1:
            raise ValueError(f"shortest is {shortest}: it must be at least 1")
        super().__init__(**{"dtype": "int32", **kwargs})
        self.rate = rate
        self.shortest = shortest
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)

    def call(self, ids, training=False):
        ids = ops.cast(ids, "int32")
        if not training or not self.rate:
            return ids
        cut, u, v = ops.unstack(keras.random.uniform((3, ops.shape(ids)[0], 1), dtype="float32", seed=self.seed_generator))
        whole = ops.sum(ops.cast(ids != 0, "float32"), axis=1, keepdims=True)
        shortest = ops.cast(self.shortest, "float32")
        length = ops.round(shortest * ops.maximum(whole / shortest, 1.0) ** u)
        start = ops.floor(v * ops.maximum(whole - length + 1, 1.0))
        position = ops.cast(ops.arange(ops.shape(ids)[1]), "float32")
        inside = ops.logical_and(position >= start, position < start + length)
        return ops.where(ops.logical_or(inside, cut >= self.rate), ids, 0)

    def compute_output_spec(self, ids, training=False):
        return keras.KerasTensor(ids.shape, dtype="int32")

    def get_config(self):
        return {**super().get_config(), "rate": self.rate, "shortest": self.shortest, "seed": self.seed}
