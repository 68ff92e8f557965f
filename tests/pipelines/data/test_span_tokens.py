import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.data import span_tokens
from pipelines.data.dropped import Dropped
from pipelines.data.span_tokens import OUTSIDE, OVERLAPPING, WITHIN_WORDS, WITHOUT_TOKENS, Span
from pipelines.tagging.spans import spans_of
from pipelines.text.words import WordSplitter


def expected_positions(texts):
    import tensorflow as tf

    words = WordSplitter("unicode", 100_000)(tf.constant(texts, tf.string))
    return [list(zip(*row, strict=True)) for row in zip(words.start.to_list(), words.end.to_list(), strict=True)]


def test_the_tokens_are_those_of_the_exported_model_for_every_character():
    codes = [code for code in range(0x20000) if unicodedata.category(chr(code)) not in ("Cn", "Cs", "Co")]
    texts = [f"b{chr(code)}a{chr(code)}{chr(code)}" for code in codes]
    differing = [
        text
        for text, positions in zip(texts, expected_positions(texts), strict=True)
        if span_tokens.positions(text) != positions
    ]
    assert not differing


@pytest.mark.parametrize(
    "text",
    [
        "It's Jim O’Neil's 2nd re-try, e.g. at 3.5 %!",
        "東京に行きます。ราคา 5 บาท",
        "می‌خواهم کتاب‌ها را",
        "हिन्दी में लिखा",
        "👨‍👩‍👧 and 👍🏽 in 🇩🇪🇫🇷🇺",
        "soft\u00adhyphen zero\u200bwidth \ufeffmark",
        "a" * 1203,
        "one\nline\r\nand\u2028another",
        "",
    ],
)
def test_the_tokens_are_those_of_the_exported_model(text):
    assert span_tokens.positions(text) == expected_positions([text])[0]


def tagged(text, *spans):
    dropped = Dropped()
    return span_tokens.sentences(text, [Span(*span) for span in spans], dropped), dropped


def test_spans_become_tags():
    (sentence,), dropped = tagged("Jim Bo went to New York.", (0, 6, "PER"), (15, 23, "LOC"))
    assert sentence.tokens == ["Jim", "Bo", "went", "to", "New", "York", "."]
    assert sentence.tags == ["B-PER", "I-PER", "O", "O", "B-LOC", "I-LOC", "O"]
    assert sentence.text == "Jim Bo went to New York." and dropped == {}


def test_a_text_is_divided_at_line_ends_that_are_in_no_span():
    sentences, _ = tagged(" Jim went.\n\nTo New\nYork \n", (15, 23, "LOC"))
    assert [each.text for each in sentences] == ["Jim went.", "To New\nYork"]
    assert [each.tags for each in sentences] == [["O", "O", "O"], ["O", "B-LOC", "I-LOC"]]


def test_spans_that_do_not_fit_are_counted():
    (sentence,), dropped = tagged(
        "Jim Bobson saw Ann Lee", (0, 7, "PER"), (4, 10, "PER"), (15, 22, "PER"), (19, 22, "X")
    )
    assert sentence.tags == ["B-PER", "I-PER", "O", "B-PER", "I-PER"]
    assert dropped == {WITHIN_WORDS: 1, OVERLAPPING: 2}
    (sentence,), dropped = tagged("Jim  saw", (3, 5, "X"), (5, 12, "X"), (-1, 3, "X"), (2, 2, "X"), (0, 3, "PER"))
    assert sentence.tags == ["B-PER", "O"] and dropped == {WITHOUT_TOKENS: 1, OUTSIDE: 3}


@given(st.data())
def test_spans_of_whole_words_come_back(data):
    words = data.draw(st.lists(st.text("abé東1", min_size=1, max_size=4), min_size=1, max_size=12))
    text = " ".join(words)
    positions = span_tokens.positions(text)
    edges = sorted(data.draw(st.sets(st.integers(0, len(positions)), max_size=8)))
    spans = [
        Span(positions[first][0], positions[last - 1][1], data.draw(st.sampled_from("AB")))
        for first, last in zip(edges[::2], edges[1::2], strict=False)
    ]
    (sentence,), dropped = tagged(text, *spans)
    found = [Span(positions[a][0], positions[b - 1][1], label) for a, b, label in spans_of(sentence.tags)]
    assert found == spans and dropped == {}
