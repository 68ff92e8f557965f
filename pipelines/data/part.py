"""The rows of every batch that this process computes: all of them, or those of one of several workers."""

import contextlib
import dataclasses
from collections.abc import Iterator


@dataclasses.dataclass(frozen=True)
class Part:
    """Worker `index` of `count`. Every batch is divided among the workers; one worker has all rows."""

    index: int = 0
    count: int = 1

    def rows(self, size):
        """Returns the rows of a batch of `size` rows that belong to this worker, as a slice.

        The sizes of the parts differ by one row at most; a batch with fewer rows than workers has empty parts.

        Args:
            size: a number or an int tensor.
        """
        return slice(size * self.index // self.count, size * (self.index + 1) // self.count)

    def size(self, size: int) -> int:
        """Returns the number of these rows."""
        rows = self.rows(size)
        return rows.stop - rows.start


_parts = [Part()]


def current() -> Part:
    """Returns the part of this process."""
    return _parts[-1]


@contextlib.contextmanager
def computed(part: Part) -> Iterator[None]:
    """Makes `part` the current one for as long as the context lasts."""
    _parts.append(part)
    try:
        yield
    finally:
        _parts.pop()
