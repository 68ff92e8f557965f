"""Files as the tools' own documentation shows them: https://spacy.io/api/data-formats (v3), https://doccano.github.io
(1.8), https://prodi.gy/docs/api-interfaces (1.15), https://labelstud.io/guide/export (1.13).
"""

import json

import pytest

from pipelines.data import annotations, tagged_sentences
from pipelines.data.token_options import TokenOptions
from pipelines.support.errors import UserError

TEXT = "Jim Bo went to New York."
TOKENS = ["Jim", "Bo", "went", "to", "New", "York", "."]
TAGS = ["B-PER", "I-PER", "O", "O", "B-LOC", "I-LOC", "O"]
TRIPLES = [[0, 6, "PER"], [15, 23, "LOC"]]
NAMED = [{"start": start, "end": end, "label": label} for start, end, label in TRIPLES]
WITH_LABELS = [{"start": a, "end": b, "text": TEXT[a:b], "labels": [label]} for a, b, label in TRIPLES]
RESULT = [
    {"value": value, "id": f"r{i}", "from_name": "label", "to_name": "text", "type": "labels", "origin": "manual"}
    for i, value in enumerate(WITH_LABELS)
]
LABEL_STUDIO = {
    "id": 1,
    "data": {"text": TEXT, "meta_info": "a source"},
    "annotations": [{"id": 8, "completed_by": 1, "result": RESULT, "was_cancelled": False, "ground_truth": False}],
    "predictions": [],
}
OLD_LABEL_STUDIO = {"id": 1, "data": {"title": "x", "body": TEXT}, "completions": [{"id": 8, "result": RESULT}]}
DOCCANO_RELATIONS = {
    "id": 1,
    "text": TEXT,
    "relations": [],
    "entities": [
        {"id": i, "label": label, "start_offset": start, "end_offset": end}
        for i, (start, end, label) in enumerate(TRIPLES)
    ],
}
PRODIGY = {
    "text": TEXT,
    "_input_hash": 1,
    "tokens": [{"text": "Jim", "start": 0, "end": 3, "id": 0}],
    "spans": [{**each, "token_start": 0, "token_end": 1} for each in NAMED],
    "answer": "accept",
}
RECORDS = {
    "spaCy": [TEXT, {"entities": TRIPLES}],
    "doccano": {"id": 7, "text": TEXT, "label": TRIPLES, "Comments": []},
    "doccano, labels": {"id": 7, "data": TEXT, "labels": TRIPLES},
    "doccano, relations": DOCCANO_RELATIONS,
    "Prodigy": PRODIGY,
    "Label Studio": LABEL_STUDIO,
    "Label Studio before 1.0": OLD_LABEL_STUDIO,
    "Label Studio, JSON-MIN": {"id": 1, "text": TEXT, "label": WITH_LABELS, "annotator": 1, "lead_time": 3.2},
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name, *records, text=None):
    with open(name, "w", encoding="utf-8") as file:
        file.write("".join(json.dumps(record) + "\n" for record in records) if text is None else text)
    return name


def read(name, **options):
    return tagged_sentences.read(name, TokenOptions(**options))["train"]


@pytest.mark.parametrize("tool", RECORDS)
def test_the_records_of_each_tool_on_lines_in_an_array_and_in_an_object(tool):
    record = RECORDS[tool]
    write("lines.jsonl", record, record)
    write("array.json", text=json.dumps([record, record], indent=2))
    write("one-line.json", text=json.dumps([record, record]))
    write("object.json", text=json.dumps({"classes": ["PER", "LOC"], "annotations": [record, record]}))
    write("lines.txt", record, record)
    for name in ("lines.jsonl", "array.json", "one-line.json", "object.json", "lines.txt"):
        found = read(name)
        assert found.tokens == [TOKENS, TOKENS] and found.tags == [TAGS, TAGS], name
        assert found.texts == [TEXT, TEXT] and found.documents == [0, 1] and found.dropped == {}


def test_what_is_left_out_is_counted_once():
    cancelled = LABEL_STUDIO | {"annotations": [{"result": [], "was_cancelled": True}]}
    twice = LABEL_STUDIO | {"annotations": [*LABEL_STUDIO["annotations"], {"result": []}]}
    found = read(write("a.json", cancelled, twice, LABEL_STUDIO))
    assert len(found) == 2
    assert found.dropped == {
        "texts without an annotation, left out": 1,
        "further annotations of a text, left out": 1,
    }
    rejected, no_label = PRODIGY | {"answer": "reject"}, {"text": "a b", "spans": [{"start": 0, "end": 1, "label": ""}]}
    several = {"text": "a b", "spans": [{"start": 0, "end": 1, "labels": ["X", "Y"]}]}
    found = read(write("b.jsonl", PRODIGY, rejected, no_label, several))
    assert found.tags[1:] == [["O", "O"], ["B-X", "O"]]
    assert found.dropped == {
        "texts whose annotation was not accepted, left out": 1,
        "spans without a label, left out": 1,
        "spans with several labels, of which the first one counts": 1,
    }
    found = read(write("c.jsonl", text=json.dumps(PRODIGY) + '\n{"text": \n\n' + json.dumps(PRODIGY)))
    assert len(found) == 2 and found.dropped == {"lines that are no JSON": 1}


