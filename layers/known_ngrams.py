"""What layers over the known n-grams of a text share: the hashes of its n-grams, and which of them are known."""

import keras
import numpy as np
from keras import ops

NO_HASH = 2**31 - 1  # larger than every hash
_SPACE = ord(" ")
_IDS_PER_FIELD, _MAX_FIELDS = 2**22, 2**9


class KnownNGrams(keras.layers.Layer):
    """The known n-grams of texts; `NGramLogits` describes them.

    Args:
        num_ngrams: maximum number of known n-grams.
        max_n: maximum tokens per n-gram.
        max_characters: maximum characters per n-gram of characters; 0 uses none.
        sizes: the layer's own arguments, each at least 1.
        marks: token id and code point that divide the fields of a text: the same n-gram in two fields is then two
            n-grams. None: a text has one field.
    """

    def __init__(
        self,
        num_ngrams: int,
        max_n: int,
        max_characters: int,
        sizes: dict[str, int],
        marks: tuple[int, int] | None = None,
        **kwargs,
    ):
        sizes = {**sizes, "num_ngrams": num_ngrams, "max_n": max_n}
        if min(sizes.values()) < 1:
            given = ", ".join(f"{name} is {size}" for name, size in sizes.items())
            raise ValueError(f"{given}: each must be at least 1")
        if max_characters < 0 or max_characters == 1:
            raise ValueError(f"max_characters is {max_characters}: it must be 0 or at least 2")
        super().__init__(**kwargs)
        self._sizes = {**sizes, "max_characters": max_characters}
        for name, size in self._sizes.items():
            setattr(self, name, size)
        self.marks = None if marks is None else tuple(marks)

    def build(self, ids_shape, characters_shape=None):
        # In ascending order. Unused entries are at the end and hold a hash that no n-gram has.
        self.hashes = self.add_weight((self.num_ngrams,), no_hash, dtype="int32", trainable=False, name="hashes")

    def hash_ngrams(self, ids, characters=None):
        """Returns int32 [batch, n-grams]: the hash of each n-gram, -1 where there is none."""
        if self.marks is not None:
            ids = in_fields(ids, self.marks[0])
        hashes = _polynomial_hashes(ids, range(1, self.max_n + 1), is_odd=0)
        if self.max_characters:
            lengths = range(2, self.max_characters + 1)
            if self.marks is not None:
                characters = in_fields(characters, self.marks[1], separator=_SPACE)
            hashes += _polynomial_hashes(characters, lengths, is_odd=1, separator=_SPACE)
        return ops.concatenate(hashes, axis=1)

    def find(self, ids, characters):
        """Finds the known n-grams of each text.

        Returns:
            (row in the batch, index in `hashes`, how often the text has it) of each n-gram that is known, int32
            [known].
        """
        hashes = ops.sort(self.hash_ngrams(ids, characters), axis=-1)
        # Equal hashes of a text stand side by side. No hash is -2, so the first place of a row starts new ones.
        is_first = ops.pad(hashes[:, :-1], ((0, 0), (1, 0)), constant_values=-2) != hashes
        (start,) = ops.nonzero(ops.reshape(is_first, (-1,)))  # [different n-grams of a text]
        start, flat = ops.cast(start, "int32"), ops.reshape(hashes, (-1,))
        count = ops.append(start[1:], ops.shape(flat)[0]) - start
        found = ops.take(flat, start)
        known, index = find_known(self.hashes, found)
        row = ops.take(start, known) // ops.cast(ops.shape(hashes)[1], "int32")
        return row, index, ops.take(count, known)

    def assign(self, hashes, values: dict) -> None:
        """Assigns the hashes, and the values of each n-gram, in the order of the hashes and padded.

        Args:
            hashes: int32 [k].
            values: name of a weight -> [k, ...].

        Raises:
            ValueError: there are more than num_ngrams hashes.
        """
        if len(hashes) > self.num_ngrams:
            raise ValueError(f"{len(hashes)} n-grams were given, but num_ngrams is {self.num_ngrams}")
        order = np.argsort(hashes)
        num_unused = self.num_ngrams - len(hashes)
        self.hashes.assign(np.pad(hashes[order], (0, num_unused), constant_values=NO_HASH))
        for name, of_ngrams in values.items():
            padding = ((0, num_unused), *[(0, 0)] * (of_ngrams.ndim - 1))
            getattr(self, name).assign(np.pad(of_ngrams[order], padding))

    def get_config(self):
        return {**super().get_config(), **self._sizes, "marks": self.marks}


def in_fields(ids, mark: int, separator: int = 0):
    """Returns ids that are others in each field of a text: id + f 2^22, where f marks stand before it.

    Args:
        ids: int [batch, time], below 2^22; 0 for padding.
        mark: the id that divides fields; less than 512 in a text.
        separator: an id that is the same in all fields.
    """
    ids = ops.cast(ids, "int32")
    field = ops.cumsum(ops.cast(ids == mark, "int32"), axis=1)  # [batch, time]
    is_same = ops.logical_or(ids == 0, ids == separator)
    return ops.where(is_same, ids, ids + ops.mod(field, _MAX_FIELDS) * _IDS_PER_FIELD)


def find_known(hashes, found):
    """Returns which of the `found` hashes are known, int32 [known], and the places of these among the `hashes`.

    Args:
        hashes: the known ones, int32 [k], ascending.
        found: int32 [n].
    """
    index = ops.minimum(ops.searchsorted(hashes, found), hashes.shape[0] - 1)
    (known,) = ops.nonzero(ops.take(hashes, index) == found)
    known = ops.cast(known, "int32")
    return known, ops.take(index, known)


def _polynomial_hashes(ids, lengths, is_odd: int, separator: int | None = None) -> list:
    """Returns, for each length n, int32 [batch, time]: the hash of the n-gram that starts there, -1 if there is none.

    Args:
        ids: int [batch, time], 0 for padding.
        lengths: lengths of the n-grams.
        is_odd: 1 for odd hashes, 0 for even ones.
        separator: id that may only be the first or the last one of an n-gram.
    """
    ids = ops.cast(ids, "int32")
    following = [ops.pad(ids, ((0, 0), (0, k)))[:, k:] for k in range(max(lengths))]  # with padding after the end
    hashes = []
    for n in lengths:
        # Two polynomial hashes, one below 65521 and one below 16381, and the last bit form one number below 2**31. No
        # product exceeds 2**31.
        low, high = ops.full_like(ids, n), ops.full_like(ids, n)
        present = following[n - 1] != 0
        for k, token in enumerate(following[:n]):
            low = ops.mod(low * 31337 + ops.mod(token, 65521), 65521)
            high = ops.mod(high * 51787 + ops.mod(token, 16381), 16381)
            if separator is not None and 0 < k < n - 1:
                present = ops.logical_and(present, token != separator)
        hashes.append(ops.where(present, (high * 65521 + low) * 2 + is_odd, -1))
    return hashes


def no_hash(shape, dtype):
    """The initializer of known hashes: none is known."""
    return ops.full(shape, NO_HASH, dtype)
