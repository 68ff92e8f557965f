import shlex

import pytest

from pipelines.support.examples import example_row, example_text, excerpt, start_to_try, starting_lines, text_to_try

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


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["short", "word " * 100, "a text of some words", "another one of these"], "a text of some words"),
        (["word " * 100, "short"], ("word " * 100)[:300]),
        (["<b>two</b>\nlines of \u202etext"], "<b>two</b>\nlines of \u202etext"),
        (["a half \ud800 of a pair"], "a half ? of a pair"),
        ([HAN * 500], HAN * 300),
        ([], ""),
        ([""], ""),
    ],
)
def test_the_example_of_a_card(texts, expected):
    assert example_text(iter(texts)) == expected


def test_the_example_is_one_of_the_first_texts():
    texts = iter(["x"] * 1500 + ["a text of some words"])
    assert example_text(texts) == "x" and len(list(texts)) == 501


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([{"a": "x" * 301, "b": 1.0}, {"a": "short", "b": 2.0}], {"a": "short", "b": 2.0}),
        ([{"a": "x" * 301, "b": "half \ud800"}], {"a": "x" * 300, "b": "half ?"}),
        ([], {}),
    ],
)
def test_the_example_row_of_a_card(rows, expected):
    assert example_row(iter(rows)) == expected


def test_the_first_line_comes_last():
    assert starting_lines("the end\nA line.\nAnother") == ["A line.", "Another", "the end"]
    assert starting_lines("") == []
