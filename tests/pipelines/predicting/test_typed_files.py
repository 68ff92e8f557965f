import datetime
import functools
import io
import json

import openpyxl
import pyarrow.parquet as pq
import pytest

from pipelines.data.cells import to_cell, to_json
from pipelines.predicting import typed_files
from pipelines.predicting.typed_files import MAX_CELL, WRITERS, convert_in_place, converted
from pipelines.support.errors import UserError

ROWS = [
    {"text": "=1+1", "id": "007", "score": 0.5, "n": 1, "labels": ["a", "b"]},
    {"text": "\u00e4\x01", "score": 1, "n": None, "labels": []},
    {"text": "#N/A", "id": 8, "score": None, "n": 3, "labels": None},
]
COLUMNS = ["id", "text", "score", "n", "labels"]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()


def written(suffix, lines=LINES, columns=COLUMNS):
    return io.BytesIO(converted(functools.partial(WRITERS[suffix], columns), lines))


def test_parquet_has_numbers_as_numbers_and_mixed_columns_as_text(monkeypatch):
    monkeypatch.setattr(typed_files, "_BATCH", 2)
    table = pq.read_table(written(".parquet")).to_pydict()
    assert list(table) == COLUMNS and table["text"] == [row["text"] for row in ROWS]
    assert table["score"] == [0.5, 1.0, None] and table["n"] == [1, None, 3]
    assert table["id"] == ["007", None, "8"] and table["labels"] == ['["a", "b"]', "[]", None]


def test_a_sheet_has_texts_as_texts():
    sheet = openpyxl.load_workbook(written(".xlsx")).active
    cells = [[cell.value for cell in row] for row in sheet.iter_rows()]
    assert cells[0] == COLUMNS and cells[1] == ["007", "=1+1", 0.5, 1, '["a", "b"]']
    assert cells[2] == [None, "\u00e4\ufffd", 1, None, "[]"]
    assert [row[1].data_type for row in sheet.iter_rows()] == ["s"] * 4  # no formula, no error


def test_dates_are_dates_again():
    day, moment = datetime.datetime(2026, 1, 2), datetime.datetime(2026, 1, 2, 3, 4, 5)
    rows = [{"day": day, "mixed": "x"}, {"day": moment, "mixed": day}, {"day": None, "mixed": None}]
    cells = [{name: to_json(to_cell(value), keeps_dates=True) for name, value in row.items()} for row in rows]
    lines = "".join(f"{json.dumps(row)}\n" for row in cells).encode()
    table = pq.read_table(written(".parquet", lines, ["day", "mixed"])).to_pydict()
    assert table == {"day": [day, moment, None], "mixed": ["x", "2026-01-02 00:00:00", None]}
    sheet = openpyxl.load_workbook(written(".xlsx", lines, ["day", "mixed"])).active
    assert [[cell.value for cell in row] for row in sheet.iter_rows(2, 3)] == [[day, "x"], [moment, day]]
    assert [sheet[name].number_format for name in ("A2", "A3", "B2")] == ["mm-dd-yy", "m/d/yy h:mm", "General"]


def test_what_a_sheet_cannot_hold_is_one_line(monkeypatch):
    long = json.dumps({"text": "x" * (MAX_CELL + 1)}).encode() + b"\n"
    with pytest.raises(
        UserError, match="row 1: the cell of 'text' has 32,768 characters, .* at most 32,767: write .csv"
    ):
        written(".xlsx", long, ["text"])
    assert openpyxl.load_workbook(written(".xlsx", long.replace(b"xx", b"x", 1), ["text"])).active["A2"].value
    monkeypatch.setattr(typed_files, "MAX_SHEET_ROWS", 3)
    with pytest.raises(UserError, match="at most 3 rows: write .csv or .parquet"):
        written(".xlsx")


def test_an_open_file_is_converted(tmp_path):
    with open(tmp_path / "a.parquet", "w+b") as file:
        file.write(LINES * 1000)
        convert_in_place(functools.partial(WRITERS[".parquet"], COLUMNS), file)
    assert pq.read_table(tmp_path / "a.parquet").num_rows == 3000