def test_lone_halves_of_pairs_do_not_move_positions():
    write("a.jsonl", text='{"text": "\\ud83d Jim", "label": [[2, 5, "PER"]]}\n')
    found = read("a.jsonl")
    assert found.tokens == [["\N{REPLACEMENT CHARACTER}", "Jim"]] and found.tags == [["O", "B-PER"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[1, 2]]", "a.json is a table of texts with their labels"),
        ("[1", "a.json is no JSON: expected a record on each line"),
        ("[" * 100_000, "a.json is no JSON"),
        ('{"text": "a b", "label": ["pos", "neg"]}', "a.json is a table of texts with their labels"),
        (
            '{"text": "a b", "marks": [[0, 1, "X"]]}',
            "a.json: the field 'marks' may have spans, .* in one of the fields spans,",
        ),
        (
            '{"words": "a b", "spans": [{"start": 0, "end": 1, "label": "X"}]}',
            "'spans' may have .* beside the text in text",
        ),
        ('{"text": "a b", "label": [[0, 1, "X"]]}\n{"id": 3}', r"a.json, record 2 has no text with spans \(."),
        (
            '{"text": "a b", "label": [[0, 1]]}',
            r"a.json, record 1: \[0, 1\] is no span: expected \[start, end, label\]",
        ),
        ('{"text": "a b", "label": [[0, 1.5, "X"]]}', "is no span"),
        ('{"text": "a b", "label": [[false, true, "X"]]}', "is no span"),
        ('{"text": "a b", "label": [[0, 1, {"a": 1}]]}', "is no span"),
        ('{"text": "a b", "label": [[0, 1, "X"], "X", 3]}', 'a.json, record 1: "X" is no span'),
        ('{"text": "a b", "label": [[0, 9, "X"]]}', "a.json: 1 of 1 spans are outside of their texts"),
        ('{"text": "a b", "label": [[-1, 1, "X"]]}', "a.json: 1 of 1 spans are outside of their texts"),
        ('{"text": "a b", "label": [[3, 0, "X"]]}', "a.json: 1 of 1 spans are outside of their texts"),
        ('{"text": "a b", "label": [[0, 1' + "0" * 30 + ', "X"]]}', "a.json: 1 of 1 spans are outside of their texts"),
        ('{"text": "abc d", "label": [[1, 2, "X"]]}', "a.json: 1 of 1 spans start or end within words"),
        ('{"text": "a b", "label": [[0, 1, ["X", 3, null]]]}', "is no span"),
        ('{"text": "a b", "label": [[0, 1, true]]}', "is no span"),
        ('{"text": "a b", "label": [[0, 1, ' + "[" * 100 + "]" * 100 + "]]}", "is no span"),
        ('{"text": "a b", "label": [' + "[" * 100 + "]" * 100 + "]}", "is no span"),
        ('{"text": "a b", "label": ' + "[" * 100_000 + "}", "a.json is no JSON"),
        ("[" * 100 + "]" * 100, "a.json is a table of texts with their labels"),
        ('{"data": {"text": "a b"}, "annotations": []}', "a.json has no annotated text"),
        ('{"data": {"text": "a b"}, "annotations": [null, 3]}', "a.json has no annotated text"),
    ],
)
def test_what_cannot_be_read_is_an_error_of_one_line(text, message):
    with pytest.raises(UserError, match=message) as error:
        read(write("a.json", text=text))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "result", ["7", "null", "[null, 3]", '[{"value": {"start": 2, "end": 3, "labels": ["X"], "globalOffsets": 5}}]']
)
def test_parts_of_label_studio_that_have_another_form_are_left_out(result):
    found = read(write("a.json", text='{"data": {"text": "a b"}, "annotations": [{"result": ' + result + "}]}"))
    assert found.tokens == [["a", "b"]] and found.tags in ([["O", "O"]], [["O", "B-X"]])


def test_options_of_other_formats_are_refused():
    write("a.json", PRODIGY)
    for name in ("column", "token_column", "tag_names", "separator"):
        with pytest.raises(UserError, match="has no effect: a.json "):
            read("a.json", **{name: "," if name == "separator" else "ner"})


def test_files_may_be_in_another_encoding_and_compressed(folder):
    import gzip

    record = {"text": "Zoë und André", "label": [[0, 3, "PER"]]}
    data = json.dumps(record, ensure_ascii=False).encode("cp1252")
    (folder / "a.jsonl.gz").write_bytes(gzip.compress(data))
    assert read("a.jsonl.gz", encoding="cp1252").tokens == [["Zoë", "und", "André"]]
    with pytest.raises(UserError, match="give its encoding with --encoding cp1252"):
        read("a.jsonl.gz")


def test_only_records_with_a_list_of_spans_or_tags_are_annotated():
    assert annotations.is_annotated(["a", {"entities": []}]) and not annotations.is_annotated(["a", "b"])
    assert not annotations.is_annotated({"text": "a", "label": "pos"}) and not annotations.is_annotated(None)
    assert not annotations.is_annotated({"text": "a", "label": ["pos"]})
