"""The spans, such as named entities, that tags in the scheme IOB2 describe."""

from collections.abc import Sequence
from typing import NamedTuple


class Span(NamedTuple):
    """The tokens from `start` up to, but not including, `end` of a sentence, and their label."""

    start: int
    end: int
    label: str


def spans_of(tags: Sequence[str]) -> list[Span]:
    """Returns the spans of a sentence: a tag B-x starts a span of the label x, and each I-x after it continues it.

    An I-x that continues no span of the label x starts none, as in strict scoring: it counts as O.

    Args:
        tags: of the sentence's tokens: O, B-x or I-x.
    """
    spans, start, label = [], None, ""
    for i, tag in enumerate([*tags, "O"]):
        if start is not None and tag != f"I-{label}":
            spans.append(Span(start, i, label))
            start = None
        if tag.startswith("B-"):
            start, label = i, tag[2:]
    return spans
