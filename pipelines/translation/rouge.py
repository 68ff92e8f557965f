"""ROUGE (Lin 2004, "ROUGE: A Package for Automatic Evaluation of Summaries"): n-grams and word order that two texts
share.

    F1 = 2 P R / (P + R)

ROUGE-n: P and R are the n-grams in common (each counted at most as often as in the other text) over those of the text
and of the reference. ROUGE-L: the length of the longest common subsequence of words over the number of words. Words are
lower-cased runs of letters, digits and underscores, without stemming. The scores are means over the pairs, 0 to 100.
"""

import collections
import re
from collections.abc import Sequence

_WORD = re.compile(r"\w+")


def rouge(texts: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """Returns "rouge1", "rouge2" and "rougeL", the means of F1 over the pairs.

    A pair without any n-grams on both sides counts as 100, with n-grams on one side alone as 0.
    """
    sums = collections.Counter()
    for text, reference in zip(texts, references, strict=True):
        words, expected = (_WORD.findall(each.lower()) for each in (text, reference))
        sums["rouge1"] += _overlap(words, expected, 1)
        sums["rouge2"] += _overlap(words, expected, 2)
        sums["rougeL"] += _f1(longest_common_subsequence(words, expected), len(words), len(expected))
    return {name: 100 * sums[name] / max(len(texts), 1) for name in ("rouge1", "rouge2", "rougeL")}


def longest_common_subsequence(one: Sequence, other: Sequence) -> int:
    """Returns the length of the longest sequence that both have in this order, with gaps."""
    lengths = [0] * (len(other) + 1)  # of `one` up to here and each start of `other`
    for item in one:
        diagonal = 0
        for j, candidate in enumerate(other, start=1):
            above = lengths[j]
            lengths[j] = diagonal + 1 if item == candidate else max(above, lengths[j - 1])
            diagonal = above
    return lengths[-1]


def _overlap(words: list[str], expected: list[str], n: int) -> float:
    one, other = (collections.Counter(zip(*(each[i:] for i in range(n)))) for each in (words, expected))
    return _f1((one & other).total(), one.total(), other.total())


def _f1(common: int, size: int, expected_size: int) -> float:
    return 2 * common / (size + expected_size) if size + expected_size else 1.0
