import zipfile

import openpyxl
import pytest

from pipelines.data import labelled_texts, tables, workbooks
from pipelines.data.table_options import TableOptions
from pipelines.support.errors import UserError

SHEET = "xl/worksheets/sheet1.xml"


def book(tmp_path, rows, **edits):
    """Writes a workbook, and replaces pieces of the XML of its sheet: old -> new."""
    path = tmp_path / "whole.xlsx"
    written = openpyxl.Workbook()
    for row in rows:
        written.active.append(row)
    written.save(path)
    if not edits:
        return path
    with zipfile.ZipFile(path) as whole, zipfile.ZipFile(tmp_path / "a.xlsx", "w", zipfile.ZIP_DEFLATED) as edited:
        for name in whole.namelist():
            content = whole.read(name).decode()
            if name == SHEET:
                assert edits["old"] in content
                content = content.replace(edits["old"], edits["new"])
            edited.writestr(name, content)
    return tmp_path / "a.xlsx"


ROWS = [["text", "label"], ["a fine film", "pos"], ["dull", "neg"]]
EXPECTED = [{"text": "a fine film", "label": "pos"}, {"text": "dull", "label": "neg"}]


def read(path, options=None):
    ((frame, skipped),) = tables.chunks(path, 10, options or TableOptions())
    assert skipped == 0
    return frame.to_dict("records")


def test_a_sheet_without_a_header(tmp_path):
    path = book(tmp_path, [["a fine film", "pos"], ["dull", "neg", "x"]])
    found = labelled_texts.read(str(path), TableOptions("1", "2", header=False))["train"]
    assert (found.texts.tolist(), found.labels.tolist()) == (["a fine film", "dull"], ["pos", "neg"])
    assert read(path, TableOptions(header=False))[1] == {"1": "dull", "2": "neg", "3": "x"}


def test_numbers_have_no_needless_fraction_and_empty_rows_are_none(tmp_path):
    rows = read(book(tmp_path, [["text", "stars"], ["a", 3.0], ["b", 2.5], [None, None], ["c", True]]))
    assert [row["stars"] for row in rows] == ["3", "2.5", "true"]


def test_columns_of_one_name_or_none_are_all_read(tmp_path):
    rows = [["text", "text", None, "label"], ["a", "b", "c", "d", "e"]]
    expected = {"text": "a", "text.1": "b", "Unnamed: 2": "c", "label": "d", "Unnamed: 4": "e"}
    assert read(book(tmp_path, rows)) == [expected]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('<dimension ref="A1:B3"/>', '<dimension ref="A1:XFD1048576" />'),
        ('<dimension ref="A1:B3"/>', '<dimension ref="A1:A1" />'),
        ('<dimension ref="A1:B3"/>', ""),
        ('<row r="3">', '<row r="2000000000">'),
        ('<row r="3">', '<row r="1">'),  # not in order
    ],
)
def test_a_sheet_that_states_a_wrong_size_or_number_of_a_row(tmp_path, old, new):
    assert read(book(tmp_path, ROWS, old=old, new=new)) == EXPECTED


def test_the_sheet_that_is_read_is_named_where_there_are_several(tmp_path, capsys):
    written = openpyxl.Workbook()
    for sheet in (written.active, written.create_sheet("2025"), written.create_sheet("empty")):
        for row in ROWS if sheet.title != "empty" else ():
            sheet.append(row)
    written.save(tmp_path / "a.xlsx")
    assert read(tmp_path / "a.xlsx") == EXPECTED == read(tmp_path / "a.xlsx")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"note: {tmp_path}/a.xlsx has 2 sheets, and the first one, 'Sheet', is read")
    assert read(book(tmp_path, ROWS)) == EXPECTED and not capsys.readouterr().err


def test_a_cell_of_many_megabytes_is_refused(tmp_path):
    path = book(tmp_path, ROWS, old="<sheetData>", new=f"<sheetData><!--{' ' * 2**25}-->")
    with pytest.raises(UserError, match="a.xlsx has a cell, and at most 16 MiB are read: shorten it"):
        read(path)


def test_a_row_or_strings_of_many_megabytes_are_refused(tmp_path, monkeypatch):
    path = book(tmp_path, ROWS)
    monkeypatch.setattr(workbooks, "_MAX_ROW", 100)
    with pytest.raises(UserError, match="has a row, and at most 0 MiB are read"):
        read(path)
    monkeypatch.setattr(workbooks, "_MAX_OTHERS", 100)
    with pytest.raises(UserError, match="has 0 MiB of strings and formats, and at most 0 MiB are read"):
        read(path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("</sheetData>", ""),  # no XML
        ('<c r="A2"', '<c r="2A"'),
        ('<c r="B2" t="inlineStr"><is><t>pos</t></is></c>', '<c r="B2" t="s"><v>99</v></c>'),  # no such string
        ('<row r="2">', '<row r="two">'),
    ],
)
def test_a_damaged_sheet_is_one_line_or_is_read(tmp_path, old, new):
    path = book(tmp_path, ROWS, old=old, new=new)
    try:
        assert len(read(path)) == 2
    except UserError as error:
        assert str(error) == f"{path} is damaged, or no Excel file (.xlsx): get the file again, or save it as CSV"
