"""Counts of what readers leave out or change, with the first places of each reason."""

from collections.abc import Mapping

_MAX_EXAMPLES = 3


class Dropped(dict[str, int]):
    """Reason -> number.

    Attributes:
        place: where the reader is; it goes into the examples.
        examples: reason -> (place, what is there), the first ones.
    """

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.place = ""
        self.examples: dict[str, list[tuple[str, str]]] = {}

    def count(self, reason: str, what: str) -> None:
        """Counts something at the place."""
        self[reason] = self.get(reason, 0) + 1
        self._keep(reason, [(self.place, what)])

    def add(self, other: Mapping[str, int]) -> None:
        """Adds the counts, and the examples where there are any."""
        for reason, number in other.items():
            self[reason] = self.get(reason, 0) + number
        for reason, examples in getattr(other, "examples", {}).items():
            self._keep(reason, examples)

    def _keep(self, reason: str, examples: list[tuple[str, str]]) -> None:
        kept = self.examples.setdefault(reason, [])
        kept.extend(examples[: _MAX_EXAMPLES - len(kept)])
