import json

import pytest

from pipelines.data import labelled_texts, pairs, tables
from pipelines.data.table_options import TableOptions
from pipelines.support.errors import UserError

ROWS = [{"text": f"text {i}", "label": "ab"[i % 2], "n": i} for i in range(12)]
FORMS = {
    "lines": "".join(json.dumps(row) + "\n" for row in ROWS),
    "array": json.dumps(ROWS, indent=1),
    "array on one line": json.dumps(ROWS),
    "object": json.dumps({"version": 2, "data": ROWS}),
    "columns": json.dumps({name: {str(i): row[name] for i, row in enumerate(ROWS)} for name in ROWS[0]}),
    "lists": json.dumps({name: [row[name] for row in ROWS] for name in ROWS[0]}),
    "split": json.dumps({"columns": list(ROWS[0]), "index": [*range(12)], "data": [list(r.values()) for r in ROWS]}),
}


@pytest.mark.parametrize("form", FORMS)
def test_each_form_has_the_same_rows(tmp_path, form):
    path = tmp_path / "a.json"
    path.write_text("\n" + FORMS[form])
    ((frame, left_out),) = tables.chunks(path, 100)
    assert (
        frame.to_dict("records") == [{name: str(cell) for name, cell in row.items()} for row in ROWS] and not left_out
    )
    found = labelled_texts.read(str(path))["train"]
    assert found.texts.tolist() == [row["text"] for row in ROWS] and set(found.labels) == {"a", "b"}


def test_an_array_may_be_in_a_file_of_lines_and_other_items_are_counted(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps([ROWS[0], 3, ROWS[1]]))
    ((frame, left_out),) = tables.chunks(path, 100)
    assert len(frame) == 2 and left_out == 1


def test_fields_of_objects_have_dotted_names(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(
        json.dumps([{"id": i, "data": {"text": f"text {i}", "meta": {"kind": "ab"[i % 2]}}} for i in range(9)])
    )
    options = TableOptions(text_column="data.text", label_column="data.meta.kind")
    found = labelled_texts.read(str(path), options)["train"]
    assert found.texts[1] == "text 1" and found.labels[1] == "b" and len(found) == 9
    with pytest.raises(UserError, match="name one of id, data with --text-column and --label-column$"):
        labelled_texts.read(str(path))
    ((chunk, _),) = tables.chunks(path, 100, TableOptions(text_column="data.text"))
    assert list(chunk) == ["id", "data", "data.text"]


def test_translations_have_a_column_for_each_language(tmp_path):
    path = tmp_path / "a.jsonl"
    rows = [{"id": str(i), "translation": {"en": f"a text {i}", "de": f"ein Text {i}"}} for i in range(9)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert pairs.language_pair(str(path), None, None) == "en-de"
    ((frame, _),) = tables.chunks(path, 100)
    assert list(frame) == ["id", "en", "de"] and frame["de"][2] == "ein Text 2"


@pytest.mark.parametrize("text", ["[1", "text", '"text"', "3", "null", "[" * 100_000, ""])
def test_what_has_no_rows_is_refused_in_one_line(tmp_path, text):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(
        UserError, match="expected a JSON object on each line, .* or one array of objects|is empty"
    ) as error:
        tables.columns(path)
    assert "\n" not in str(error.value)


def test_a_row_of_lists_in_lists_is_no_table(tmp_path):
    path = tmp_path / "a.json"
    path.write_text("{}")
    with pytest.raises(UserError):
        tables.columns(path)
