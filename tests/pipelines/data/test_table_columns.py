from pathlib import Path

import pandas as pd
import pytest

from pipelines.data import table_columns
from pipelines.data.table_options import TableOptions
from pipelines.support.errors import UserError

PATH = Path("a.csv")
ROWS = pd.DataFrame({"id": ["1", "2"], "Text": ["a b", "c d"], "sentence": ["e", "f"], "stars": ["5", "1"]})


def test_the_column_is_the_given_one_or_that_of_the_training_or_the_first_usual_name():
    assert table_columns.text_column(PATH, ROWS, TableOptions()) == "Text"
    assert table_columns.text_column(PATH, ROWS, TableOptions(trained_text_column="sentence")) == "sentence"
    assert table_columns.text_column(PATH, ROWS, TableOptions(text_column="sentence", trained_text_column="Text")) == (
        "sentence"
    )
    assert table_columns.label_column(PATH, ROWS, TableOptions(), "Text") == "stars"


def test_without_a_header_the_longest_cells_are_the_text():
    rows = pd.DataFrame({"1": ["x", "y"], "2": ["a longer text", "another text"]})
    options = TableOptions(header=False)
    assert table_columns.text_column(PATH, rows, options) == "2"
    assert table_columns.label_column(PATH, rows, options, "2") == "1"


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (ROWS, TableOptions(text_column="body"), "a.csv has no column 'body'; its columns are: id, Text"),
        (ROWS, TableOptions(text_column="text"), r"sentence, stars; did you mean Text\?"),
        (ROWS, TableOptions(text_column="stars"), "the column 'stars' has numbers, such as 5, and not text"),
        (pd.DataFrame({"a;b": ["1;2", "3;4"]}), TableOptions(), "if ';' is between its cells, give --separator ';'"),
        (pd.DataFrame({"what a long and very fine film": ["x"]}), TableOptions(), "its first line looks like a row"),
    ],
)
def test_a_column_that_cannot_be_the_text_is_refused(rows, options, message):
    with pytest.raises(UserError, match=message):
        table_columns.text_column(PATH, rows, options)


def test_the_label_is_another_column_than_the_text():
    with pytest.raises(UserError, match="the column 'Text' is the one with the text: name another one"):
        table_columns.label_column(PATH, ROWS, TableOptions(label_column="Text"), "Text")


@pytest.mark.parametrize(
    ("column", "spans"),
    [
        ("label", ["0|11|PERSON|14|22|PRODUCT", "", "3|5|PLACE 2"]),
        ("spans", ["{'start': 0, 'end': 11, 'label': 'PERSON'}|{'start': 14, 'end': 22, 'label': 'X'}", ""]),
        ("entities", ["{'label': 'X', 'start_offset': 0, 'end_offset': 3}"]),
    ],
)
def test_spans_are_no_labels_of_texts(column, spans):
    rows = pd.DataFrame({"text": ["a"] * len(spans), column: spans, "answer": "accept"})
    with pytest.raises(UserError, match=f"a.csv: the column '{column}' has labels of parts of the text"):
        table_columns.label_column(PATH, rows, TableOptions(), "text")
    assert table_columns.label_column(PATH, rows, TableOptions(label_column="answer"), "text") == "answer"


@pytest.mark.parametrize("labels", [["1|2|3", "4|5|6"], ["", ""], ["good|bad", "0|1|x"]])
def test_other_cells_are_labels(labels):
    rows = pd.DataFrame({"text": ["a", "b"], "label": labels})
    assert table_columns.label_column(PATH, rows, TableOptions(), "text") == "label"
