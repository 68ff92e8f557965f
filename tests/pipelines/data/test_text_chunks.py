import gzip

import pyarrow.parquet
import pytest

from pipelines.data import fields, text_chunks
from pipelines.data.fields import NUMBER, Field
from pipelines.data.table_options import DEFAULTS, TableOptions
from pipelines.data.text_chunks import read, read_file
from pipelines.support.errors import UserError
from pipelines.text.special_tokens import FIELD_MARK


def texts_of(source):
    return [chunk.rows[chunk.column].tolist() for chunk in text_chunks.read(source, DEFAULTS)]


def test_a_table_and_lines_are_read_in_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr(text_chunks, "CHUNK_ROWS", 2)
    monkeypatch.setattr(text_chunks, "CHUNK_BYTES", 4)
    (tmp_path / "a.csv").write_text("id,text\n1,one\n2,two\n3,three\n")
    (tmp_path / "a.txt").write_text("one\ntwo\nthree")
    assert texts_of(str(tmp_path / "a.csv")) == [["one", "two"], ["three"]]
    assert texts_of(str(tmp_path / "a.txt")) == [["one", "two"], ["three"]]


def test_files_that_cannot_be_read_are_refused(tmp_path):
    (tmp_path / "empty.txt").write_text("")
    for name, message in (("absent.txt", "no such file"), ("empty.txt", "is empty")):
        with pytest.raises(UserError, match=message):
            texts_of(str(tmp_path / name))


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.tsv"])
def test_all_chunks_have_the_same_columns_and_all_rows_are_counted(tmp_path, monkeypatch, name):
    monkeypatch.setattr(text_chunks, "CHUNK_ROWS", 2)
    if name == "a.jsonl":
        rows = ['{"text": "one"}', "no object", '{"text": "two"}', '{"text": "three", "id": 3}', "[]", "{"]
        expected = [["one", ""], ["two", ""], ["three", "3"]]
    else:
        rows = ["text,id", "a,b,c", "one,1", '"two', "two", "three,3", "a,b,c", "a,b,c"]
        expected = [["one", "1"], ["two", ""], ["three", "3"]]
    if name == "a.tsv":
        expected.insert(1, ['"two', ""])
    (tmp_path / name).write_text("\n".join(rows).replace(",", "\t" if name == "a.tsv" else ","))
    chunks = list(read_file(str(tmp_path / name), DEFAULTS))
    assert {tuple(chunk.rows) for chunk in chunks} == {("text", "id")}
    assert [row for chunk in chunks for row in chunk.rows.to_numpy().tolist()] == expected
    assert sum(chunk.num_skipped for chunk in chunks) == {"a.jsonl": 3, "a.csv": 4, "a.tsv": 3}[name]


def test_lines_in_chunks_of_a_number(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n\nfour")
    chunks = read_file(str(tmp_path / "a.txt"), TableOptions(), max_lines=3)
    assert [chunk.rows["text"].tolist() for chunk in chunks] == [["one", "two", ""], ["four"]]


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet", "a.txt"])
def test_bytes_that_are_not_utf_8_can_be_kept(tmp_path, name):
    path = tmp_path / name
    if name == "a.parquet":
        cells = pyarrow.array([b"good", b"caf\xe9", None], pyarrow.binary()).view(pyarrow.string())
        pyarrow.parquet.write_table(pyarrow.table({"n": [1, 2, 3], "text": cells}), path)
    elif name == "a.jsonl":
        path.write_bytes(b'{"text": "good"}\n{"text": "caf\xe9"}\n{"text": null}\n')
    else:
        path.write_bytes(b"text\n" * (name == "a.csv") + b"good\ncaf\xe9\n" + b'""\n' * (name == "a.csv"))
    (chunk,) = read_file(str(path), TableOptions(encoding_errors="surrogateescape"))
    expected = ["good", b"caf\xe9".decode("utf-8", "surrogateescape"), ""]
    assert chunk.rows["text"].tolist() == expected[: len(chunk.rows)]
    if name == "a.parquet":  # not all programs that write Parquet check their strings
        (chunk,) = read_file(str(path), TableOptions())
        assert chunk.rows.to_numpy().tolist() == [["1", "good"], ["2", "caf\N{REPLACEMENT CHARACTER}"], ["3", ""]]
    else:
        with pytest.raises(UserError, match="is not UTF-8"):
            list(read_file(str(path), TableOptions()))


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2", ".zip"])
def test_a_damaged_file_of_lines_is_one_line(tmp_path, suffix):
    path = tmp_path / f"a.txt{suffix}"
    whole = gzip.compress(b"a line\n" * 5000, mtime=0)
    for content in (b"nonsense", whole[:-20] if suffix == ".gz" else b"x"):
        path.write_bytes(content)
        with pytest.raises(UserError, match="is damaged, or its name has the wrong suffix"):
            texts_of(str(path))


def test_several_columns_are_composed_once_for_each_chunk(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("a,b,other\nx,1,o\ny,2,p\n")
    composed, calls = fields.composed, []
    monkeypatch.setattr(fields, "composed", lambda *given: calls.append(given[2]) or composed(*given))
    known = (Field("a"), Field("b", NUMBER, (2.0,)))
    (chunk,) = read(str(tmp_path / "a.csv"), TableOptions(fields=known))
    mark = f" {FIELD_MARK} "
    assert chunk.texts() == chunk.texts() == [f"x{mark}below", f"y{mark}na"]
    assert chunk._replace(rows=chunk.rows.iloc[[1]]).texts() == [f"y{mark}na"]
    assert list(chunk.rows) == ["a", "b", "other"] and calls == [tmp_path / "a.csv"]
