"""How much work a request is.

Work is counted in tokens that are generated. A signature that generates declares it: its input `max_length` has the
number of tokens for each row. Signatures without this input read their texts at once, which is faster: a token per
BYTES_PER_TOKEN bytes of the texts, padded to the longest one.
"""

import dataclasses

import numpy as np

LENGTH_INPUT = "max_length"
BYTES_PER_TOKEN = 32


@dataclasses.dataclass(frozen=True)
class Work:
    """The work of a request, or of a batch.

    Attributes:
        num_rows: number of rows.
        num_generated: tokens to generate, in all rows together.
        longest_text: bytes of the longest text.
    """

    num_rows: int
    num_generated: int
    longest_text: int

    def __add__(self, other: "Work") -> "Work":
        """The work of a batch of both."""
        return Work(
            self.num_rows + other.num_rows,
            self.num_generated + other.num_generated,
            max(self.longest_text, other.longest_text),
        )

    @property
    def num_tokens(self) -> int:
        """The work in tokens."""
        return max(self.num_generated, self.num_rows * self.longest_text // BYTES_PER_TOKEN)


def measure(inputs: dict[str, np.ndarray]) -> Work:
    """The work of a request with these inputs."""
    num_rows = max((len(array) for array in inputs.values() if array.ndim), default=1)
    texts = [array.reshape(-1) for array in inputs.values() if array.dtype == object]
    longest_text = max((max(map(len, array), default=0) for array in texts), default=0)
    num_generated = int(np.maximum(inputs[LENGTH_INPUT], 0).sum(dtype=np.int64)) if _has_lengths(inputs) else 0
    return Work(num_rows, num_generated, longest_text)


def with_max_length(inputs: dict[str, np.ndarray], max_length: int) -> dict[str, np.ndarray]:
    """The inputs, with at most `max_length` tokens to generate for each row."""
    if not _has_lengths(inputs):
        return inputs
    lengths = inputs[LENGTH_INPUT]
    return inputs | {LENGTH_INPUT: np.minimum(lengths.astype(np.int64), max_length).astype(lengths.dtype)}


def _has_lengths(inputs: dict[str, np.ndarray]) -> bool:
    return LENGTH_INPUT in inputs and np.issubdtype(inputs[LENGTH_INPUT].dtype, np.integer)
