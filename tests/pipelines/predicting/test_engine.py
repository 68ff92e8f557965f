"""`predict --input` in one process, with a task that writes the length of each text."""

import dataclasses
import functools
import gzip
import io
import types
import zipfile

import numpy as np
import pandas as pd
import pytest

from pipelines.data import text_chunks
from pipelines.data.table_options import DEFAULTS, TableOptions
from pipelines.predicting import engine
from pipelines.predicting.row_files import RowTask, row_steps
from pipelines.support.errors import UserError
from tests.pipelines.predicting.parts import parts_of


def load(exported):
    """A model of lengths, which fails for a text with the word poison."""

    def lengths(texts):
        if any("poison" in text for text in texts):
            raise ValueError("a text is poison")
        return np.array([len(text) for text in texts], object)

    return lengths


def columns(outputs):
    return {"length": outputs}


def count(texts, outputs, is_read):
    return {"long": int(sum(length > 3 for length, read in zip(outputs, is_read, strict=True) if read))}


TASK = RowTask(("length",), load, columns, count)
steps = functools.partial(row_steps, TASK)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def predicted(source, suffix=".csv", options=DEFAULTS, steps=steps, limit=None) -> tuple[str, dict]:
    """What is printed for the input, and the counts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", io.StringIO())
        counts = engine.predict_files(None, source, None, steps(options, suffix), limit)
        import sys

        return sys.stdout.getvalue(), counts


def test_what_is_printed_is_what_is_written(folder):
    (folder / "in.csv").write_text("id,text\n1,a\n2,bcde\n")
    for suffix in (".csv", ".tsv", ".jsonl", ".txt"):
        target = folder / f"out{suffix}"
        engine.predict_files(None, "in.csv", target, steps(DEFAULTS, suffix))
        assert target.read_text() == predicted("in.csv", suffix)[0]
    assert (folder / "out.csv").read_text() == "id,text,length\n1,a,1\n2,bcde,4\n"
    assert (folder / "out.txt").read_text() == "1\n4\n"


def test_files_folders_patterns_and_all_compressions(folder, monkeypatch):
    (folder / "texts").mkdir()
    (folder / "texts" / "a.txt.gz").write_bytes(gzip.compress(b"one\n"))
    with zipfile.ZipFile(folder / "texts" / "b.txt.zip", "w") as archive:
        archive.writestr("b.txt", "three\n")
    (folder / "texts" / "c.txt").write_text("größer\n", "utf-16")
    expected = "text,length\none,3\nthree,5\ngrößer,6\n"
    for source in ("texts", "texts/*", ("texts/a.txt.gz", "texts/b.txt.zip", "texts/c.txt", "texts/a.txt.gz")):
        assert predicted(source) == (expected, {"rows": 3, "skipped": 0, "poisoned": 0, "long": 2})
    monkeypatch.setattr("sys.stdin", types.SimpleNamespace(buffer=io.BytesIO("größer\n".encode("cp1252"))))
    assert predicted("-", options=TableOptions(encoding="cp1252"))[0] == "text,length\ngrößer,6\n"


def test_rows_that_cannot_be_read_are_counted_and_the_first_ones_are_shown(folder, monkeypatch, capsys):
    monkeypatch.setattr(text_chunks, "CHUNK_ROWS", 2)
    (folder / "in.csv").write_bytes(b"text\na\npoison\nb,c\nno \xff UTF-8\nfour\n" + b"poison\n" * 9)
    output, counts = predicted("in.csv")
    assert counts == {"rows": 13, "skipped": 1, "poisoned": 11, "long": 1}
    assert output.startswith("text,length\na,1\npoison,\nno \N{REPLACEMENT CHARACTER} UTF-8,\nfour,4\npoison,\n")
    said = capsys.readouterr().err.splitlines()
    assert said[:2] == [
        "in.csv, row 2 has no prediction: ValueError: a text is poison",
        "in.csv, row 3 has no prediction: not valid Unicode",
    ]
    assert (
        len(said) == 5
        and "".join(
            part.decode().partition("\n")[2] for part, _ in parts_of(steps(DEFAULTS, ".csv"), None, folder / "in.csv")
        )
        == output.partition("\n")[2]
    )


def test_a_file_in_another_encoding_is_refused_with_the_remedy(folder):
    (folder / "in.txt").write_bytes("une \u00e9t\u00e9 trop chaude\nsans accent\n".encode("latin1") * 5)
    (folder / "good.txt").write_text("a\n")
    for source in ("in.txt", ("good.txt", "in.txt")):
        with pytest.raises(UserError, match="in.txt is not UTF-8 .*--encoding cp1252"):
            engine.predict_files(None, source, folder / "out.csv", steps(DEFAULTS, ".csv"))
    assert not (folder / "out.csv").exists()
    assert predicted("in.txt", options=TableOptions(encoding="cp1252"))[1]["poisoned"] == 0


def test_an_error_after_the_first_rows_leaves_no_file(folder, monkeypatch):
    monkeypatch.setattr(text_chunks, "CHUNK_ROWS", 1)
    (folder / "a.csv").write_text("text\na\n")
    (folder / "b.csv").write_text("other\nb\n")
    with pytest.raises(UserError, match="b.csv: no column has a usual name"):
        engine.predict_files(None, ("a.csv", "b.csv"), folder / "out.csv", steps(DEFAULTS, ".csv"))
    assert sorted(path.name for path in folder.iterdir()) == ["a.csv", "b.csv"]


def test_an_input_without_rows_is_refused(folder, monkeypatch):
    (folder / "a.csv").write_text("text,id\n")
    (folder / "empty.txt").touch()
    for source, message in (("a.csv", "a.csv has a header but no rows"), ("empty.txt", "empty.txt is empty")):
        with pytest.raises(UserError, match=message):
            predicted(source)
    monkeypatch.setattr("sys.stdin", types.SimpleNamespace(buffer=io.BytesIO()))
    with pytest.raises(UserError, match="stdin has no rows"):
        predicted("-")


BY_LENGTH = functools.partial(row_steps, dataclasses.replace(TASK, uncertainty=lambda lengths: lengths.astype(float)))


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 9])
def test_a_limit_writes_the_first_rows_and_reads_no_further(folder, monkeypatch, limit):
    monkeypatch.setattr(text_chunks, "CHUNK_ROWS", 2)
    (folder / "a.csv").write_text("text\na\nbb\nccc\n")
    (folder / "b.csv").write_text("text\nb\nbb\n")
    output, counts = predicted(("a.csv", "b.csv"), limit=limit)
    assert output == "\n".join(["text,length", "a,1", "bb,2", "ccc,3", "b,1", "bb,2"][: limit + 1]) + "\n"
    assert counts["rows"] == min(limit, 5)
    (folder / "b.csv").write_text("other\nb\n")
    if limit <= 3:
        assert predicted(("a.csv", "b.csv"), limit=limit)[0] == output
    else:
        with pytest.raises(UserError, match="b.csv"):
            predicted(("a.csv", "b.csv"), limit=limit)


@pytest.mark.parametrize("limit", [None, 2])
def test_the_least_sure_rows_of_all_files_come_first_with_all_their_columns(folder, monkeypatch, capsys, limit):
    monkeypatch.setattr(text_chunks, "CHUNK_ROWS", 1)
    (folder / "a.csv").write_text("id,text\n1,a\n2,poison\n3,\n4,cccc\n")
    (folder / "b.csv").write_text("text,id\nbb,5\na,6\n")
    output, counts = predicted(("a.csv", "b.csv"), steps=BY_LENGTH, limit=limit)
    rows = ["4,cccc,4,4.000000", "5,bb,2,2.000000", "1,a,1,1.000000"][:limit]
    assert output.splitlines() == ["id,text,length,uncertainty", *rows]
    expected = {"rows": len(rows), "read": 6, "poisoned": 1, "empty": 1, "skipped": 0, "long": 1}
    assert counts == expected and "a.csv, row 2 has no prediction" in capsys.readouterr().err


def test_an_own_column_called_uncertainty_stays(folder, capsys):
    (folder / "in.csv").write_text("text,uncertainty\na,mine\n")
    assert predicted("in.csv", steps=BY_LENGTH)[0].splitlines() == [
        "text,uncertainty,model_length,model_uncertainty",
        "a,mine,1,1.000000",
    ]
    assert "--prefix" in capsys.readouterr().err


def test_an_input_with_nothing_to_label_is_refused(folder):
    (folder / "in.csv").write_text("id,text\n1, \n2,poison\n")
    with pytest.raises(UserError, match="in.csv has no text to label: all are empty, or have no prediction"):
        engine.predict_files(None, "in.csv", folder / "out.csv", BY_LENGTH(DEFAULTS, ".csv"))
    assert not (folder / "out.csv").exists()


def test_a_table_is_written_as_it_was_read(folder):
    content = "Nr;Text\r\n007;sch\u00f6n\r\n8;a;b\r\n".replace("a;b", '"a;b"')
    for name, encoding, options in (
        ("ansi", "cp1252", TableOptions(encoding="cp1252", text_column="Text")),
        ("mark", "utf-8-sig", TableOptions(text_column="Text")),
    ):
        (folder / f"{name}.csv").write_bytes(content.encode(encoding))
        target = folder / f"{name}-out.csv"
        engine.predict_files(None, f"{name}.csv", target, steps(options, ".csv"))
        assert target.read_bytes() == 'Nr;Text;length\n007;sch\u00f6n;5\n8;"a;b";3\n'.encode(encoding)
        assert predicted(f"{name}.csv", options=options)[0].startswith("Nr;Text;length\n007;sch\u00f6n;5\n")


def test_parquet_and_sheets_have_the_rows_and_their_outputs(folder):
    (folder / "in.csv").write_text("text,length\nab,x\n=1,y\npoison,z\n")
    for suffix in (".parquet", ".xlsx"):
        target = folder / f"out{suffix}"
        counts = engine.predict_files(None, "in.csv", target, steps(DEFAULTS, suffix))
        assert counts["rows"] == 3 and counts["poisoned"] == 1
        table = pd.read_parquet(target) if suffix == ".parquet" else pd.read_excel(target)
        assert list(table) == ["text", "length", "model_length"]
        assert table.text.tolist() == ["ab", "=1", "poison"] and table.length.tolist() == ["x", "y", "z"]
        assert table.model_length.tolist()[:2] == [2, 2] and table.model_length.isna()[2]
    (folder / "long.csv").write_text(f"text\n{'a' * 40_000}\n")
    with pytest.raises(UserError, match="row 1: the cell of 'text' has 40,000 characters"):
        engine.predict_files(None, "long.csv", folder / "long.xlsx", steps(DEFAULTS, ".xlsx"))
    assert not (folder / "long.xlsx").exists()
