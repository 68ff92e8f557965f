"""Texts with marked spans, as annotation tools write them, as sentences: positions are brought to characters.

Tools count positions in characters (Python, brat, doccano, Prodigy), in units of UTF-16 (JavaScript, Java), which
differ from the first emoji on, or in bytes of UTF-8.
"""

import bisect
import itertools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from pipelines.data import span_tokens
from pipelines.data.conllu import Fields
from pipelines.data.dropped import Dropped
from pipelines.data.span_tokens import OUTSIDE, WITHIN_WORDS, Span
from pipelines.support.errors import UserError
from pipelines.text.invisible import is_blank

_NUM_JUDGED = 2000  # texts of a file from which the unit is judged: those where the units differ
_EMPTY = "empty texts"


class MarkedText(NamedTuple):
    """A text and its spans.

    Attributes:
        spans: their positions are in the unit of the file.
        shown: what each span has according to the file; None where the file does not say.
        place: of the text, for error messages.
    """

    text: str
    spans: list[Span]
    shown: list[str | None]
    place: str


# The texts of a file, each time from the start; what is left out is counted in the argument: reason -> number.
Texts = Callable[[dict[str, int]], Iterator[MarkedText]]

_SIZES: dict[str, Callable[[str], int]] = {
    "characters": lambda character: 1,
    "units of UTF-16": lambda character: 1 + (character > "\uffff"),
    "bytes of UTF-8": lambda character: len(character.encode("utf-8", "replace")),
}


def sentences(path: Path, texts: Texts, dropped: dict[str, int]) -> Iterator[Fields]:
    """Yields the sentences of all texts; each text is a document.

    Args:
        path: for error messages.
        dropped: reason -> number of spans or texts; what is left out or changed is added.

    Raises:
        UserError: most spans start or end within words, or a tenth of them are outside of their texts.
    """
    unit = find_unit(texts({}))
    num_spans = 0
    here = Dropped()
    first_wrong = ""
    for document, marked in enumerate(texts(here)):
        if is_blank(marked.text):
            here[_EMPTY] = here.get(_EMPTY, 0) + 1
            continue
        spans = in_characters(marked, unit)
        num_spans += len(spans)
        wrong_before, here.place = _num_wrong(here), marked.place
        for sentence in span_tokens.sentences(marked.text, spans, here):
            yield sentence.tokens, sentence.tags, sentence.text, document
        if not first_wrong and _num_wrong(here) > wrong_before:
            first_wrong = marked.place
    _check(path, here, num_spans, first_wrong)
    if unit != "characters":
        here[f"spans whose positions are counted in {unit}"] = num_spans
    if isinstance(dropped, Dropped):
        dropped.add(here)
        return
    for reason, count in here.items():
        dropped[reason] = dropped.get(reason, 0) + count


def find_unit(texts: Iterable[MarkedText]) -> str:
    """Returns the unit of the positions: characters, unless more spans fit to the text in another one.

    A span fits if it has what the file shows of it, else if it starts and ends where words do.
    """
    differing = (each for each in texts if each.spans and not each.text.isascii())
    num_fitting = dict.fromkeys(_SIZES, 0)
    for marked in itertools.islice(differing, _NUM_JUDGED):
        for unit in num_fitting:
            spans = in_characters(marked, unit)
            known = [(span, shown) for span, shown in zip(spans, marked.shown, strict=True) if shown is not None]
            num_fitting[unit] += sum(marked.text[span.start : span.end] == shown for span, shown in known)
            if not known:
                num_fitting[unit] += span_tokens.fitting(marked.text, spans)
    return max(num_fitting, key=lambda unit: num_fitting[unit])  # the first one of equal ones


def in_characters(marked: MarkedText, unit: str) -> list[Span]:
    """Returns the spans with positions in characters. A position within a character becomes that before it."""
    if unit == "characters":
        return marked.spans
    # The position of each character in the unit, and that of the end.
    ends = list(itertools.accumulate(map(_SIZES[unit], marked.text), initial=0))

    def position(value: int) -> int:
        return bisect.bisect_right(ends, value) - 1 if value <= ends[-1] else len(ends) + value - ends[-1]

    return [Span(position(span.start), position(span.end), span.label) for span in marked.spans]


def _num_wrong(counts: dict[str, int]) -> int:
    return counts.get(OUTSIDE, 0) + counts.get(WITHIN_WORDS, 0)


def _check(path: Path, counts: dict[str, int], num_spans: int, place: str) -> None:
    """Raises a UserError if the positions are hardly those of the texts.

    Args:
        place: of the first text with a span that is outside of it, or within a word.
    """
    outside, within = counts.get(OUTSIDE, 0), counts.get(WITHIN_WORDS, 0)
    remedy = "count positions in characters from 0, up to the one after the last character"
    if 10 * outside > num_spans:
        raise UserError(
            f"{path}: {outside:,} of {num_spans:,} spans are outside of their texts (the first in {place}): {remedy}"
        )
    if 2 * within > num_spans:
        raise UserError(
            f"{path}: {within:,} of {num_spans:,} spans start or end within words (the first in {place}): {remedy}"
        )
