import csv
import json
from pathlib import Path

import pandas as pd
import pytest

from pipelines.data.table_options import TableOptions
from pipelines.predicting import engine
from pipelines.tagging.item_files import item_steps, token_items
from tests.pipelines.predicting.parts import parts_of

COLUMNS = ["text_number", "sentence", "token", "tag", "score", "start", "end"]


def load(exported):
    """A model that gives each word its first letter, and fails for a text with the word poison."""

    def tag(texts):
        if any("poison" in text for text in texts):
            raise ValueError("a text is poison")
        return [tagged(text) | {"uncertainty": 0.25} for text in texts]

    return tag


def tagged(text):
    tokens = text.split()
    start = [text.index(token) for token in tokens]
    return {
        "tokens": tokens,
        "tags": [token[0] for token in tokens],
        "scores": [0.5] * len(tokens),
        "start": start,
        "end": [place + len(token) for place, token in zip(start, tokens)],
        "sentence": list(range(len(tokens))),
    }


def count(results):
    return {"tokens": sum(len(result["tokens"]) for result in results)}


def steps(suffix, column=None, sort=False, load=load, **options):
    options = TableOptions(text_column=column, **options)
    return item_steps(token_items(sort), options, suffix, load, count, {"max_lines": 2})


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet", ".xlsx"])
def test_each_token_is_a_row_with_the_columns_of_its_text(folder, suffix):
    (folder / "in.csv").write_text("id,body,tag\na7,see \U0001f600,x\nb8,,y\nc9,poison it,z\nd0,now,w\n")
    target = folder / f"out{suffix}"
    counts = engine.predict_files(None, "in.csv", target, steps(suffix, "body"))
    assert counts == {"rows": 4, "skipped": 0, "poisoned": 1, "tokens": 3}
    read = {
        ".jsonl": lambda: pd.DataFrame(map(json.loads, target.read_text().splitlines())),
        ".parquet": lambda: pd.read_parquet(target),
        ".xlsx": lambda: pd.read_excel(target),
    }.get(suffix, lambda: pd.read_csv(target, sep="\t" if suffix == ".tsv" else ","))()
    assert list(read) == ["id", "input_tag", *COLUMNS]
    assert read.to_numpy().tolist() == [
        ["a7", "x", 1, 1, "see", "s", 0.5, 0, 3],
        ["a7", "x", 1, 2, "\U0001f600", "\U0001f600", 0.5, 4, 5],
        ["d0", "w", 4, 1, "now", "n", 0.5, 0, 3],
    ]


def test_a_table_is_like_that_of_the_input(folder):
    (folder / "in.csv").write_bytes("id;body\n7;è qui\n".encode("utf-8-sig"))
    engine.predict_files(None, "in.csv", folder / "out.csv", steps(".csv", "body"))
    assert (folder / "out.csv").read_text(encoding="utf-8-sig").splitlines() == [
        f"id;{';'.join(COLUMNS)}",
        "7;1;1;è;è;0,500000;0;1",
        "7;1;2;qui;q;0,500000;2;5",
    ]


def test_the_uncertainty_of_a_text_is_with_each_token(folder):
    (folder / "in.txt").write_text("a b\n")
    engine.predict_files(None, "in.txt", Path("out.csv"), steps(".csv", sort=True))
    rows = list(csv.DictReader((folder / "out.csv").read_text().splitlines()))
    assert list(rows[0]) == [*COLUMNS, "uncertainty"] and [row["uncertainty"] for row in rows] == ["0.250000"] * 2


def test_given_tokens_have_no_positions_and_are_one_sentence(folder):
    def without_positions(exported):
        return lambda texts: [{key: tagged(text)[key] for key in ("tokens", "tags", "scores")} for text in texts]

    (folder / "in.txt").write_text("a b\n")
    engine.predict_files(None, "in.txt", Path("out.csv"), steps(".csv", load=without_positions))
    assert (folder / "out.csv").read_text().splitlines()[1:] == ["1,1,a,a,0.500000,,", "1,1,b,b,0.500000,,"]


def test_parts_have_the_same_rows(folder):
    (folder / "in.txt").write_text("a\nb\nc d\n\ne\n")
    engine.predict_files(None, "in.txt", Path("out.csv"), steps(".csv"))
    ((content, record),) = parts_of(steps(".csv"), None, folder / "in.txt")
    assert content == (folder / "out.csv").read_bytes() and record["counts"]["tokens"] == 5
    assert [row["text_number"] for row in csv.DictReader(content.decode().splitlines())] == ["1", "2", "3", "3", "5"]


@pytest.mark.parametrize(("suffix", "read"), [(".parquet", pd.read_parquet), (".xlsx", pd.read_excel)])
def test_typed_files_of_texts_without_other_columns(folder, suffix, read):
    (folder / "in.txt").write_text("a b\n")
    engine.predict_files(None, "in.txt", folder / f"out{suffix}", steps(suffix))
    assert read(folder / f"out{suffix}").to_numpy().tolist() == [
        [1, 1, "a", "a", 0.5, 0, 1],
        [1, 2, "b", "b", 0.5, 2, 3],
    ]
