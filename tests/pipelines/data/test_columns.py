from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.data import columns
from pipelines.data.token_options import TokenOptions
from pipelines.support.errors import UserError

PATH = Path("a.conll")


def read(text, column=None, token_column=None):
    """Returns the fields of all sentences, and what was left out."""
    lines, dropped = text.split("\n"), {}
    options = TokenOptions(column, token_column)
    found = columns.sentences(PATH, lambda: iter(lines), options, dropped)
    return *([list(field) for field in zip(*found, strict=True)]), dropped


CONLL_2003 = """-DOCSTART- -X- -X- O

EU NNP B-NP B-ORG
rejects VBZ B-VP O
German JJ B-NP B-MISC

Peter NNP B-NP B-PER
-DOCSTART- -X- O O
# # # O
BRUSSELS NNP B-NP B-LOC
"""


def test_the_first_column_is_the_token_and_the_last_one_the_tag():
    tokens, tags, texts, documents, dropped = read(CONLL_2003)
    assert tokens == [["EU", "rejects", "German"], ["Peter"], ["#", "BRUSSELS"]]
    assert tags == [["B-ORG", "O", "B-MISC"], ["B-PER"], ["O", "B-LOC"]]
    assert texts == ["EU rejects German", "Peter", "# BRUSSELS"]
    assert documents == [0, 0, 1] and dropped == {}


@pytest.mark.parametrize(("column", "tag"), [("2", "NNP"), ("3", "B-NP"), ("4", "B-ORG"), (None, "B-ORG")])
def test_another_column_is_chosen_by_its_number(column, tag):
    assert read(CONLL_2003, column)[1][0][0] == tag


CHARACTERS = "ab-_#.'|=/&1\u00e9\u0301\u6211\U0001f600"
TOKENS = st.text(CHARACTERS, min_size=1, max_size=5)
ROWS = st.tuples(TOKENS, st.sampled_from(["O", "B-PER", "NN", "#"]))
SENTENCES = st.lists(st.lists(ROWS, min_size=1, max_size=5), min_size=1, max_size=5)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    sentences=SENTENCES.filter(lambda rows: any(token != "#" for row in rows for token, _ in row)),
    layout=st.sampled_from(["{}\t{}", "{} {}", "{}   {} ", "{}\tx y\t{}", "{} x {}", "{}\t{}\t"]),
    blank=st.sampled_from(["", " ", "\t", "\n\n"]),
)
def test_any_sentences_are_read_as_they_were_written(sentences, layout, blank):
    lines = []
    for rows in sentences:
        lines += [layout.format(token, tag) for token, tag in rows] + [blank]
    tokens, tags, _, documents, dropped = read("\n".join(lines), token_column="1")
    assert tokens == [[token for token, _ in rows] for rows in sentences]
    assert tags == [[tag for _, tag in rows] for rows in sentences]
    assert (set(documents), dropped) == ({0}, {})


def test_tokens_may_have_spaces_if_tabs_divide_the_columns():
    assert read("New York\tB-LOC\n20 000\tO\n")[0] == [["New York", "20 000"]]


@pytest.mark.parametrize("separator", ["\t", " "])
def test_a_line_with_a_hash_is_a_comment_only_if_it_cannot_be_a_token(separator):
    text = "# id = 7\n# a comment of some words\n#\na|O\n#|O\n#tag|O\n# newdoc\nb|O\n# text = b\nc|O"
    tokens, tags, _, documents, _ = read(text.replace("|", separator))
    assert tokens == [["a", "#", "#tag"], ["b", "c"]] and tags == [["O"] * 3, ["O"] * 2]
    assert documents == [0, 1]


def test_a_comment_with_a_key_is_none_of_the_tokens_even_with_as_many_columns():
    assert read("# id = 7\na NN x O\n")[0] == [["a"]]


def test_tabs_in_comments_do_not_divide_columns():
    assert read("# id 7\tdomain=en\n\na _ _ O\nb _ _ B-X\n")[0] == [["a", "b"]]


def test_numbers_of_the_tokens_are_no_tokens():
    text = "#\tsource\n1\tSchartau\tB-PER\tO\n2\tsagte\tO\tO\n\n1\tEr\tO\tO\n"
    tokens, tags, _, _, _ = read(text, "3")
    assert tokens == [["Schartau", "sagte"], ["Er"]] and tags == [["B-PER", "O"], ["O"]]
    assert read("1 O\n2 O\n")[0] == [["1", "2"]]  # with two columns, they are the tokens
    assert read("1 CD O\n3 CD O\n", token_column="1")[0] == [["1", "3"]]
    with pytest.raises(UserError, match="--column 2: the tokens of a.conll are in column 2: give a number from 3 to 4"):
        read(text, "2")


@pytest.mark.parametrize("text", ["a\tO\n\tO\nb\tO\n", "a O\n O\nb O\n", "a\tO\n\u00a0\tO\nb\tO\n"])
def test_lines_without_a_token_are_left_out_and_counted(text):
    tokens, tags, _, _, dropped = read(text)
    assert (tokens, tags, dropped) == ([["a", "b"]], [["O", "O"]], {"lines without a token": 1})


def test_a_sentence_of_empty_tokens_is_left_out_with_its_document():
    text = "a\tO\n\n-DOCSTART-\tO\n\n\tO\n\n-DOCSTART-\tO\n\nb\tO\n"
    tokens, _, _, documents, dropped = read(text)
    assert (tokens, dropped) == ([["a"], ["b"]], {"lines without a token": 1})
    assert documents[0] < documents[1]


def test_a_sentence_may_be_long():
    assert len(read("word NN\n" * 5000)[0][0]) == 5000


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("a\tO\nb\n", None, r"^a.conll, line 2: only one column \('b'\): expected a token, a tab and its tag$"),
        ("a O\nb\n", None, r"line 2: only one column \('b'\): expected a token, a space and its tag"),
        ("a\nb\n", None, r"line 1: only one column \('a'\)"),
        (
            "a O\nNew York O\nb O",
            None,
            r"line 2: 3 columns \('New York O'\), but most lines have 2: give one token .* with tabs",
        ),
        ("a\tx\tO\na\tx\tO\nb\tO", None, "line 3: 2 columns .*, but most lines have 3: fix the line"),
        ("# a\n\n", None, "a.conll has no sentences: expected one token and its tag per line"),
        ("\tO\n", None, "a.conll has no sentences"),
        (CONLL_2003, "5", "--column 5: a.conll has 4 columns: give a number from 2 to 4"),
        (CONLL_2003, "0", "--column 0: a.conll has 4 columns: give a number from 2 to 4"),
        (CONLL_2003, "1", "--column 1: the tokens of a.conll are in column 1: give a number from 2 to 4"),
        ("a O\n", "3", "--column 3: a.conll has 2 columns: give 2"),
        ("a O\n", "upos", "--column upos: a.conll is not CoNLL-U, so its columns have numbers: give 2"),
        ("x" * 500 + "\n", None, r"only one column \('x{40}\.\.\.'\)"),
    ],
)
def test_text_that_cannot_be_read_is_an_error_that_names_the_line_and_the_remedy(text, column, message):
    with pytest.raises(UserError, match=message) as error:
        read(text, column)
    assert "\n" not in str(error.value)
