import numpy as np
import pandas as pd
import pytest

from pipelines.data import labelled_texts, labels
from pipelines.data.labelled_texts import LabelledTexts
from pipelines.data.table_options import TableOptions
from pipelines.support.errors import UserError


def test_without_data_it_is_the_sample_with_films_as_groups():
    parts = labelled_texts.read(None)
    assert set(parts) == {"train"} and len(parts["train"].groups) == len(parts["train"]) > 1000


def test_the_fresh_sample_has_no_text_of_the_sample():
    assert not set(labelled_texts.fresh_sample().texts) & set(labelled_texts.read(None)["train"].texts)


def test_rows_are_taken_with_their_groups():
    columns = (np.array(list(letters), dtype=object) for letters in ("abc", "xyz", "fgh"))
    taken = LabelledTexts(*columns, {}).take(np.array([True, False, True]))
    assert (taken.texts.tolist(), taken.labels.tolist(), taken.groups.tolist()) == (["a", "c"], ["x", "z"], ["f", "h"])


def test_a_missing_file_is_an_error_that_names_the_corpora():
    with pytest.raises(UserError, match="no such file or folder: nowhere.csv .*imdb"):
        labelled_texts.read("nowhere.csv")


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("a.csv", ("0", "1")),
        ("a.csv", ("1.0", "2.0")),
        ("a.csv", ("TRUE", "FALSE")),
        ("a.csv", ("001", "1e3")),
        ("a.tsv", ("0", "1")),
        ("a.jsonl", ("0", "1")),
        ("a.jsonl", ("1.0", "2.5")),
        ("a.jsonl", ("true", "false")),
    ],
)
def test_without_polarity_labels_are_those_of_the_file(tmp_path, name, cells):
    separator = "\t" if name.endswith("tsv") else ","
    if name.endswith("jsonl"):
        lines = [f'{{"text": "text {i}", "label": {cell}}}' for i, cell in enumerate(cells)]
    else:
        lines = [f"text{separator}label", *(f"text {i}{separator}{cell}" for i, cell in enumerate(cells))]
    (tmp_path / name).write_text("\n".join(lines) + "\n")
    found = labelled_texts.read(str(tmp_path / name))["train"].labels
    assert found.tolist() == list(cells)
    assert set(labels.classes_of(found, name, polarity=False)) == set(cells)


@pytest.mark.parametrize("kind", ["parquet", "xlsx"])
def test_numbers_of_parquet_and_excel_are_labels_without_a_fraction(tmp_path, kind):
    frame = pd.DataFrame({"text": ["a", "b"], "label": [0, 1], "stars": [1.0, 2.5]})
    path = tmp_path / f"a.{kind}"
    frame.to_parquet(path) if kind == "parquet" else frame.to_excel(path, index=False)
    assert labelled_texts.read(str(path))["train"].labels.tolist() == ["0", "1"]
    options = TableOptions(label_column="stars")
    assert labelled_texts.read(str(path), options)["train"].labels.tolist() == ["1", "2.5"]


def test_several_labels_come_from_one_column_or_from_columns_of_0_and_1(tmp_path):
    (tmp_path / "a.csv").write_text(
        "text,labels,news,sport\none,news|sport,1,1\ntwo,,0,0\n,news,1,0\nthree,sport,0,1\n"
    )
    expected = [("news", "sport"), (), ("sport",)]
    for options in (TableOptions(labels_separator="|"), TableOptions(label_columns=("news", "sport"))):
        found = labelled_texts.read(str(tmp_path / "a.csv"), options)["train"]
        assert (found.labels.tolist(), found.dropped) == (expected, {"empty text": 1})
    with pytest.raises(UserError, match="has no column 'sprot' .--label-columns.; its columns are: text, labels, news"):
        labelled_texts.read(str(tmp_path / "a.csv"), TableOptions(label_columns=("news", "sprot")))


def test_a_folder_has_no_sets_of_labels(tmp_path):
    with pytest.raises(UserError, match="each text has one label.*--labels-separator or --label-columns"):
        labelled_texts.read(str(tmp_path), TableOptions(labels_separator="|"))
