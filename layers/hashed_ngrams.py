"""Hashed n-grams: with them, a model that ignores the word order can treat "not good" as one feature."""

import keras
from keras import ops

_MULTIPLIER = 1009  # a prime; its product with the largest number of buckets is below 2**31


@keras.saving.register_keras_serializable(package="unroll")
class HashedNGrams(keras.layers.Layer):
    """Ids of n-grams: `n` adjacent tokens, hashed into buckets.

    For token ids w_1 ... w_T the n-gram that starts at t has the polynomial hash

        h_t = (w_t a^(n-1) + ... + w_(t+n-2) a + w_(t+n-1)) mod (num_buckets - 1),    id_t = h_t + 1

    with a = 1009. If one of the tokens is padding (0), or if t+n-1 > T, there is no n-gram and id_t = 0, which is
    padding again.

    Source: the hashing trick for n-grams of Joulin et al. 2017, "Bag of Tricks for Efficient Text Classification".

    Args:
        n: tokens per n-gram, at least 2.
        num_buckets: number of ids, including padding; from 2 to 2**21.

    Shapes:
        ids: int [batch, time], 0 for padding -> int32 [batch, time].

    Example:
        >>> HashedNGrams(n=2, num_buckets=100)(np.array([[5, 6, 0]]))  # one pair: (5 * 1009 + 6) mod 99 + 1
        [[3, 0, 0]]

    Raises:
        ValueError: if n is below 2, or num_buckets is below 2 or above 2**21.
    """

    def __init__(self, n: int, num_buckets: int, **kwargs):
        if n < 2:
            raise ValueError(f"n is {n}: it must be at least 2")
        if not 2 <= num_buckets <= 2**21:
            raise ValueError(f"num_buckets is {num_buckets}: it must be from 2 to 2**21")
        super().__init__(**kwargs)
        self.n = n
        self.num_buckets = num_buckets

    def call(self, ids):
        ids = ops.cast(ids, "int32")  # [batch, time]
        modulus = self.num_buckets - 1
        hashed = ops.mod(ids, modulus)
        present = ids != 0
        for k in range(1, self.n):
            # The tokens k positions later, with padding after the end.
            following = ops.pad(ids, ((0, 0), (0, k)))[:, k:]
            hashed = ops.mod(hashed * _MULTIPLIER + ops.mod(following, modulus), modulus)
            present = ops.logical_and(present, following != 0)
        return ops.where(present, hashed + 1, 0)

    def compute_output_spec(self, ids):
        return keras.KerasTensor(ids.shape, dtype="int32")

    def get_config(self):
        return {**super().get_config(), "n": self.n, "num_buckets": self.num_buckets}
