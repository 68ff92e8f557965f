import pytest

from pipelines.data import labelled_texts, tables
from pipelines.data.table_options import DEFAULTS, TableOptions
from pipelines.support.errors import UserError
from tests.pipelines.data.small_tables import left_out


def read(tmp_path, text, name="a.csv", encoding="utf-8", rows=100, options=DEFAULTS):
    (tmp_path / name).write_text(text, encoding=encoding)
    return list(tables.chunks(tmp_path / name, rows, options))


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_found(tmp_path, separator):
    text = 'text,label\na fine film; truly,pos\n"two\nlines",neg\n'.replace(",", separator)
    if separator == ";":
        text = text.replace("film;", "film")
    ((frame, _),) = read(tmp_path, text)
    assert list(frame.columns) == ["text", "label"]
    assert frame["label"].tolist() == ["pos", "neg"] and frame["text"][1] == "two\nlines"


def test_the_separator_of_long_rows_is_found(tmp_path):
    ((frame, _),) = read(tmp_path, "text;label\n" + f"{'a long text, ' * 500};pos\n" * 3)
    assert list(frame.columns) == ["text", "label"]


def test_the_usual_separator_has_precedence(tmp_path):
    ((frame, _),) = read(tmp_path, "text,label;source\na;b;c,1\n")
    assert list(frame.columns) == ["text", "label;source"]
    ((frame, _),) = read(tmp_path, "text;note\nonly one column\nas the other rows have one cell\n")
    assert list(frame.columns) == ["text;note"]


def test_a_file_of_one_column(tmp_path):
    ((frame, _),) = read(tmp_path, "text\na fine film\nA dull one; truly\n")
    assert frame["text"].tolist() == ["a fine film", "A dull one; truly"]


def test_chunks_have_at_most_so_many_rows_and_count_skipped_ones(tmp_path):
    found = read(tmp_path, "text,label\na,1\nb,2,3\nc,4\nd,5\n", rows=2)
    assert [(len(frame), skipped) for frame, skipped in found] == [(2, 1), (1, 0)]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_is_no_part_of_the_header(tmp_path, encoding):
    ((frame, _),) = read(tmp_path, "text;label\nschön;gut\n", encoding=encoding)
    assert frame.to_dict("records") == [{"text": "schön", "label": "gut"}]


def test_another_encoding_is_named_with_the_remedy(tmp_path):
    text = "text,label\n" + "Das Café ist schön, naïve Müllers träumen,gut\n".replace(", n", " n") * 40
    with pytest.raises(UserError, match="is not UTF-8 .*probably cp1252.*--encoding cp1252"):
        read(tmp_path, text, encoding="cp1252")
    with pytest.raises(UserError, match="a.csv is not utf-16 .*: give its encoding with --encoding, or leave it out"):
        list(tables.chunks(tmp_path / "a.csv", 100, TableOptions(encoding="utf-16")))
    text = "text,label\n" + "a film with café déjà vu,pos\n" * 40
    with pytest.raises(UserError, match="is not UTF-8 .*probably cp1252.*--encoding cp1252"):
        read(tmp_path, text, encoding="cp1252")


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_rows_with_too_many_cells_are_counted_also_the_first_one(tmp_path, rows):
    text = "text,label\nwarm, bright, and honest,pos\na dull one,neg\nlong, too,pos\na fine one,pos\n"
    found = left_out(tmp_path, text, rows=rows)
    assert found == (["a dull one", "a fine one"], {"too many cells in the row": 2})
    without_header = TableOptions(header=False)
    text = text.split("\n", 1)[1]
    frames, skipped = zip(*read(tmp_path, text, options=without_header, rows=rows), strict=True)
    assert [row for frame in frames for row in frame["1"]] == ["a dull one", "a fine one"] and sum(skipped) == 2


def test_empty_cells_after_the_last_column_are_no_cells(tmp_path):
    assert left_out(tmp_path, "text,label\na,pos,\nb,neg, ,\n") == (["a", "b"], {})


def test_rows_with_too_few_cells_are_counted_where_a_cell_that_is_read_is_missing(tmp_path):
    text = "text,label,note\na,pos\nb\nc,neg,x\n"
    assert left_out(tmp_path, text) == (["a", "c"], {"too few cells in the row": 1})
    ((frame, skipped),) = read(tmp_path, text)  # all columns, to be written again
    assert (frame["label"].tolist(), frame["note"].tolist(), skipped) == (["pos", "", "neg"], ["", "", "x"], 0)


def test_the_cell_of_the_group_may_be_missing(tmp_path):
    (tmp_path / "a.csv").write_text("text,label,url\na,pos\nb,neg,film\n")
    found = labelled_texts.read(str(tmp_path / "a.csv"))["train"]
    assert (found.texts.tolist(), found.groups.tolist(), found.dropped) == (["a", "b"], ["", "film"], {})


def test_a_file_in_which_no_row_can_be_read(tmp_path):
    with pytest.raises(UserError, match=r"none of its 3 rows .* too many .* \(3\); the header has 1, line 2 has"):
        left_out(tmp_path, "text\na, b\n\nc, d\ne, f\n")


def test_columns_without_a_name_or_with_that_of_another_one_have_their_own(tmp_path):
    ((frame, _),) = read(tmp_path, "text,,label,text,text\na,b,c,d,e\n")
    assert frame.to_dict("records") == [{"text": "a", "Unnamed: 1": "b", "label": "c", "text.1": "d", "text.2": "e"}]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends(tmp_path, end):
    (tmp_path / "a.csv").write_text('text,label\n"two\nlines",pos\n\nb,neg'.replace("\n", end), newline="")
    ((frame, skipped),) = tables.chunks(tmp_path / "a.csv", 100)
    assert (frame["text"].tolist(), skipped) == ([f"two{end}lines", "b"], 0)
