import json
import tracemalloc
import zipfile

import openpyxl
import pyarrow
import pyarrow.parquet
import pytest

from pipelines.data import labelled_texts, tables
from pipelines.data.table_options import TableOptions
from pipelines.support.errors import UserError

ROWS = [{"text": "a fine film", "label": 1, "sure": True}, {"text": "dull", "label": 0, "sure": None}]
EXPECTED = [{"text": "a fine film", "label": "1", "sure": "true"}, {"text": "dull", "label": "0", "sure": ""}]


def write(folder, suffix):
    path = folder / f"a{suffix}"
    if suffix == ".parquet":
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(ROWS), path)
    elif suffix == ".xlsx":
        book = openpyxl.Workbook()
        for row in [list(ROWS[0]), *(list(row.values()) for row in ROWS)]:
            book.active.append(row)
        book.save(path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


@pytest.mark.parametrize("suffix", [".jsonl", ".ndjson", ".parquet", ".xlsx"])
def test_every_cell_is_text(tmp_path, suffix):
    path = write(tmp_path, suffix)
    assert tables.is_table(path)
    ((frame, skipped),) = tables.chunks(path, rows=10)
    assert (frame.to_dict("records"), skipped) == (EXPECTED, 0)
    assert [len(frame) for frame, _ in tables.chunks(path, rows=1) if len(frame)] == [1, 1]
    found = labelled_texts.read(str(path))["train"]
    assert (found.texts.tolist(), found.labels.tolist()) == (["a fine film", "dull"], ["1", "0"])


def test_lines_that_are_no_objects_are_skipped_and_counted(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a"}\n\nnot json\n[1]\n{"text": "b", "label": "x"}\n')
    ((frame, skipped),) = tables.chunks(path, 10)
    assert frame.to_dict("records") == [{"text": "a", "label": ""}, {"text": "b", "label": "x"}]
    assert skipped == 2


def test_a_file_whose_first_line_is_no_object_is_refused(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("text,label\n")
    with pytest.raises(UserError, match="expected a JSON object on each line"):
        list(tables.chunks(path, 10))


@pytest.mark.parametrize(
    ("name", "message"), [("a.parquet", "damaged, or no Parquet file"), ("a.xlsx", "damaged, or no Excel file")]
)
def test_a_damaged_file_is_one_line(tmp_path, name, message):
    whole = write(tmp_path, "." + name.split(".")[1]).read_bytes()
    for content in (b"", b"nonsense", whole[: len(whole) // 2]):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UserError, match=message) as error:
            list(tables.chunks(tmp_path / name, rows=10))
        assert "\n" not in str(error.value)


def test_a_zip_archive_that_is_no_workbook(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.xlsx", "w") as archive:
        archive.writestr("a.txt", "text")
    with pytest.raises(UserError, match="no Excel file"):
        list(tables.chunks(tmp_path / "a.xlsx", rows=10))


def test_numbers_of_json_stay_as_spelled_and_lists_are_joined(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1.0, "b": 1e3, "c": NaN, "d": ["x", "y", 1, true], "e": []}\n')
    ((frame, _),) = tables.chunks(path, 10)
    assert frame.to_dict("records") == [{"a": "1.0", "b": "1e3", "c": "", "d": "x|y|1|true", "e": ""}]


@pytest.mark.long
def test_a_new_key_in_each_line_needs_no_memory_where_two_columns_are_read(tmp_path):
    path = tmp_path / "a.jsonl"
    lines = [{"text": f"text {i}", "label": "ab"[i % 2]} | {f"key {i}-{j}": j for j in range(50)} for i in range(1000)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    tracemalloc.start()
    found = labelled_texts.read(str(path))["train"]
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found) == 1000 and found.dropped == {}
    assert used < 2**26
    with pytest.raises(UserError, match="more than 32,768 different names of columns"):
        list(tables.chunks(path, 2000))


def test_columns_of_one_name_in_parquet(tmp_path):
    table = pyarrow.Table.from_arrays([pyarrow.array(["a"]), pyarrow.array(["b"])], names=["text", "text"])
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(UserError, match="a.parquet has several columns of one name"):
        list(tables.chunks(tmp_path / "a.parquet", 10))


def test_halves_of_pairs_are_no_text(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "cut \\ud83d", "\\udc00": ["\\ud83d\\ude00", "\\uDFFF"]}\n')
    ((frame, _),) = tables.chunks(path, 10)
    assert frame.to_dict("records") == [{"text": "cut \ufffd", "\ufffd": "\U0001f600|\ufffd"}]
    ((frame, _),) = tables.chunks(path, 10, TableOptions(encoding_errors="surrogateescape"))  # predict --ray
    assert frame.to_dict("records") == [{"text": "cut \ud83d", "\ufffd": "\U0001f600|\udfff"}]


def test_lists_in_lists_without_end_are_counted(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n{"text": ' + "[" * 900 + "]" * 900 + '}\n{"text": [["b"]]}\n')
    ((frame, left_out),) = tables.named_chunks(tmp_path / "a.jsonl", 10)
    assert frame["text"].tolist() == ["a", "b"] and left_out == {"a cell has lists in lists in lists": 1}
