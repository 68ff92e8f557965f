"""A linear classifier of each token of a sequence, over features of the token and of its neighbours."""

import keras
import numpy as np
from keras import ops

from layers.known_ngrams import NO_HASH, find_known, no_hash
from layers.sparse_rows import add_rows

Template = tuple[tuple[int, int], ...]  # the parts of a feature: (offset of the token, which of its values)


@keras.saving.register_keras_serializable(package="unroll")
class TokenFeatureLogits(keras.layers.Layer):
    """A linear classifier of tokens, the scores of a linear-chain conditional random field without its transitions.

    Each token has some values, such as its word and its last letters, as hashes. A template joins values of the token
    and of its neighbours to a feature: ((-1, 0), (0, 3)) is value 0 of the token before with value 3 of the token. F(t)
    are the known features of token t:

        logit_tk = sum_(f in F(t)) w_fk + b_k

    Beyond the ends of the sequence all values are 0, so the first and the last token have features that say so. A
    template that reads a value of the token itself gives no feature where that value is 0. Features are stored as
    hashes of 31 bits, and only the weights that are not zero: as a sparse matrix of compressed rows.

    Gradients train nothing in this layer: `set_features` sets what was computed elsewhere. Until then no feature is
    known and all logits are zero.

    Parameters, none of them trainable: 2 num_features + 2 num_weights + num_tags + 1.

    Args:
        num_tags: number of logits.
        num_features: maximum number of known features.
        num_weights: maximum number of weights w_fk that are not zero.
        templates: the templates.

    Shapes:
        hashes: int32 [batch, time, values], at least 0; 0 for a value that a token does not have and for padding ->
            float32 [batch, time, num_tags].

    Example:
        >>> layer = TokenFeatureLogits(num_tags=3, num_features=9, num_weights=20, templates=[[(0, 0)], [(-1, 0)]])
        >>> layer(np.array([[[5], [6], [0]]])).shape
        (1, 3, 3)

    Raises:
        ValueError: if num_tags, num_features, num_weights or the number of templates or of the parts of one is below 1.
    """

    def __init__(self, num_tags: int, num_features: int, num_weights: int, templates, **kwargs):
        self.num_tags, self.num_features, self.num_weights = num_tags, num_features, num_weights
        self.templates = tuple(tuple(tuple(part) for part in template) for template in templates)
        sizes = {"num_tags": num_tags, "num_features": num_features, "num_weights": num_weights}
        for name, size in (*sizes.items(), ("number of templates", len(self.templates))):
            if size < 1:
                raise ValueError(f"{name} is {size}: it must be at least 1")
        if not all(self.templates):
            raise ValueError("a template has no part: it must have at least one")
        super().__init__(**{"trainable": False, "dtype": "float32", **kwargs})

    def build(self, hashes_shape):
        whole, fixed = {"dtype": "int32", "trainable": False}, {"trainable": False}
        # In ascending order. Unused entries are at the end and hold a hash that no feature has.
        self.hashes = self.add_weight((self.num_features,), no_hash, **whole, name="hashes")
        # The weights of feature f are those from starts[f] to starts[f + 1].
        self.starts = self.add_weight((self.num_features + 1,), "zeros", **whole, name="starts")
        self.tags = self.add_weight((self.num_weights,), "zeros", **whole, name="tags")
        self.values = self.add_weight((self.num_weights,), "zeros", **fixed, name="values")
        self.bias = self.add_weight((self.num_tags,), "zeros", **fixed, name="bias")

    def set_features(self, hashes, weights, bias):
        """Sets the known features. The layer must be built.

        Args:
            hashes: int32 [k], ascending, from `hash_features`; k is at most num_features.
            weights: w, a matrix of SciPy in compressed rows [k, num_tags] with at most num_weights elements.
            bias: b, float [num_tags].

        Raises:
            ValueError: if there are more than num_features hashes or num_weights weights.
        """
        for name, given, limit in (
            ("features", len(hashes), self.num_features),
            ("weights", weights.nnz, self.num_weights),
        ):
            if given > limit:
                raise ValueError(f"{given} {name} were given, but num_{name} is {limit}")
        unused, unused_weights = self.num_features - len(hashes), self.num_weights - weights.nnz
        self.hashes.assign(np.pad(hashes, (0, unused), constant_values=NO_HASH))
        self.starts.assign(np.pad(weights.indptr, (0, unused), mode="edge"))
        self.tags.assign(np.pad(weights.indices, (0, unused_weights)))
        self.values.assign(np.pad(weights.data, (0, unused_weights)))
        self.bias.assign(bias)

    def hash_features(self, hashes):
        """Returns int32 [batch, time, templates]: the hash of each feature, -1 where there is none."""
        hashes = ops.cast(hashes, "int32")
        time = ops.shape(hashes)[1]
        furthest = max(abs(offset) for template in self.templates for offset, _ in template)
        padded = ops.pad(hashes, ((0, 0), (furthest, furthest), (0, 0)))
        features = []
        for number, template in enumerate(self.templates, 1):
            low, high = ops.full_like(hashes[:, :, 0], number), ops.full_like(hashes[:, :, 0], number)
            present = ops.ones_like(low, dtype="bool")
            for offset, which in template:
                value = padded[:, furthest + offset : furthest + offset + time, which]
                # Two polynomial hashes, as in `NGramLogits`: no product exceeds 2**31.
                low = ops.mod(low * 31337 + ops.mod(value, 65521), 65521)
                high = ops.mod(high * 51787 + ops.mod(value, 32749), 32749)
                if offset == 0:
                    present = ops.logical_and(present, value != 0)
            features.append(ops.where(present, high * 65521 + low, -1))
        return ops.stack(features, axis=-1)

    def call(self, hashes):
        features = ops.reshape(self.hash_features(hashes), (-1,))
        known, index = find_known(self.hashes, features)
        shape = ops.shape(hashes)
        token = known // len(self.templates)  # the number of each known feature's token, [known]
        ones = ops.ones_like(token, dtype=self.values.dtype)
        sparse = self.starts, self.tags, self.values
        logits = add_rows(*sparse, index, ones, token, shape[0] * shape[1], self.num_tags)
        return ops.reshape(logits + self.bias, (shape[0], shape[1], self.num_tags))

    def compute_output_spec(self, hashes):
        return keras.KerasTensor((*hashes.shape[:2], self.num_tags), dtype=self.compute_dtype)

    def get_config(self):
        return {
            **super().get_config(),
            "num_tags": self.num_tags,
            "num_features": self.num_features,
            "num_weights": self.num_weights,
            "templates": self.templates,
        }
