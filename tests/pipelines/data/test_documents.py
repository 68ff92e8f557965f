import gzip

import pytest

from pipelines.data import documents
from pipelines.data.documents import split_documents
from pipelines.support.errors import UserError


def write(folder, name, text):
    (folder / name).write_text(text)
    return str(folder / name)


def pieces(part):
    return list(part.pieces())


def test_lines_are_documents_and_the_last_ones_are_for_validation(tmp_path):
    data = write(tmp_path, "a.txt", "".join(f"line {i}\n\n" for i in range(10)))
    splits = split_documents(data, None, "line", 0.2)
    assert pieces(splits.train) == [f"line {i}" for i in range(8)] and pieces(splits.valid) == ["line 8", "line 9"]
    assert (splits.train.characters, splits.valid.characters) == (8 * 6, 2 * 6)


def test_files_are_documents(tmp_path):
    data = tuple(write(tmp_path, f"{i}.txt", f"text {i}\nend") for i in range(3))
    splits = split_documents(data, None, "file", 0.1)
    assert pieces(splits.train) == ["text 0\nend", "text 1\nend"] and pieces(splits.valid) == ["text 2\nend"]


def test_rows_of_a_table_are_documents(tmp_path):
    data = write(tmp_path, "a.csv", 'text,label\n"one, two",x\nthree,y\n')
    valid = write(tmp_path, "b.csv", "text,label\nfour,x\n")
    splits = split_documents(data, valid, "row", 0.1)
    assert pieces(splits.train) == ["one, two", "three"] and pieces(splits.valid) == ["four"]


def test_data_that_has_no_such_documents_is_refused(tmp_path):
    text = write(tmp_path, "a.txt", "one line\n")
    for kind, message in (("line", "has 1 line with text: give validation"), ("row", "is not a table")):
        with pytest.raises(UserError, match=message):
            split_documents(text, None, kind, 0.1)
    with pytest.raises(UserError, match="the embedded sample is no table"):
        split_documents(None, None, "row", 0.1)
    with pytest.raises(UserError, match="has 0 lines with text$"):
        split_documents(text, write(tmp_path, "empty.txt", "\n\n"), "line", 0.1)
    assert len(list(documents.read(None, "line"))) > 100


def test_rows_that_cannot_be_read_are_counted(tmp_path, capsys):
    rows = [f"text {i},{i}" for i in range(20)]
    data = write(tmp_path, "a.csv", "\n".join(["text,id", "one,cell,too many", *rows, ""]))
    splits = split_documents(data, None, "row", 0.2)
    assert pieces(splits.train) + pieces(splits.valid) == [f"text {i}" for i in range(20)]
    assert capsys.readouterr().err == "note: left out, 1 row that cannot be read\n"


def test_the_text_files_of_a_folder_are_documents(tmp_path):
    (tmp_path / "b" / "deep").mkdir(parents=True)
    for name, text in (
        ("b/1.txt", "one"),
        ("b/deep/2.TXT", "two"),
        ("b/a.md", "no"),
        ("b/3.txt", "\n"),
        ("c.txt", "no"),
    ):
        write(tmp_path, name, text)
    (tmp_path / "b" / "0.txt.gz").write_bytes(gzip.compress(b"zero"))
    folder = str(tmp_path / "b")
    assert list(documents.read(folder, "file")) == ["zero", "one", "two"]
    assert list(documents.read(folder, "file")) == list(documents.read(folder, "file"))
    splits = split_documents(folder, str(tmp_path / "c.txt"), "file", 0.1)
    assert (splits.train.characters, pieces(splits.valid)) == (10, ["no"])
    (tmp_path / "b" / "4.txt").write_bytes(b"caf\xe9")
    with pytest.raises(UserError, match=r"4\.txt is not UTF-8"):
        split_documents(folder, None, "file", 0.1)
    (tmp_path / "none").mkdir()
    with pytest.raises(UserError, match=r"none has no \.txt files: give a pattern"):
        split_documents(str(tmp_path / "none"), None, "file", 0.1)
