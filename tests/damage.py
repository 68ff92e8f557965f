"""Damaged files."""

import random
from collections.abc import Iterator

_FLIPS, _CUTS = 200, 20


def damaged_copies(data: bytes, seed: int = 1) -> Iterator[bytes]:
    """Yields copies of `data` with one changed bit each, the same for the same seed, and then copies that end early."""
    choose = random.Random(seed)
    for bit in choose.sample(range(8 * len(data)), min(_FLIPS, 8 * len(data))):
        copy = bytearray(data)
        copy[bit // 8] ^= 1 << bit % 8
        yield bytes(copy)
    for size in choose.sample(range(len(data)), min(_CUTS, len(data))):
        yield data[:size]
