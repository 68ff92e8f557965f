"""Layers on token ids, before the embedding."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="unroll")
class HeadAndTail(keras.layers.Layer):
    """Cuts each text to at most `size` tokens: a longer text keeps its first and its last half.

    For a text of length L > size, with h = size // 2:

        y_t = x_t for t < h,    y_t = x_(t + L - size) for h <= t < size

    A shorter text does not change.

    Args:
        size: maximum number of tokens, at least 2.

    Shapes:
        ids: int [batch, time], 0 for padding, which is at the end -> int32 [batch, min(time, size)].

    Example:
        >>> HeadAndTail(4)(np.array([[5, 6, 7, 8, 9, 0], [5, 6, 0, 0, 0, 0]]))
        [[5, 6, 8, 9], [5, 6, 0, 0]]

    Raises:
        ValueError: if size is below 2.
    """

    def __init__(self, size: int, **kwargs):
        if size < 2:
            raise ValueError(f"size is {size}: it must be at least 2, one token from each end")
        super().__init__(**{"dtype": "int32", **kwargs})
        self.size = size

    def call(self, ids):
        lengths = ops.sum(ops.cast(ids != 0, "int32"), axis=1, keepdims=True)  # [batch, 1]
        time = ops.shape(ids)[1]  # an int, or a tensor in a TensorFlow graph
        new_time = min(time, self.size) if isinstance(time, int) else ops.minimum(time, self.size)
        position = ops.expand_dims(ops.arange(new_time, dtype="int32"), 0)  # [1, new_time]
        offset = ops.where(position < self.size // 2, 0, ops.maximum(lengths - self.size, 0))  # [batch, new_time]
        return ops.take_along_axis(ops.cast(ids, "int32"), position + offset, axis=1)

    def compute_output_spec(self, ids):
        time = None if ids.shape[1] is None else min(ids.shape[1], self.size)
        return keras.KerasTensor((ids.shape[0], time), dtype="int32")

    def get_config(self):
        return {**super().get_config(), "size": self.size}


@keras.saving.register_keras_serializable(package="unroll")
class ReverseTokens(keras.layers.Layer):
    """Reverses the tokens of each text; the padding stays at the end.

    For a text of length L: y_t = x_(L - 1 - t) for t < L.

    Source: Sutskever, Vinyals and Le 2014, "Sequence to Sequence Learning with Neural Networks", section 3.3: in a
    reversed source, the first words are close to the first words of the translation.

    Shapes:
        ids: int [batch, time], 0 for padding, which is at the end -> int32 [batch, time].

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
    """Replaces each token by the unknown token with probability `rate`, in training only.

    Source: Iyyer et al. 2015, "Deep Unordered Composition Rivals Syntactic Methods for Text Classification". The paper
    removes the tokens; a replacement keeps their neighbors from becoming adjacent.

    Args:
        rate: probability for each token, in [0, 1).
        unknown_id: the id of the unknown token.
        seed: seed of the random numbers.

    Shapes:
        ids: int [batch, time], 0 for padding, which does not change -> int32 [batch, time].

    Example:
        >>> WordDropout(0.1, unknown_id=1)(np.array([[5, 6, 0]]))  # no change outside of training
        [[5, 6, 0]]

    Raises:
        ValueError: if rate is outside [0, 1).
    """

    def __init__(self, rate: float, unknown_id: int, seed: int | None = None, **kwargs):
        if not 0 <= rate < 1:
            raise ValueError(f"rate is {rate}: it must be in [0, 1)")
        super().__init__(**{"dtype": "int32", **kwargs})
        self.rate = rate
        self.unknown_id = unknown_id
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)

    def call(self, ids, training=False):
        ids = ops.cast(ids, "int32")
        if not training or not self.rate:
            return ids
        dropped = keras.random.uniform(ops.shape(ids), dtype="float32", seed=self.seed_generator) < self.rate
        return ops.where(ops.logical_and(dropped, ids != 0), self.unknown_id, ids)

    def compute_output_spec(self, ids, training=False):
        return keras.KerasTensor(ids.shape, dtype="int32")

    def get_config(self):
        return {**super().get_config(), "rate": self.rate, "unknown_id": self.unknown_id, "seed": self.seed}


@keras.saving.register_keras_serializable(package="unroll")
class RandomSpan(keras.layers.Layer):
    """Cuts some texts to a random span of their tokens, in training only; the other tokens become padding.

    The length of the span is log-uniform between the minimum length s and the length L of the text:

        length = round(s (L / s)^u),    start = floor(v (L - length + 1)),    u, v ~ U(0, 1)

    A text of at most s tokens does not change. A model that is trained on spans also works on texts that are much
    shorter than the training texts, such as single sentences.

    Args:
        rate: probability that a text is cut, in [0, 1].
        min_length: s, at least 1.
        seed: seed of the random numbers.

    Shapes:
        ids: int [batch, time], 0 for padding, which is at the end -> int32 [batch, time], 0 outside of the span.

    Example:
        >>> RandomSpan(0.5, min_length=2)(np.array([[5, 6, 7, 0]]))  # no change outside of training
        [[5, 6, 7, 0]]

    Raises:
        ValueError: if rate is outside [0, 1] or min_length is below 1.
    """

    def __init__(self, rate: float, min_length: int, seed: int | None = None, **kwargs):
        if not 0 <= rate <= 1:
            raise ValueError(f"rate is {rate}: it must be in [0, 1]")
        if min_length < 1:
            raise ValueError(f"min_length is {min_length}: it must be at least 1")
        super().__init__(**{"dtype": "int32", **kwargs})
        self.rate = rate
        self.min_length = min_length
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)

    def call(self, ids, training=False):
        ids = ops.cast(ids, "int32")
        if not training or not self.rate:
            return ids
        samples = keras.random.uniform((3, ops.shape(ids)[0], 1), dtype="float32", seed=self.seed_generator)
        cut, u, v = ops.unstack(samples)  # each [batch, 1]
        text_length = ops.sum(ops.cast(ids != 0, "float32"), axis=1, keepdims=True)  # [batch, 1]
        min_length = ops.cast(self.min_length, "float32")
        length = ops.round(min_length * ops.maximum(text_length / min_length, 1.0) ** u)
        start = ops.floor(v * ops.maximum(text_length - length + 1, 1.0))
        position = ops.cast(ops.arange(ops.shape(ids)[1]), "float32")  # [time]
        inside = ops.logical_and(position >= start, position < start + length)  # [batch, time]
        return ops.where(ops.logical_or(inside, cut >= self.rate), ids, 0)

    def compute_output_spec(self, ids, training=False):
        return keras.KerasTensor(ids.shape, dtype="int32")

    def get_config(self):
        return {**super().get_config(), "rate": self.rate, "min_length": self.min_length, "seed": self.seed}
