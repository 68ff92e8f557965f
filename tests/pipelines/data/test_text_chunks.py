import pytest

from pipelines.data import text_chunks
from pipelines.data.table_options import DEFAULTS
from pipelines.support.errors import UserError


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
