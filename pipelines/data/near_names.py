"""Rare names, such as labels or tags, that are probably misspellings of frequent ones."""

import re
from collections.abc import Mapping
from typing import NamedTuple

_SIGNS = re.compile(r"[\s_\-./]+")
_MIN_RATIO_OF_SPELLING = 10  # frequent over rare, of names that differ in case or signs between words
_MIN_RATIO_OF_EDIT = 50  # of names that differ in a letter: "ham" and "spam" are no misspelling


class Misspelled(NamedTuple):
    """A rare name, and the frequent one that is probably meant."""

    rare: str
    frequent: str


def find(counts: Mapping[str, int], min_letters: int) -> list[Misspelled]:
    """Returns the rare names that differ from a frequent one in case, in the signs between words, or in one letter.

    Args:
        counts: name -> how often it occurs.
        min_letters: of both names, if they differ in a letter.
    """
    by_count = sorted(counts, key=lambda name: (-counts[name], name))
    found = []
    for rare in reversed(by_count):
        for frequent in by_count:
            ratio = counts[frequent] / counts[rare]
            if ratio < _MIN_RATIO_OF_SPELLING:
                break
            if _plain(rare) == _plain(frequent) or (
                ratio >= _MIN_RATIO_OF_EDIT
                and min(len(rare), len(frequent)) >= min_letters
                and is_one_edit(rare.casefold(), frequent.casefold())
            ):
                found.append(Misspelled(rare, frequent))
                break
    return found


def is_one_edit(a: str, b: str) -> bool:
    """Whether one letter that is added, left out, replaced or exchanged with its neighbour makes `b` of `a`."""
    start = next((i for i, pair in enumerate(zip(a, b)) if pair[0] != pair[1]), min(len(a), len(b)))
    rest_a, rest_b = a[start:], b[start:]
    if len(a) != len(b):
        longer, shorter = (rest_a, rest_b) if len(a) > len(b) else (rest_b, rest_a)
        return longer[:1].isalpha() and longer[1:] == shorter
    if rest_a[1:] == rest_b[1:]:
        return rest_a[:1].isalpha() and rest_b[:1].isalpha()
    return rest_a[:2].isalpha() and rest_a[:2] == rest_b[1::-1] and rest_a[2:] == rest_b[2:]


def _plain(name: str) -> str:
    return _SIGNS.sub("", name).casefold()
