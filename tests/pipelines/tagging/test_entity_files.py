import csv
import json
from pathlib import Path

import pandas as pd
import pytest

from pipelines.data.table_options import TableOptions
from pipelines.predicting import engine
from pipelines.support.errors import UserError
from pipelines.tagging.entity_files import entity_steps, spacy_steps
from tests.pipelines.predicting.parts import parts_of

COLUMNS = ["text_number", "entity", "label", "score", "start", "end"]


def load(exported):
    """A model that finds words with a capital letter, and fails for a text with the word poison."""

    def find(texts):
        if any("poison" in text for text in texts):
            raise ValueError("a text is poison")
        return [{"entities": [entity(text, word) for word in text.split() if word.istitle()]} for text in texts]

    return find


def entity(text, word):
    start = text.index(word)
    return {"text": word, "label": "NAME", "start": start, "end": start + len(word), "score": 0.5}


def count(results):
    return {"tokens": len(results)}


def steps(suffix, column=None):
    return entity_steps(TableOptions(text_column=column), suffix, load, count, {"max_lines": 2})


def rows(path):
    return list(csv.DictReader(path.read_text().splitlines(), delimiter="\t" if path.suffix == ".tsv" else ","))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl"])
def test_each_entity_is_a_row_with_the_columns_of_its_text(folder, suffix):
    (folder / "in.csv").write_text('id,body,label\n7,"anna, \U0001f600 Bob",x\n8,none,y\n9,poison Eve,z\n10,Carl,w\n')
    target = folder / f"out{suffix}"
    counts = engine.predict_files(None, "in.csv", target, steps(suffix, "body"))
    assert counts == {"rows": 4, "skipped": 0, "poisoned": 1, "entities": 2, "tokens": 4}
    found = list(map(json.loads, target.read_text().splitlines())) if suffix == ".jsonl" else rows(target)
    assert list(found[0]) == ["id", "input_label", *COLUMNS]
    expected = [["7", "x", 1, "Bob", "NAME", 0.5, 8, 11], ["10", "w", 4, "Carl", "NAME", 0.5, 0, 4]]
    if suffix != ".jsonl":
        expected = [[f"{value:.6f}" if isinstance(value, float) else str(value) for value in row] for row in expected]
    assert [list(row.values()) for row in found] == expected


def test_a_table_has_the_separator_and_the_encoding_of_the_input(folder):
    (folder / "in.csv").write_bytes("id;body\n7;Bob è qui\n".encode("utf-8-sig"))
    engine.predict_files(None, "in.csv", folder / "out.csv", steps(".csv", "body"))
    assert (folder / "out.csv").read_text(encoding="utf-8-sig").startswith("id;text_number;")
    assert (folder / "out.csv").read_bytes().startswith(b"\xef\xbb\xbf")


@pytest.mark.parametrize(("suffix", "read"), [(".parquet", pd.read_parquet), (".xlsx", pd.read_excel)])
def test_typed_files_have_numbers(folder, suffix, read):
    (folder / "in.csv").write_text("id,body\n7,a Bob\n8,none\n")
    engine.predict_files(None, "in.csv", folder / f"out{suffix}", steps(suffix, "body"))
    (found,) = read(folder / f"out{suffix}").to_dict("records")
    assert str(found["id"]) == "7"
    assert found == dict(zip(["id", *COLUMNS], [found["id"], 1, "Bob", "NAME", 0.5, 2, 5], strict=True))


def test_texts_without_entities_leave_the_names_of_the_columns(folder):
    (folder / "in.txt").write_text("none\n\n")
    engine.predict_files(None, "in.txt", Path("out.csv"), steps(".csv"))
    assert (folder / "out.csv").read_text() == ",".join(COLUMNS) + "\n"


def test_texts_are_numbered_over_chunks_and_parts_have_the_same_rows(folder):
    (folder / "in.txt").write_text("Anna\nnone\nBob Carl\nnone\nEve\n")
    engine.predict_files(None, "in.txt", Path("out.csv"), steps(".csv"))
    assert [(row["text_number"], row["entity"]) for row in rows(folder / "out.csv")] == [
        ("1", "Anna"),
        ("3", "Bob"),
        ("3", "Carl"),
        ("5", "Eve"),
    ]
    ((content, record),) = parts_of(steps(".csv"), None, folder / "in.txt")
    assert content == (folder / "out.csv").read_bytes() and record["counts"]["entities"] == 4


def test_a_column_that_only_later_rows_have(folder):
    lines = [{"text": "Anna"}, {"text": "x"}, {"text": "Bob", "start": 3}]
    (folder / "in.jsonl").write_text("\n".join(map(json.dumps, lines)))
    engine.predict_files(None, "in.jsonl", Path("out.jsonl"), steps(".jsonl"))
    first, second = map(json.loads, (folder / "out.jsonl").read_text().splitlines())
    assert list(first) == COLUMNS and (second["input_start"], second["start"]) == (3, 0)


def test_several_files_have_the_columns_of_the_first_one(folder):
    (folder / "a.csv").write_text("id,text\n1,Anna\n")
    (folder / "b.csv").write_text("text,id\nBob,2\n")
    engine.predict_files(None, ("a.csv", "b.csv"), Path("out.csv"), steps(".csv"))
    assert [(row["id"], row["text_number"], row["entity"]) for row in rows(folder / "out.csv")] == [
        ("1", "1", "Anna"),
        ("2", "2", "Bob"),
    ]
    (folder / "c.csv").write_text("text\nBob\n")
    with pytest.raises(UserError, match="c.csv"):
        engine.predict_files(None, ("a.csv", "c.csv"), Path("other.csv"), steps(".csv"))


def test_the_examples_of_spacy(folder):
    (folder / "in.csv").write_text("id,text\n1,Anna \U0001f600\n2,poison\n3,none\n")
    made = spacy_steps(TableOptions(), load, count, {})
    counts = engine.predict_files(None, "in.csv", Path("out.jsonl"), made)
    assert (counts["rows"], counts["entities"], counts["poisoned"]) == (3, 1, 1)
    assert list(map(json.loads, (folder / "out.jsonl").read_text().splitlines())) == [
        ["Anna \U0001f600", {"entities": [[0, 4, "NAME"]]}],
        ["none", {"entities": []}],
    ]


@pytest.mark.long
def test_spacy_trains_on_its_examples(folder):
    spacy = pytest.importorskip("spacy")
    from spacy.training import Example

    (folder / "in.csv").write_text("text\n\U0001f600 Anna said\n")
    engine.predict_files(None, "in.csv", Path("out.jsonl"), spacy_steps(TableOptions(), load, count, {}))
    text, annotation = json.loads((folder / "out.jsonl").read_text())
    example = Example.from_dict(spacy.blank("en").make_doc(text), annotation)
    assert [(each.text, each.label_) for each in example.reference.ents] == [("Anna", "NAME")]
