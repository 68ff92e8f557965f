import csv
import datetime
import io
import json

import openpyxl
import pyarrow
import pyarrow.parquet
import pytest

from pipelines.data import text_chunks
from pipelines.data.table_options import TableOptions
from pipelines.labelled.predict import file_steps
from pipelines.predicting import batch_workers
from pipelines.predicting.row_files import names_of_outputs
from pipelines.support.errors import UserError
from tests.pipelines.predicting.parts import label_file, parts_of

OWN = "id,text,score,predicted,p(positive)\n1,good,7,mine,kept\n2,bad,8,,kept\n"
OWN_ROWS = list(csv.DictReader(io.StringIO(OWN)))


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl"])
def test_columns_of_the_user_are_never_overwritten(exported, tmp_path, capsys, suffix):
    (tmp_path / "own.csv").write_text(OWN)
    label_file(exported, str(tmp_path / "own.csv"), tmp_path / f"out{suffix}")
    rows = read(tmp_path / f"out{suffix}")
    assert [{name: row[name] for name in OWN_ROWS[0]} for row in rows] == OWN_ROWS
    added = list(rows[0])[len(OWN_ROWS[0]) :]
    assert added == ["model_predicted", "model_score", "model_p(negative)", "model_p(positive)"]
    assert [row["model_predicted"] for row in rows] == ["positive", "negative"]
    said = capsys.readouterr().err
    assert "columns predicted, score, p(positive), which stay as they are" in said
    assert "model_predicted, model_score" in said and "--prefix" in said


def test_the_prefix_sets_the_names_of_the_outputs(exported, tmp_path, capsys):
    (tmp_path / "own.csv").write_text(OWN)
    label_file(exported, str(tmp_path / "own.csv"), tmp_path / "out.csv", prefix="new.")
    assert list(read(tmp_path / "out.csv")[0]) == [
        *OWN_ROWS[0],
        "new.predicted",
        "new.score",
        "new.p(negative)",
        "new.p(positive)",
    ]
    assert not capsys.readouterr().err
    with pytest.raises(UserError, match="--prefix '': the input has a column 'predicted', too"):
        label_file(exported, str(tmp_path / "own.csv"), tmp_path / "other.csv", prefix="")


def test_the_usual_prefix_gives_way_to_columns_that_have_it_already():
    assert names_of_outputs(["score"], ["score", "model_score"], None) == {"score": "model_2_score"}
    assert names_of_outputs(["score"], ["text"], None) == {"score": "score"}


@pytest.mark.parametrize("prefix", [None, "new_"])
def test_the_parts_of_a_distributed_prediction_have_the_same_names(exported, tmp_path, prefix):
    (tmp_path / "own.csv").write_text(OWN)
    label_file(exported, str(tmp_path / "own.csv"), tmp_path / "out.csv", prefix=prefix)
    steps = file_steps(exported, TableOptions(), ".csv", prefix)
    first = text_chunks.Columns(list(OWN_ROWS[0]), "text", str(tmp_path / "own.csv"))
    bound = steps.bound(first)
    ((part, _),) = parts_of(bound, exported, tmp_path / "own.csv")
    assert part.decode() == (tmp_path / "out.csv").read_text()
    assert bound.options["names"]["score"] == f"{prefix or 'model_'}score"  # another prefix is another job


def test_a_column_that_only_later_rows_have_is_not_overwritten(exported, tmp_path, monkeypatch):
    monkeypatch.setattr(text_chunks, "CHUNK_ROWS", 1)
    (tmp_path / "a.jsonl").write_text('{"text": "good"}\n{"text": "bad", "score": 1}\n')
    for suffix in (".jsonl", ".csv"):
        label_file(exported, str(tmp_path / "a.jsonl"), tmp_path / f"out{suffix}")
        first, second = read(tmp_path / f"out{suffix}")
        assert not first.get("score") and str(second["score"]) == "1" and second["model_predicted"] == "negative"


OBJECTS = (
    '{"text": "good", "n": 1, "x": 1.50, "none": null, "yes": true, "list": [1, "a", null, [2.5]], "o": {"k": [false]}}'
    '\n{"text": 5, "n": "1", "x": 1e-7, "none": "", "yes": "true"}\n'
)


def test_cells_of_json_lines_pass_untouched(exported, tmp_path):
    (tmp_path / "a.jsonl").write_text(OBJECTS)
    label_file(exported, str(tmp_path / "a.jsonl"), tmp_path / "out.jsonl")
    added = ("predicted", "score", "p(negative)", "p(positive)")
    written = read(tmp_path / "out.jsonl")
    assert all(set(added) < set(row) for row in written)
    kept = [{name: value for name, value in row.items() if name not in added} for row in written]
    expected = [json.loads(line) for line in OBJECTS.splitlines()]
    assert kept == expected  # the second row still has no list
    assert [list(map(type, row.values())) for row in kept] == [list(map(type, row.values())) for row in expected]


def test_cells_of_json_lines_pass_untouched_through_other_processes(exported, tmp_path):
    (tmp_path / "a.jsonl").write_text(OBJECTS)
    label_file(exported, str(tmp_path / "a.jsonl"), tmp_path / "out.jsonl")
    ((part, _),) = parts_of(file_steps(exported, TableOptions(), ".jsonl"), exported, tmp_path / "a.jsonl")
    assert part.decode() == (tmp_path / "out.jsonl").read_text()


def test_a_cell_that_is_not_unicode_is_mended_alone(exported, tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b'{"text": "good", "n": 1, "s": "a\xff"}\n{"text": "bad", "n": 2, "s": "b"}\n')
    ((part, record),) = parts_of(file_steps(exported, TableOptions(), ".jsonl"), exported, tmp_path / "a.jsonl")
    rows = [json.loads(line) for line in part.decode().splitlines()]
    assert [(row["n"], row["s"]) for row in rows] == [(1, "a\N{REPLACEMENT CHARACTER}"), (2, "b")]
    assert record["poisoned"] == {0: "not valid Unicode"}


def test_other_typed_files_keep_the_types_that_json_has(exported, tmp_path):
    row = {"text": "good", "n": 1, "x": 2.5, "none": None, "day": datetime.date(2024, 5, 6)}
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([row | {"nan": float("nan")}]), tmp_path / "a.parquet")
    book = openpyxl.Workbook()
    book.active.append(list(row))
    book.active.append(list(row.values()))
    book.save(tmp_path / "a.xlsx")
    for name in ("a.parquet", "a.xlsx"):
        label_file(exported, str(tmp_path / name), tmp_path / f"{name}.jsonl")
        (written,) = read(tmp_path / f"{name}.jsonl")
        assert [written[each] for each in ("text", "n", "x", "none")] == ["good", 1, 2.5, None]
        assert written["day"].startswith("2024-05-06") and written.get("nan") is None


def test_a_part_that_cannot_be_written_ends_the_job_with_one_line(exported, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "good", "score": 1}\n')
    steps = file_steps(exported, TableOptions(), ".jsonl")  # for other columns
    jobs = {"file": [0], "path": [str(tmp_path / "a.jsonl")], "done": [[]]}
    unit, _ = batch_workers.read_units(jobs, steps, None)
    predictor = batch_workers.Predictor.__new__(batch_workers.Predictor)
    predictor._steps, predictor._error, predictor._predict = steps, None, steps.load(exported)
    (answer,) = predictor(unit)
    assert "which only later rows have" in json.loads(answer["record"][0])["error"]


def read(path):
    lines = path.read_text().splitlines()
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in lines]
    return list(csv.DictReader(lines, delimiter="\t" if path.suffix == ".tsv" else ","))
