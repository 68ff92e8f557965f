import pytest

from pipelines.data import delimited
from pipelines.data.table_options import DEFAULTS, TableOptions
from pipelines.support.errors import UserError


def read(tmp_path, text, name="a.csv", encoding="utf-8", rows=100):
    (tmp_path / name).write_text(text, encoding=encoding)
    return list(delimited.chunks(tmp_path / name, rows, DEFAULTS))


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
        list(delimited.chunks(tmp_path / "a.csv", 100, TableOptions(encoding="utf-16")))
    text = "text,label\n" + "a film with café déjà vu,pos\n" * 40
    with pytest.raises(UserError, match="is not UTF-8 .*probably cp1252.*--encoding cp1252"):
        read(tmp_path, text, encoding="cp1252")
