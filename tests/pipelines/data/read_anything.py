"""Reads damaged and random tables with bounded memory: rows come out or a `UserError`, and none is lost uncounted.

`test_any_table.py` runs it in a process of its own.
"""

import bz2
import csv
import gzip
import io
import json
import lzma
import resource
import tempfile
import zipfile
from pathlib import Path

import openpyxl
import pyarrow
import pyarrow.parquet
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.data import tables
from pipelines.data.table_options import DEFAULTS, TableOptions
from pipelines.support.errors import UserError

MEMORY = 3 * 2**30  # of addresses, of which the libraries take the half
FOLDER = Path(tempfile.mkdtemp())
ROWS = [{"text": f'text {i}, "so"\tit', "label": "ab"[i % 2], "n": None if i % 3 else 1.5} for i in range(30)]
QUOTED = st.builds(dict, text=st.text('ab"12 ', max_size=5), label=st.sampled_from(["pos", "neg", 'a"b', "a\nb", "é"]))
JUNK = [b'"', b"\n", b"\r", b"\t", b",", b'""', b"\xff", b"\0", b"{", b"[", b"\\ud800", b"NaN", b"9" * 5000, b"<", b">"]
EDITS = st.lists(
    st.tuples(st.sampled_from(["set", "cut", "remove", "insert", "junk"]), st.floats(0, 1), st.binary(max_size=8)),
    min_size=1,
    max_size=6,
)
examples = settings(
    max_examples=100, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


def zipped(parts: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return file.getvalue()


def unzipped(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def delimited(rows: list[dict], separator: str) -> bytes:
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, list(rows[0]), delimiter=separator, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue().encode()


def whole_files() -> dict[str, bytes]:
    parquet, book, sheet = io.BytesIO(), openpyxl.Workbook(), io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(ROWS), parquet)
    for row in (list(ROWS[0]), *(list(row.values()) for row in ROWS)):
        book.active.append(row)
    book.save(sheet)
    lines = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
    table = delimited(ROWS, ",")
    return {
        "a.csv": table,
        "a.tsv": delimited(ROWS, "\t"),
        "a.jsonl": lines,
        "a.parquet": parquet.getvalue(),
        "a.xlsx": sheet.getvalue(),
        "a.csv.gz": gzip.compress(table, mtime=0),
        "a.csv.xz": lzma.compress(table),
        "a.csv.bz2": bz2.compress(table),
        "a.jsonl.zip": zipped({"a.jsonl": lines}),
    }


WHOLE = whole_files()
SHEET = unzipped(WHOLE["a.xlsx"])


def edited(content: bytes, edits: list[tuple[str, float, bytes]]) -> bytes:
    content = bytearray(content)
    for kind, place, data in edits:
        i = int(place * len(content))
        if kind == "set":
            content[i : i + len(data)] = data
        elif kind == "cut":
            del content[i:]
        elif kind == "remove":
            del content[i : i + 4 * len(data)]
        else:
            content[i:i] = JUNK[sum(data) % len(JUNK)] if kind == "junk" else data
    return bytes(content)


def read(name: str, content: bytes, options: TableOptions = DEFAULTS, names=None) -> tuple[list[list[str]], dict]:
    """Returns the cells of all rows, and reason -> rows that are left out."""
    (FOLDER / name).write_bytes(content)
    rows, total = [], {}
    for frame, left_out in tables.named_chunks(FOLDER / name, 7, options, names):
        rows += frame.to_numpy().tolist()
        for reason, count in left_out.items():
            total[reason] = total.get(reason, 0) + count
    assert all(isinstance(cell, str) for row in rows for cell in row)
    return rows, total


def reads_or_refuses(name: str, content: bytes, **given) -> tuple[list[list[str]], dict] | None:
    try:
        rows = read(name, content, **given)
        json.dumps(rows[0], ensure_ascii=False).encode()  # it is text that can be written again
        return rows
    except UserError as error:
        assert "\n" not in str(error) and len(str(error)) < 1000, error
        return None


@examples
@given(st.sampled_from(sorted(WHOLE)), EDITS, st.sampled_from([None, ["text", "label"]]))
def damaged_files(name, edits, names):
    reads_or_refuses(name, edited(WHOLE[name], edits), names=names)


@examples
@given(st.sampled_from(sorted(SHEET)), EDITS)
def damaged_parts_of_a_workbook(name, edits):
    reads_or_refuses("a.xlsx", zipped(SHEET | {name: edited(SHEET[name], edits)}))


@examples
@given(st.lists(QUOTED, min_size=1, max_size=8), st.sampled_from([("a.csv", ","), ("a.tsv", "\t"), ("a.csv", ";")]))
def tables_that_a_program_wrote(rows, layout):
    name, separator = layout
    found = reads_or_refuses(name, delimited(rows, separator))
    assert found == ([list(row.values()) for row in rows], {}), found


@examples
@given(st.lists(st.text('a",; \t', max_size=12), min_size=1, max_size=10), st.sampled_from(["a.csv", "a.tsv"]))
def lines_with_quotes_anywhere(texts, name):
    lines = [f"t{i}. {text}" if i % 2 else f'"t{i}. {text}' for i, text in enumerate(texts)]
    separator = "," if name == "a.csv" else "\t"
    content = "\n".join([separator.join(["text", "label"]), *(f"{line}{separator}x" for line in lines)])
    found = reads_or_refuses(name, content.encode())
    if found:
        rows, left_out = found
        cells = "\n".join(cell for row in rows for cell in row)
        lost = sum(f"t{i}." not in cells for i in range(len(lines)))
        assert not lost or left_out, (content, found)
    found = reads_or_refuses(name, content.encode(), options=TableOptions(quote=""))
    assert not found or len(found[0]) + sum(found[1].values()) == len(lines), (content, found)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@examples
@given(st.lists(VALUES | st.dictionaries(st.sampled_from(["text", "label", "\ud801"]), VALUES), max_size=8))
def json_of_any_kind(values):
    lines = [json.dumps(value) for value in [{"text": "a"}, *values]]
    found = reads_or_refuses("a.jsonl", "\n".join(lines).encode())
    assert found and len(found[0]) + sum(found[1].values()) == len(lines)


def large_cells():
    block = gzip.compress(b"a" * 2**20, mtime=0)
    start = gzip.compress(b'text,label\n"', mtime=0)
    assert reads_or_refuses("b.csv.gz", start + block * 1024) is None  # 1 GiB
    block = gzip.compress(b"a\n" * 2**19, mtime=0)
    assert reads_or_refuses("b.csv.gz", start + block * 1024) is None
    deep = [b'{"text": ' + b"[" * n + b"]" * n + b"}" for n in (100, 900, 2000, 100_000)]
    rows, left_out = reads_or_refuses("b.jsonl", b"\n".join([b'{"text": "a"}', *deep]))
    assert len(rows) + sum(left_out.values()) == 5
    parts = SHEET | {"xl/worksheets/sheet1.xml": b"<worksheet><sheetData><row><c><v>" + b"1" * 2**28}
    assert reads_or_refuses("b.xlsx", zipped(parts)) is None


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for check in (
        damaged_files,
        damaged_parts_of_a_workbook,
        tables_that_a_program_wrote,
        lines_with_quotes_anywhere,
        json_of_any_kind,
        large_cells,
    ):
        check()
