"""N-grams as ids: what lets a bag of embeddings see "not good" as one thing."""

import keras
from keras import ops

_MULTIPLIER = 1009  # a prime; times the largest bucket count it stays below 2**31


@keras.saving.register_keras_serializable(package="unroll")
class HashedNGrams(keras.layers.Layer):
    """Ids of `n` neighbouring tokens, hashed into buckets.

    For token ids w_1 ... w_T the n-gram that starts at t has the polynomial hash

        h_t = (w_t a^(n-1) + ... + w_(t+n-2) a + w_(t+n-1)) mod (num_buckets - 1),    id_t = h_t + 1

    with a = 1009. Where one of its tokens is padding (0), or t+n-1 > T, there is no n-gram and id_t = 0: padding of its own.
    The hashing trick for n-grams follows Joulin et al. 2017, "Bag of Tricks for Efficient Text Classification".

    Args:
        n: tokens per n-gram, at least 2.
        num_buckets: how many ids there are, padding included; from 2 to 2**21.

    Shapes:
        ids: int [batch, time], 0 for padding -> int32 [batch, time].

    Example:
        >>> HashedNGrams(n=2, num_buckets=100)(np.array([[5, 6, 0]]))  # one pair: (5 * 1009 + 6) mod 99 + 1
        [[3, 0, 0]]
    """

    def __init__(self, n: int, num_buckets: int, **kwargs):
        if n < 2:
            raise ValueError(f"n is {n}: an n-gram has at least 2 tokens")
        if not 2 <= num_buckets <= 2**21:
            raise ValueError(f"num_buckets is {num_buckets}: it must be from 2 to 2**21")
        super().__init__(**kwargs)
        self.n = n
        self.num_buckets = num_buckets

    def call(self, ids):
        ids = ops.cast(ids, "int32")
        modulus = self.num_buckets - 1
        hashed = ops.mod(ids, modulus)
        present = ids != 0
        for k in range(1, self.n):
            # The token k places on; beyond the end there is padding.
            following = ops.pad(ids, ((0, 0), (0, k)))[:, k:]
            hashed = ops.mod(hashed * _MULTIPLIER + ops.mod(following, modulus), modulus)
            present = ops.logical_and(present, following != 0)
        return ops.where(present, hashed + 1, 0)

    def compute_output_spec(self, ids):
        return keras.KerasTensor(ids.shape, dtype="int32")

    def get_config(self):
        return {**super().get_config(), "n": self.n, "num_buckets": self.num_buckets}
