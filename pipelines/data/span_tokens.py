"""Texts with spans of characters as tokens with tags in IOB2.

The tokens are those of `WordSplitter("unicode")`, without TensorFlow: runs of letters and digits, and each other
character; of scripts without spaces, each character.
"""

import bisect
import functools
import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from pipelines.data.dropped import Dropped
from pipelines.text.invisible import CHARACTERS

WITHIN_WORDS = "spans that start or end within a word, extended to the word"
OVERLAPPING = "spans that overlap a longer one, left out"
WITHOUT_TOKENS = "spans without a letter or sign, left out"
OUTSIDE = "spans outside of their text, left out"
CHANGES = (WITHIN_WORDS, OVERLAPPING, WITHOUT_TOKENS, OUTSIDE)
_MAX_CHARACTERS = 500  # of a word, as in words.py
_SPACES = {
    0x85,
    0xA0,
    0x1680,
    *range(0x2000, 0x200C),
    0x2028,
    0x2029,
    0x202F,
    0x205F,
    0x3000,
    0xFEFF,
    *range(9, 14),
    32,
}
# First words of the names of letters of scripts without spaces.
_NO_SPACES = ("CJK UNIFIED", "CJK COMPATIBILITY IDEOGRAPH", "IDEOGRAPHIC ITER", "VERTICAL IDEOGRAPHIC", "OLD CHINESE")
_NO_SPACES += ("HIRAGANA", "HENTAIGANA", "KATAKANA ", "HALFWIDTH KATAKANA L", "THAI ", "LAO ", "KHMER ", "MYANMAR ")
# Of the kinds of characters that `_kind` returns: L letter, N number, M mark, J zero width non-joiner, Z zero width
# joiner, K skin tone, Q apostrophe, F half of a flag, C letter of a script without spaces, O other.
_WORD = re.compile(r"[LN](?:L|QL|[MNJZ])*|FF|[^S][MK]*(?:Z[^S][MK]*)*")


class Span(NamedTuple):
    """The characters from `start` up to, but not including, `end` of a text, and their label."""

    start: int
    end: int
    label: str


class Sentence(NamedTuple):
    """A part of a text.

    Attributes:
        text: of the part.
        tokens, tags: in IOB2.
    """

    text: str
    tokens: list[str]
    tags: list[str]


def positions(text: str) -> list[tuple[int, int]]:
    """Returns start and end of each token of a text, counted in its characters."""
    kept = [i for i, character in enumerate(text) if character not in CHARACTERS]
    kinds = "".join(_kind(text[i]) for i in kept)
    found = []
    for chunk in re.finditer(r"[^S]+", kinds):
        for first in range(chunk.start(), chunk.end(), _MAX_CHARACTERS):
            part = kinds[first : min(first + _MAX_CHARACTERS, chunk.end())]
            matches = _WORD.finditer(part)
            found += [(kept[first + match.start()], kept[first + match.end() - 1] + 1) for match in matches]
    return found


@functools.cache
def _kind(character: str) -> str:
    """Returns a letter for the kind of a character; see `_WORD`."""
    code = ord(character)
    if code in _SPACES:
        return "S"
    if code in (0x200C, 0x200D):
        return "JZ"[code - 0x200C]
    if character in "'\u2019":
        return "Q"
    if 0x1F1E6 <= code <= 0x1F1FF:
        return "F"
    if 0x1F3FB <= code <= 0x1F3FF:
        return "K"
    category = unicodedata.category(character)
    if category[0] == "M":
        return "M"
    if category[0] == "L":
        return "C" if unicodedata.name(character, "").startswith(_NO_SPACES) else "L"
    return "N" if category[0] == "N" else "O"


def sentences(text: str, spans: Sequence[Span], dropped: Dropped) -> list[Sentence]:
    """Returns the tokens of a text with the tags of its spans, divided at line ends that are in no span.

    A span that starts or ends within a token is extended to the whole token. Of spans that have a token in common, the
    one with most characters stays; of equally long ones, the first.

    Args:
        spans: in any order.
        dropped: spans that are left out or changed are counted.
    """
    tokens = positions(text)
    tags = ["O"] * len(tokens)
    starts, ends = [start for start, _ in tokens], [end for _, end in tokens]
    for span in sorted(dict.fromkeys(spans), key=lambda each: (each.start - each.end, each.start)):
        if not 0 <= span.start < span.end <= len(text):
            dropped.count(OUTSIDE, f"{span.label} {span.start} to {span.end}")
            continue
        shown = f"{span.label} {text[span.start : span.end]!r}"
        first, last = bisect.bisect_right(ends, span.start), bisect.bisect_left(starts, span.end)
        if first >= last:
            dropped.count(WITHOUT_TOKENS, shown)
        elif any(tag != "O" for tag in tags[first:last]):
            dropped.count(OVERLAPPING, shown)
        else:
            if starts[first] < span.start or ends[last - 1] > span.end:
                dropped.count(WITHIN_WORDS, shown)
            tags[first:last] = [f"B-{span.label}"] + [f"I-{span.label}"] * (last - first - 1)
    return _divided(text, tokens, tags)


def _divided(text: str, tokens: list[tuple[int, int]], tags: list[str]) -> list[Sentence]:
    """Returns the lines of a text; a line end in a span does not divide it."""
    found, first = [], 0
    for i in range(1, len(tokens) + 1):
        is_end = i == len(tokens)
        if is_end or not tags[i].startswith("I-") and "\n" in text[tokens[i - 1][1] : tokens[i][0]]:
            part = tokens[first:i]
            begin, end = part[0][0], part[-1][1]
            found.append(Sentence(text[begin:end], [text[a:b] for a, b in part], tags[first:i]))
            first = i
    return found


def fitting(text: str, spans: Sequence[Span]) -> int:
    """Returns how many of the spans start and end where tokens of the text do."""
    tokens = positions(text)
    starts, ends = {start for start, _ in tokens}, {end for _, end in tokens}
    return sum(span.start in starts and span.end in ends for span in spans)
