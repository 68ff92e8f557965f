from pathlib import Path

import pytest

from pipelines.data import marked_texts
from pipelines.data.marked_texts import MarkedText
from pipelines.data.span_tokens import OUTSIDE, WITHIN_WORDS, Span
from pipelines.support.errors import UserError

TEXT = "😀 Zoë sah Köln 🇩🇪 und Łódź gestern"
WORDS = ("Zoë", "Köln", "Łódź")
UNITS = {
    "characters": len,
    "units of UTF-16": lambda text: len(text.encode("utf-16-le")) // 2,
    "bytes of UTF-8": lambda text: len(text.encode()),
}


def marked(unit, shown=False, text=TEXT):
    size = UNITS[unit]
    spans = []
    for word in WORDS:
        start = size(text[: text.index(word)])
        spans.append(Span(start, start + size(word), "X"))
    return MarkedText(text, spans, list(WORDS) if shown else [None] * len(WORDS), "record 1")


def read(*texts):
    dropped = {}
    return list(marked_texts.sentences(Path("a.jsonl"), lambda counts: iter(texts), dropped)), dropped


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("shown", [False, True])
def test_the_unit_of_the_positions_is_found(unit, shown):
    assert marked_texts.find_unit([marked(unit, shown)]) == unit
    ((tokens, tags, text, document),), dropped = read(marked(unit, shown))
    assert [token for token, tag in zip(tokens, tags, strict=True) if tag == "B-X"] == list(WORDS)
    assert text == TEXT and document == 0
    assert dropped == ({} if unit == "characters" else {f"spans whose positions are counted in {unit}": 3})


def test_without_differing_texts_positions_are_characters():
    ascii_only = MarkedText("Zoe in Lodz", [Span(0, 3, "X")], [None], "record 1")
    assert marked_texts.find_unit([ascii_only]) == "characters" == marked_texts.find_unit([])


def test_each_text_is_a_document_and_empty_ones_are_counted():
    texts = [MarkedText(text, [], [], "") for text in ("One.\nTwo.", " \n", "Three.")]
    found, dropped = read(*texts)
    assert [(text, document) for _, _, text, document in found] == [("One.", 0), ("Two.", 0), ("Three.", 2)]
    assert dropped == {"empty texts": 1}


def test_positions_that_do_not_fit_are_refused():
    good = MarkedText("Jim saw Ann", [Span(0, 3, "X")] * 8, [None] * 8, "record 1")
    outside = MarkedText("Jim", [Span(0, 30, "X")], [None], "record 2")
    with pytest.raises(UserError, match=r"^a.jsonl: 1 of 1 spans are outside .* \(the first in record 2\): count pos"):
        read(outside)
    texts = [MarkedText(f"Jim {i}", [Span(0, 3, "X")], [None], "") for i in range(10)]
    assert read(*texts, outside)[1] == {OUTSIDE: 1}
    within = MarkedText("Jim saw Ann", [Span(0, 2, "X"), Span(5, 7, "X"), Span(8, 11, "X")], [None] * 3, "record 3")
    with pytest.raises(UserError, match="a.jsonl: 2 of 3 spans start or end within words .the first in record 3"):
        read(within)
    assert read(good, within)[1][WITHIN_WORDS] == 2
