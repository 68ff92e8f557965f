import collections

import numpy as np
import pandas as pd
import pytest

from pipelines.data import folders, labelled_texts, labels, tables, text_chunks
from pipelines.data.labelled_texts import LabelledTexts
from pipelines.data.table_options import DEFAULTS, TableOptions
from pipelines.predicting.file_steps import table_steps
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


def joined(chunks):
    """Returns (texts, labels, groups, dropped) of all chunks."""
    chunks = list(chunks)
    dropped = collections.Counter()
    for chunk in chunks:
        dropped.update(chunk.dropped)
    columns = ([each for chunk in chunks for each in getattr(chunk, name)] for name in ("texts", "labels", "groups"))
    return *columns, dict(dropped)


def test_the_chunks_of_tables_are_what_is_read_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "_CHUNK_ROWS", 7)
    for name, first in (("a.csv", 0), ("b.csv", 20)):
        rows = "".join(f"text {first + i},{i % 2},film {i % 3}\n" for i in range(20))
        (tmp_path / name).write_text(f"text,label,url\n{rows},1,x\nno label,,x\ntoo,many,cells,here\n")
    data = (str(tmp_path / "a.csv"), str(tmp_path / "b.csv"))
    expected = labelled_texts.read(data)["train"]
    chunks = list(labelled_texts.read_chunks(data, "train"))
    assert len(chunks) == 8
    columns = expected.texts.tolist(), expected.labels.tolist(), expected.groups.tolist()
    assert joined(chunks) == (*columns, expected.dropped)
    assert expected.dropped == {"too many cells in the row": 2, "empty text": 2, "no label": 2}
    assert list(labelled_texts.read_chunks(data, "test")) == []


@pytest.mark.parametrize("split", ["train", "test"])
def test_the_chunks_of_a_folder_are_what_is_read_at_once(tmp_path, monkeypatch, split):
    monkeypatch.setattr(folders, "_CHUNK_TEXTS", 4)
    for part in ("train", "test"):
        for label in ("neg", "pos"):
            (tmp_path / part / label).mkdir(parents=True)
            (tmp_path / part / f"urls_{label}.txt").write_text("film a\nfilm b\n" * 5)
            for i in range(6):
                (tmp_path / part / label / f"{i}_5.txt").write_text(f"{part} {label} {i}")
            (tmp_path / part / label / "9_5.txt").write_bytes(b"\xff\xff")
    expected = labelled_texts.read(str(tmp_path))[split]
    chunks = list(labelled_texts.read_chunks(str(tmp_path), split))
    assert len(chunks) == 4
    columns = expected.texts.tolist(), expected.labels.tolist(), expected.groups.tolist()
    assert joined(chunks) == (*columns, expected.dropped)
    assert expected.dropped == {"not UTF-8": 2}


@pytest.mark.parametrize("rows_per_chunk", [1, 3, 1000])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl"])
def test_rows_that_cannot_be_read_are_counted_alike_however_they_are_read(tmp_path, monkeypatch, name, rows_per_chunk):
    monkeypatch.setattr(tables, "_CHUNK_ROWS", rows_per_chunk)
    monkeypatch.setattr(text_chunks, "CHUNK_ROWS", rows_per_chunk)
    if name == "a.jsonl":
        lines = ['{"text": "one", "label": "x"}', "no object", '{"text": "two", "label": "y"}', "7"]
        dropped, predicted = {"the line is no JSON object": 2}, ["one", "two"]
    else:
        lines = ["text,label", "a,b,c", '"open,x', "one,x", "short", "two,y", "a,b,c", '"open,y']
        dropped = {"too many cells in the row": 2, "too few cells in the row": 1}
        dropped |= {"a quote opens a cell and is not closed": 2} if name == "a.csv" else {}
        predicted = ["one", "short", "two"] if name == "a.csv" else ['"open', "one", "short", "two", '"open']
    (tmp_path / name).write_text("\n".join(lines).replace(",", "\t" if name == "a.tsv" else ","))
    data = str(tmp_path / name)
    expected = labelled_texts.read(data)["train"]
    assert expected.dropped == dropped and expected.texts.tolist() == [each for each in predicted if each != "short"]
    chunks = list(labelled_texts.read_chunks(data, "train"))
    assert [text for chunk in chunks for text in chunk.texts] == expected.texts.tolist()
    assert sum((collections.Counter(chunk.dropped) for chunk in chunks), collections.Counter()) == dropped
    without_label = list(tables.read_texts([tmp_path / name], DEFAULTS))
    assert [text for found, _, _ in without_label for text in found] == predicted  # the label is not needed
    # `predict` writes all columns again: a row without its last cells has empty ones there.
    on_ray = table_steps(DEFAULTS, ".csv", 5, None, None).read(data, None)
    for chunks in (list(text_chunks.read(data, DEFAULTS)), list(on_ray)):
        assert [text for chunk in chunks for text in chunk.rows["text"]] == predicted
        assert sum(chunk.num_skipped for chunk in chunks) == sum(dropped.values()) - ("short" in predicted)
