"""Which of two languages a sentence is in, learned from the pairs themselves: their words say it."""

import collections
import itertools
import math
from collections.abc import Iterable, Sequence

_MIN_EVIDENCE = 3.0  # of each side of an exchanged pair: its odds are e^3, 20 to 1


class Sides:
    """The words of both sides of pairs.

    The score of a sentence is the sum, over its words, of log((in targets + 1) / (in sources + 1)), each as often as
    in as many words: above 0 it is rather in the language of the targets. The words of the pair itself do not count.
    """

    def __init__(self, sources: Iterable[str], targets: Iterable[str]):
        self._counts = [
            collections.Counter(itertools.chain.from_iterable(map(_words, side))) for side in (sources, targets)
        ]
        totals = [max(counts.total(), 1) for counts in self._counts]
        self._scale = totals[0] / totals[1]

    def are_exchanged(self, source: str, target: str) -> bool:
        """Whether a source is in the language of the targets, and its target in that of the sources."""
        of_source, of_target = _words(source), _words(target)
        own = collections.Counter(of_source), collections.Counter(of_target)
        return self._score(of_source, own) > _MIN_EVIDENCE and self._score(of_target, own) < -_MIN_EVIDENCE

    def _score(self, words: Sequence[str], own: tuple[collections.Counter, collections.Counter]) -> float:
        sources, targets = self._counts
        return sum(
            math.log((self._scale * (targets[word] - own[1][word]) + 1) / (sources[word] - own[0][word] + 1))
            for word in words
        )


def _words(text: str) -> list[str]:
    return text.casefold().split()
