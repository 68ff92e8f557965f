import shlex

import pytest

from pipelines.support.examples import excerpt, start_to_try, text_to_try

HAN = "\u6211"  # of a language without spaces


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["short", "word " * 50, "a text of a usual length", "another one of these"], '"a text of a usual length"'),
        (["word " * 50], f'"{("word " * 12).strip()}"'),
        (["it costs $5 `now` or never"], "'it costs $5 `now` or never'"),
        (['she said "no" to all', "x"], "'she said \"no\" to all'"),
        (["two\nlines of text here", "x"], '"two lines of text here"'),
        ([HAN * 200], f'"{80 * HAN}"'),
    ],
)
def test_the_text_to_try_is_one_argument_of_the_shell(texts, expected):
    got = text_to_try(texts)
    assert got == expected
    assert len(shlex.split(got)) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the end of a line\n\nThe next one starts here\n", '"The next one"'),
        ("a single line of five", '"a single line"'),
        ("two words\nand two", '"two words and"'),
        (HAN * 200, f'"{80 * HAN}"'),
    ],
)
def test_the_start_of_a_text_to_continue(text, expected):
    assert start_to_try(text) == expected


def test_a_long_text_is_cut_at_a_word():
    assert excerpt("the fog<br />was  thick", 30) == "the fog was thick"
    assert excerpt("the fog<br />was  thick", 14) == "the fog was ..."
