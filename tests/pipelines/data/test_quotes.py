import pytest

from pipelines.data import labelled_texts, quotes
from pipelines.data.table_options import TableOptions
from pipelines.support.errors import UserError
from tests.command_line import ROOT
from tests.pipelines.data.small_tables import left_out

USUAL = [f"{kind} number {i},{label}" for i in range(6) for kind, label in (("good", "pos"), ("bad", "neg"))]


def table(rows, separator=","):
    return "\n".join(["text,label", *rows, ""]).replace(",", separator)


@pytest.mark.parametrize(
    ("opened", "closing"),
    [
        ('"warm and bright', '"dull'),  # text follows the quote that closes the cell
        ('"warm and bright', 'they said"'),  # it looks like a cell over several lines
        ('"warm and bright', "dull"),  # nothing closes it
    ],
)
def test_a_quote_that_opens_a_cell_swallows_no_rows(tmp_path, opened, closing):
    rows = [f"{opened},pos", *USUAL, f"{closing},neg", *USUAL]
    texts, reasons = left_out(tmp_path, table(rows))
    lost = 2 if closing.startswith('"') else 1
    assert reasons == {"a quote opens a cell and is not closed": lost}
    usual = [row.split(",")[0] for row in USUAL]
    assert texts == usual + [closing] * (lost == 1) + usual
    texts, reasons = left_out(tmp_path, table(rows, "\t"), "a.tsv")
    assert (texts, reasons) == ([opened, *usual, closing, *usual], {})
    assert left_out(tmp_path, table(rows), options=TableOptions(quote="")) == (texts, {})


def test_cells_over_several_lines_are_whole(tmp_path):
    cells = ["I liked it, really.\nBut it was long, too.", "one\n\ntwo", 'he said "no"\n, and left', "pos\nneg\n1,2"]
    quoted = ['"' + cell.replace('"', '""') + '",pos' for cell in cells]
    assert left_out(tmp_path, table([*USUAL, *quoted])) == ([row.split(",")[0] for row in USUAL] + cells, {})
    cells = [cell.replace(",", "\t") for cell in cells]
    found = left_out(tmp_path, table([*USUAL, *quoted], "\t"), "a.tsv")
    assert found == ([row.split(",")[0] for row in USUAL] + cells, {})


def test_quotes_in_a_table_of_tabs_are_text_unless_all_cells_with_quotes_are_quoted(tmp_path):
    assert left_out(tmp_path, 'text\tlabel\n"a ""b"" c"\tx\n"d\te"\ty\n', "a.tsv") == (['a "b" c', "d\te"], {})
    assert left_out(tmp_path, 'text\tlabel\n"a" b\tx\nc "d"\ty\n"e"\ty\n', "a.tsv")[0] == ['"a" b', 'c "d"', '"e"']
    given = TableOptions(quote='"')
    assert left_out(tmp_path, 'text\tlabel\nc "d"\ty\n"e"\ty\n', "a.tsv", given)[0] == ['c "d"', "e"]


def test_another_quote(tmp_path):
    text = "text;label\n'it is; what \"it\" is';x\nb;y\n"
    assert left_out(tmp_path, text, options=TableOptions(quote="'"))[0] == ['it is; what "it" is', "b"]


def test_text_after_a_quote_in_one_line_is_kept(tmp_path):
    assert left_out(tmp_path, table(['"Great" film,pos', '"a, b" c,neg'])) == (["Great film", "a, b c"], {})


def test_a_quoted_cell_of_many_megabytes_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(quotes, "MAX_CELL", 1000)
    with pytest.raises(UserError, match="the quote that opens a cell in line 3 is not closed within 0 MiB: close it"):
        left_out(tmp_path, table(["a,pos", f'"{"b" * 2000}', *USUAL]))


def test_a_file_that_starts_with_cells_over_several_lines(tmp_path):
    cells = [f"line one, {i}\nline two\n\nline, three" for i in range(300)]
    assert left_out(tmp_path, table([f'"{cell}",pos' for cell in cells])) == (cells, {})


def test_numbers_of_rows_are_recognized_where_no_label_is(tmp_path):
    rows = ['0,"warm and bright', *(f"{i},text {i}" for i in range(1, 200)), '200,they said"']
    text = "id,text\n" + "\n".join([*(f"{i},story {i}" for i in range(900, 999)), *rows]) + "\n"
    texts, reasons = left_out(tmp_path, text, names=["text"])
    assert len(texts) == 299 and reasons == {"a quote opens a cell and is not closed": 1}
    steps = "id,text\n" + "\n".join(f'{i},"Steps:\n1. wash\n2. dry"' for i in range(9)) + "\n"
    assert len(left_out(tmp_path, steps, names=["text"])[0]) == 9


def test_the_end_of_the_sniffed_start_may_be_in_a_quoted_cell(tmp_path, monkeypatch):
    from pipelines.data import delimited

    rows = [f'"a ""{i}""\nb"\tx' for i in range(50)]
    text = "\n".join(["text\tlabel", *rows, ""])
    for start in range(40, 80):
        monkeypatch.setattr(delimited, "_START", start)
        assert left_out(tmp_path, text, "a.tsv") == ([f'a "{i}"\nb' for i in range(50)], {})


CASES = ROOT.parent / "shared" / "cases"


@pytest.mark.skipif(not CASES.is_dir(), reason="there are no case files beside the checkout")
@pytest.mark.parametrize(
    ("name", "rows", "left_out"),
    [("first-row-too-long.csv", 59, {"too many cells in the row": 1}), ("quotes-open.tsv", 60, {})],
)
def test_the_case_files(name, rows, left_out):
    found = labelled_texts.read(str(CASES / name))["train"]
    assert (len(found), found.dropped) == (rows, left_out)
    assert set(found.labels) == {"negative", "positive"}
