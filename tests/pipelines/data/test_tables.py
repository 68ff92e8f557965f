import bz2
import gzip
import lzma
import zipfile
from pathlib import Path

import numpy as np
import pytest

from pipelines.data import labelled_texts, tables
from pipelines.data.table_options import TableOptions
from pipelines.support.errors import UserError

CSV = 'review,sentiment\n"A fine film, truly.",pos\nDull.,neg\n"Two\nlines",pos\n'


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_plain_csv(tmp_path):
    found = labelled_texts.read(write(tmp_path / "a.csv", CSV))["train"]
    assert found.texts.tolist() == ["A fine film, truly.", "Dull.", "Two\nlines"]
    assert found.labels.tolist() == ["pos", "neg", "pos"]
    assert found.groups is None
    assert found.dropped == {}


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2", ".zip"])
def test_compressed(tmp_path, suffix):
    path = tmp_path / f"a.csv{suffix}"
    if suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a.csv", CSV)
    else:
        path.write_bytes({".gz": gzip, ".xz": lzma, ".bz2": bz2}[suffix].compress(CSV.encode()))
    assert len(labelled_texts.read(str(path))["train"]) == 3


def test_tsv_bom_and_columns_by_name(tmp_path):
    path = tmp_path / "a.TSV"
    path.write_bytes("\ufeffStars\tBody\turl\n5\tgood\tfilm-1\n1\tbad\tfilm-2\n".encode())
    found = labelled_texts.read(str(path))["train"]
    assert (found.texts.tolist(), found.labels.tolist()) == (["good", "bad"], ["5", "1"])
    assert found.groups.tolist() == ["film-1", "film-2"]


def test_columns_given(tmp_path):
    path = write(tmp_path / "a.csv", "text,said,verdict,label\nx,one,a,1\ny,two,b,2\n")
    found = labelled_texts.read(path, TableOptions("said", "verdict"))["train"]
    assert (found.texts.tolist(), found.labels.tolist()) == (["one", "two"], ["a", "b"])


def test_the_label_is_not_the_rating_where_both_are_there(tmp_path):
    path = write(tmp_path / "a.csv", "review,rating,sentiment\nx,3,negative\ny,9,positive\n")
    assert labelled_texts.read(path)["train"].labels.tolist() == ["negative", "positive"]


def test_bad_rows_are_left_out_and_counted(tmp_path):
    rows = "text,label\ngood,pos\n,neg\n   ,neg\nno label,\nshort\ntoo,many,cells\nNA,neg\n"
    found = labelled_texts.read(write(tmp_path / "a.csv", rows))["train"]
    assert found.texts.tolist() == ["good", "NA"]  # the word NA is a text, not a gap
    assert found.dropped == {
        "too few cells in the row": 1,
        "too many cells in the row": 1,
        "empty text": 2,
        "no label": 1,
    }


