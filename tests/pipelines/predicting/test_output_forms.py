import codecs

import pytest

from pipelines.data.table_options import TableOptions
from pipelines.data.text_chunks import Columns
from pipelines.predicting.output_forms import Form, form_of
from pipelines.support.errors import UserError

TEXT = "id;text\n1;sch\u00f6n\n2;a b\n"


@pytest.mark.parametrize(
    ("name", "encoding", "flags", "suffix", "form"),
    [
        ("a.csv", "utf-8", {}, ".csv", (";", "utf-8")),
        ("a.csv", "utf-8-sig", {}, ".csv", (";", "utf-8-sig")),
        ("a.csv", "utf-16", {}, ".csv", (";", "utf-16")),
        ("a.csv", "cp1252", {"encoding": "cp1252"}, ".csv", (";", "cp1252")),
        ("a.csv", "cp1252", {"encoding": "cp1252"}, ".tsv", ("\t", "cp1252")),
        ("a.csv", "utf-8", {"output_separator": ","}, ".csv", (",", "utf-8")),
        ("a.csv", "utf-8", {"output_separator": "tab", "output_encoding": "cp1252"}, ".csv", ("\t", "cp1252")),
        ("a.txt", "utf-8-sig", {}, ".csv", (",", "utf-8-sig")),
        ("a.xlsx", "utf-8-sig", {}, ".csv", (",", "utf-8")),
        ("a.csv", "utf-8", {"output_decimal": "."}, ".csv", (";", "utf-8", ".")),
        ("a.csv", "utf-8", {"output_decimal": ","}, ".tsv", ("\t", "utf-8", ",")),
    ],
)
def test_the_form_is_that_of_the_input_unless_a_flag_or_the_suffix_says_otherwise(
    tmp_path, name, encoding, flags, suffix, form
):
    path = tmp_path / name
    path.write_bytes(TEXT.encode(encoding))
    assert form_of(Columns(["id", "text"], "text", str(path)), TableOptions(**flags), suffix) == Form(
        *form, **({} if len(form) == 3 else {"decimal": "," if form[0] == ";" else "."})
    )


def test_without_a_file_there_are_commas():
    for path in ("-", "s3://bucket/a.csv"):
        assert form_of(Columns(["text"], "text", path), TableOptions(), ".csv") == (",", "utf-8", ".")
    assert form_of(None, TableOptions(), ".tsv") == ("\t", "utf-8", ".")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "UTF_16", "utf-16-le", "cp1252"])
def test_parts_are_one_text_with_one_mark(encoding):
    form = Form(";", encoding)
    content = form.encoded("\u00e4;b\n", is_start=True) + form.encoded("\u00f6;d\n", is_start=False)
    assert content.decode(encoding) == "\u00e4;b\n\u00f6;d\n"
    assert content.startswith(codecs.BOM_UTF8) == (encoding == "utf-8-sig")


def test_a_character_that_the_encoding_lacks_is_one_line():
    assert Form(";", "cp1252").encoded("a\ufffd", is_start=True) == b"a?"  # a byte that was no text
    with pytest.raises(UserError, match="cp1252 has no character '\u65e5', .*--output-encoding utf-8-sig"):
        Form(";", "cp1252").encoded("a\u65e5", is_start=True)
