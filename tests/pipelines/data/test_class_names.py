import json

import pyarrow
import pyarrow.parquet

from pipelines.data import class_names, labelled_texts, tagged_sentences

LABEL = {"names": ["neg", "pos"], "_type": "ClassLabel"}
TAGS = {"names": ["O", "B-PER", "I-PER"], "_type": "ClassLabel"}


def test_lists_of_numbers_are_described_in_three_ways():
    for feature in ({"feature": TAGS, "_type": "Sequence"}, {"feature": TAGS, "_type": "List"}, [TAGS]):
        classes = class_names.of_features({"ner_tags": feature, "label": LABEL, "text": {"dtype": "string"}})
        assert classes == {"ner_tags": TAGS["names"], "label": LABEL["names"]}
    row = {"ner_tags": [1, 2, 0, -1, 9], "label": 1, "text": "a"}
    assert class_names.named(row, classes) == {
        "ner_tags": ["B-PER", "I-PER", "O", None, None],
        "label": "pos",
        "text": "a",
    }
    assert class_names.named({"label": None}, classes) == {"label": None}


def write(path, rows, features):
    table = pyarrow.Table.from_pylist(rows)
    description = json.dumps({"info": {"features": features}})
    pyarrow.parquet.write_table(table.replace_schema_metadata({"huggingface": description}), path)


def test_parquet_files_of_hugging_face_have_names_of_tags_and_labels(tmp_path):
    rows = [{"tokens": ["Jim", "Bo", "sings"], "ner_tags": [1, 2, 0]}] * 2
    for name in ("train-00000-of-00002.parquet", "train-00001-of-00002.parquet", "validation-00000-of-00001.parquet"):
        write(tmp_path / name, rows, {"ner_tags": {"feature": TAGS, "_type": "Sequence"}})
    found = tagged_sentences.read(str(tmp_path))
    assert {name: len(part) for name, part in found.items()} == {"train": 4, "valid": 2}
    assert found["valid"].tags[0] == ["B-PER", "I-PER", "O"]
    write(tmp_path / "a.parquet", [{"text": f"text {i}", "label": i % 2} for i in range(10)], {"label": LABEL})
    assert set(labelled_texts.read(str(tmp_path / "a.parquet"))["train"].labels) == {"neg", "pos"}
