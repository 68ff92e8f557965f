"""The columns with tokens and tags are found, or a file in which they are unclear is refused."""

from pathlib import Path

import pytest

from pipelines.data import columns
from pipelines.data.token_options import TokenOptions
from pipelines.support.errors import UserError

PATH = Path("a.tsv")
WORDS = (("Anna", "Berg", "sings", "."), ("Ben", "left", "."))
TAGS = (("B-PER", "I-PER", "O", "O"), ("B-PER", "O", "O"))


def lines(*first_cells):
    """Returns the text of two sentences; `first_cells` are the cells before the word, for each word of both."""
    cells = iter(zip(*first_cells, strict=True))
    sentences = (
        "\n".join("\t".join([*next(cells), word, tag]) for word, tag in zip(words, tags, strict=True))
        for words, tags in zip(WORDS, TAGS, strict=True)
    )
    return "\n\n".join(sentences) + "\n"


def read(text, column=None, token_column=None):
    """Returns the fields of all sentences, and what was left out."""
    lines, dropped = text.split("\n"), {}
    options = TokenOptions(column, token_column)
    found = columns.sentences(PATH, lambda: iter(lines), options, dropped)
    return *([list(field) for field in zip(*found, strict=True)]), dropped


def expect_words(found):
    assert (tuple(map(tuple, found[0])), tuple(map(tuple, found[1]))) == (WORDS, TAGS)


@pytest.mark.parametrize(
    "numbers",
    [
        "0 1 2 3 0 1 2",  # of the tokens of each sentence
        "1 2 3 4 1 2 3",
        "0 1 2 3 4 5 6",  # of all tokens
        "7 8 9 10 12 13 14",  # of all lines
    ],
)
def test_running_numbers_are_no_tokens(numbers):
    expect_words(read(lines(numbers.split())))


@pytest.mark.parametrize(
    ("first_cells", "what", "shown", "remedy"),
    [
        ([list("3141592")], "has numbers", "'3'", "such as --token-column 2 ('Anna')"),
        ([["1", "2-3", *"23123"]], "has numbers", "'1'", "such as --token-column 2 ('Anna')"),
        ([["doc-1"] * 7], "mostly repeats the line before", "'doc-1'", "such as --token-column 2 ('Anna')"),
        ([["s1"] * 4 + ["s2"] * 3], "mostly repeats the line before", "'s1'", "such as --token-column 2 ('Anna')"),
        ([["s1", *[""] * 3, "s2", *[""] * 2]], "is mostly empty", "'s1'", "such as --token-column 2 ('Anna')"),
        ([["doc-1"] * 7, list("0123012")], "mostly repeats", "'doc-1'", "such as --token-column 3 ('Anna')"),
    ],
)
def test_a_first_column_that_has_hardly_the_tokens_is_refused(first_cells, what, shown, remedy):
    with pytest.raises(UserError) as error:
        read(lines(*first_cells))
    message = str(error.value)
    assert message.startswith(f"a.tsv: the first column {what}")
    assert shown in message and remedy in message and "\n" not in message
    number = message.split("such as --token-column ")[1].split()[0]
    expect_words(read(lines(*first_cells), token_column=number))


def test_the_second_column_after_numbers_may_be_unclear_too():
    with pytest.raises(UserError, match="a.tsv: the second column mostly repeats the line before .* --token-column 3"):
        read(lines(list("0123012"), ["doc"] * 7))


def test_the_user_decides_what_the_tokens_are():
    text = lines(["doc-1"] * 7)
    assert read(text, token_column="1")[0] == [["doc-1"] * 4, ["doc-1"] * 3]
    assert read("O\ta\nB-X\tb\n", token_column="2")[:2] == ([["a", "b"]], [["O", "B-X"]])  # the other column
    assert read("O\ta\tx\nB-X\tb\ty\n", "1", "2")[:2] == ([["a", "b"]], [["O", "B-X"]])


@pytest.mark.parametrize("names", ["Sentence #\tWord\tTag", "id\ttoken\tner_tags"])
def test_a_line_with_the_names_of_the_columns_is_no_token(names):
    for text in (f"{names}\n{lines(['s1'] * 7)}", f"{names}\n\n{lines(['s1'] * 7)}"):
        found = read(text)
        expect_words(found)
        assert found[-1] == {"lines with the names of the columns": 1}
        expect_words(read(text, "3", names.split("\t")[1].upper()))


def test_columns_have_the_names_of_the_first_line():
    text = "a\tb\tc\nO\tAnna\tN\nX\tBerg\tN\n"
    assert read(text, "A", "b")[:2] == ([["Anna", "Berg"]], [["O", "X"]])
    assert read("word\tO\ntag\tX\n")[0] == [["word", "tag"]]  # tokens of a text about words


@pytest.mark.parametrize(
    ("column", "token_column", "message"),
    [
        (None, "4", "--token-column 4: a.tsv has 3 columns: give a number from 1 to 3"),
        (None, "0", "--token-column 0: a.tsv has 3 columns: give a number from 1 to 3"),
        (None, "words", "--token-column words: the first line of a.tsv has no such name: give a number from 1 to 3"),
        ("2", "2", "--column 2: the tokens of a.tsv are in column 2: give another one from 1 to 3"),
    ],
)
def test_wrong_columns_are_refused(column, token_column, message):
    with pytest.raises(UserError) as error:
        read(lines(["x", "y"] * 3 + ["x"]), column, token_column)
    assert str(error.value) == message
