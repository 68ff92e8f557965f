import pytest
import tensorflow as tf

from pipelines.text.words import KINDS, WordSplitter


def sentences(kind, text):
    """Returns the tokens of the text with a bar between sentences."""
    words = WordSplitter(kind, 1000)(tf.constant([text]))
    number, parts = 0, []
    for token, sentence in zip(words.tokens.to_list()[0], words.sentence.to_list()[0], strict=True):
        parts += ["|"] * (sentence - number) + [token.decode()]
        number = sentence
    return " ".join(parts)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Jim slept . Ann ate .", "Jim slept . | Ann ate ."),
        ("What ? No ! 5 of them .", "What ? | No ! | 5 of them ."),
        ("a title\n\nThe text\r\n\r\nmore", "a title | The text | more"),
        ("a title\n \t\nThe\u2029\u2029text", "a title | The | text"),
        ("one line\r\nof a text .\nand more", "one line of a text . | and more"),
        ("He went ... and came ... But", "He went ... and came ... | But"),
        ("He went\u2026 and came\u2026 But", None),
        ("\u4f60 \u3002 \u518d", "\u4f60 \u3002 | \u518d"),
        ("\u0643\u064a\u0641 \u061f \u062c\u064a\u062f", "\u0643\u064a\u0641 \u061f | \u062c\u064a\u062f"),
        ("so : 1 . One 2 . Two", "so : 1 . | One 2 . | Two"),
        ("\n\nOne .\n\n\n\n", "One ."),
    ],
)
def test_sentences(kind, text, expected):
    result = sentences(kind, text).replace(". . .", "...")
    if expected is None:
        assert result.count("|") == 1
    else:
        assert result == expected


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("english", 'He said: "I saw it." She laughed.', 'He said : " I saw it . " | She laughed .'),
        ("english", '"Why?" he asked. (So.) "No"', '" Why ? " he asked . | ( So . ) | " No "'),
        ("english", "it works. really! ok", "it works . | really ! | ok"),
        ("english", "soil.The end", "soil . | The end"),
        ("english", "Mr. Smith of the U.S. met J. Bach. Why?", "Mr. Smith of the U.S. met J. Bach . | Why ?"),
        ("english", "Great :) See you", "Great :) | See you"),
        ("english", "Lists: 1. One. 2. Two cost 5. Three.", "Lists : 1 . One . | 2 . Two cost 5 . | Three ."),
        ("unicode", "Lists: 1. One. 2. Two cost 5. Three.", "Lists : 1 . One . | 2 . Two cost 5 . | Three ."),
        ("unicode", "Mr. Smith met J. Bach. Why?", "Mr . Smith met J . Bach . | Why ?"),
        ("unicode", "\u4f60\u597d\u3002\u518d\u89c1\u3002", "\u4f60 \u597d \u3002 | \u518d \u89c1 \u3002"),
        ("unicode", "It was so. (Not!) Yes.", "It was so . | ( Not ! ) | Yes ."),
        ("unicode", "about 3.5 or approx. five", "about 3 . 5 or approx . five"),
        ("whitespace", "Lists: 1. One. 2. Two cost 5. Three.", "Lists: 1. One. | 2. Two cost 5. | Three."),
        ("whitespace", 'Mr. Bach. "Why?" he asked. (No.) So', 'Mr. Bach. | "Why?" he asked. | (No.) | So'),
    ],
)
def test_sentences_of_one_kind(kind, text, expected):
    assert sentences(kind, text) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_a_sentence_does_not_end_at_the_start_of_the_next_text(kind):
    words = WordSplitter(kind, 1000)(tf.constant(["It ended .", "", "\n\n) The next one .", "3", ". Then", "a"]))
    assert [row[:1] for row in words.sentence.to_list()] == [[0], [], [0], [0], [0], [0]]
    assert words.sentence.to_list()[2][-1] == 0