def test_a_cell_of_10_megabytes(tmp_path):
    found = labelled_texts.read(write(tmp_path / "a.csv", f"text,label\n{'good ' * 2_000_000},pos\nbad,neg\n"))["train"]
    assert len(found.texts[0]) == 10_000_000


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "is empty"),
        ("a.csv", b"\n\n", "is empty"),
        ("a.csv", b"text,label\n", "no rows"),
        ("a.csv", b"foo,label\nx,1\n", "name one of foo, label with --text-column"),
        ("a.csv", b"text,foo\nx,1\n", "name one of text, foo with --label-column"),
        ("a.csv", "text,label\ncaf\xe9,1\n".encode("latin-1"), "is not UTF-8.*0xe9.*--encoding"),
        (
            "a.csv",
            b"text,label\na,b,1\nc,d,2\n",
            r"none of its 2 rows .* too many .* header has 2, line 2 has 3 cells\.",
        ),
        ("a.csv", b'"text,label\na,1\n', "a quote opens a cell in its first line and is not closed: .* --quote none"),
        ("a.csv.gz", b"this is not gzip", "is damaged"),
        ("a.csv.gz", gzip.compress(CSV.encode() * 100, mtime=0)[:-20], "is damaged"),
        ("a.csv.xz", lzma.compress(CSV.encode())[:-5], "is damaged"),
        ("a.csv.bz2", b"BZh9 nonsense", "is damaged"),
        ("a.csv.zip", b"nonsense", "is damaged"),
        ("a.txt", b"text", "expected a .csv, .tsv, .jsonl, .json, .parquet or .xlsx file"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_line_with_the_remedy(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UserError, match=message) as error:
        labelled_texts.read(str(path))
    assert "\n" not in str(error.value)
    assert str(path) in str(error.value)


def test_a_column_that_is_not_there(tmp_path):
    with pytest.raises(UserError, match="no column 'body'; its columns are: review, sentiment"):
        labelled_texts.read(write(tmp_path / "a.csv", CSV), TableOptions("body"))


NO_HEADER = "ham\tsee you at noon\nspam\twin a prize, call now\nham\tgood night\n"


def test_a_table_without_a_header_is_noticed_and_read(tmp_path):
    path = write(tmp_path / "a.tsv", NO_HEADER)
    with pytest.raises(UserError, match="its first line looks like a row .*--no-header"):
        labelled_texts.read(path)
    found = labelled_texts.read(path, TableOptions(header=False))["train"]
    assert found.labels.tolist() == ["ham", "spam", "ham"] and found.texts[0] == "see you at noon"
    found = labelled_texts.read(path, TableOptions("1", "2", header=False))["train"]
    assert found.texts.tolist() == ["ham", "spam", "ham"]
    three = write(tmp_path / "b.csv", "1,a long text,x\n2,another text,y\n")
    with pytest.raises(UserError, match="name one of 1, 2, 3 with --label-column"):
        labelled_texts.read(three, TableOptions(header=False))


def test_encoding_and_separator_are_as_given(tmp_path):
    (tmp_path / "a.csv").write_bytes("text*label\nschön*gut\n".encode("cp1252"))
    found = labelled_texts.read(str(tmp_path / "a.csv"), TableOptions(encoding="cp1252", separator="*"))["train"]
    assert (found.texts.tolist(), found.labels.tolist()) == (["schön"], ["gut"])


def test_a_separator_that_is_not_found_is_named(tmp_path):
    with pytest.raises(UserError, match=r"a.csv has only one column, text\^label: if '\^' is .* give --separator '\^'"):
        labelled_texts.read(write(tmp_path / "a.csv", "text^label\na^b\nc^d\n"))
    with pytest.raises(UserError, match="name one of my-words with --text-column"):
        labelled_texts.read(write(tmp_path / "b.csv", "my-words\na b\n"))


def test_the_column_with_the_text_is_no_label(tmp_path):
    with pytest.raises(UserError, match="the column 'text' is the one with the text: name another one with --label-co"):
        labelled_texts.read(write(tmp_path / "a.csv", "text,label\na,b\n"), TableOptions(label_column="text"))


def test_several_tables_of_any_format_are_read_one_after_the_other(tmp_path):
    files = (
        write(tmp_path / "a.csv", "text,label,url\none,x,u\ntoo,many,cells,y\n"),
        write(tmp_path / "b.jsonl", '{"label": "y", "url": "v", "text": "two"}\nno object\n'),
        write(tmp_path / "c.tsv", "url\ttext\tlabel\nw\tthree\tx\n"),
    )
    found = labelled_texts.read(files)["train"]
    assert found.texts.tolist() == ["one", "two", "three"]
    assert (found.labels.tolist(), found.groups.tolist()) == (["x", "y", "x"], ["u", "v", "w"])
    assert found.dropped == {"too many cells in the row": 1, "the line is no JSON object": 1}
    chunks = list(tables.read_texts([Path(path) for path in files], TableOptions()))
    assert [text for texts, _, _ in chunks for text in texts] == ["one", "two", "three"]
    assert [group for _, groups, _ in chunks for group in groups] == ["u", "v", "w"]


def test_a_table_with_other_columns_is_named(tmp_path):
    first = write(tmp_path / "a.csv", "text,label\none,x\n")
    other = write(tmp_path / "b.csv", "text,Label,note\ntwo,y,z\n")
    with pytest.raises(UserError, match="b.csv has no column label, and also Label, note, unlike .*a.csv: .* same"):
        labelled_texts.read((first, other))
    with pytest.raises(UserError, match=f"{tmp_path.name} is a folder: give one folder, or several files"):
        labelled_texts.read((first, str(tmp_path)))


def test_an_option_that_does_not_fit_the_format_is_refused(tmp_path):
    path = write(tmp_path / "a.jsonl", '{"text": "a", "label": "b"}\n')
    with pytest.raises(UserError, match="--separator ; has no effect: .*a.jsonl is not .csv or .tsv"):
        labelled_texts.read(path, TableOptions(separator=";"))
    with pytest.raises(UserError, match="--no-header has no effect"):
        labelled_texts.read(path, TableOptions(header=False))


def test_the_columns_of_the_training_come_before_usual_names(tmp_path):
    path = write(tmp_path / "a.csv", "text,said,label\nx,one,a\n")
    options = TableOptions().after_training({"config": {"text_column": "said", "label_column": "verdict"}})
    found = labelled_texts.read(path, options)["train"]
    assert (found.texts.tolist(), found.labels.tolist()) == (["one"], ["a"])


def test_the_real_reviews(imdb_file):
    found = labelled_texts.read(str(imdb_file))["train"]
    assert len(found) == 25_000
    assert dict(zip(*np.unique(found.labels, return_counts=True), strict=True)) == {
        "negative": 12_500,
        "positive": 12_500,
    }
    assert len(set(found.groups)) == 3456


def test_a_column_of_numbers_is_no_text(tmp_path):
    path = write(tmp_path / "a.csv", "id,text,label\n17,a,x\n18,b,y\n")
    with pytest.raises(
        UserError, match=r"the column 'id' has numbers, such as 17, .*--text-column \(id, text, label\)"
    ):
        labelled_texts.read(path, TableOptions("id"))
    assert len(labelled_texts.read(write(tmp_path / "b.csv", "text,label\n17,x\nseven,y\n"))["train"]) == 2


def test_the_column_with_the_text_has_no_label(tmp_path):
    (tmp_path / "a.csv").write_text("text,label\ngood,1\n")
    with pytest.raises(UserError, match="the column 'text' is the one with the text: leave it out of --label-columns"):
        tables.read([tmp_path / "a.csv"], TableOptions(label_columns=("label", "text")))


def test_a_column_has_weights(tmp_path):
    path = write(tmp_path / "a.csv", "text,label,times\ngood,x,2\n,x,5\nbad,y,0.5\n")
    rows = labelled_texts.read(path, TableOptions(weight_column="times"))["train"]
    assert rows.weights.tolist() == [2, 0.5] and rows.take(np.array([1])).weights.tolist() == [0.5]
    assert labelled_texts.read(path)["train"].weights is None


@pytest.mark.parametrize(
    ("column", "cells", "message"),
    [
        ("weight", "1,2", r"--weight-column weight: it must be another column of the table \(times\)"),
        ("label", "1,2", "--weight-column label: it must be another column"),
        ("times", "1,many", "--weight-column times: 'many' in row 2 is no weight"),
        ("times", "1,-1", "'-1' in row 2 is no weight: give each row a number of at least 0"),
        ("times", "1,", "'' in row 2 is no weight"),
        ("times", "0,0", "all weights are 0"),
    ],
)
def test_a_column_that_has_no_weights_is_named(tmp_path, column, cells, message):
    first, second = cells.split(",")
    path = write(tmp_path / "a.csv", f"text,label,times\ngood,x,{first}\nbad,y,{second}\n")
    with pytest.raises(UserError, match=message):
        labelled_texts.read(path, TableOptions(weight_column=column))
