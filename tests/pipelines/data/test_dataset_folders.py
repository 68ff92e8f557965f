"""Folders that Hugging Face's `save_to_disk` writes, which are made here with pyarrow alone."""

import json

import pyarrow
import pytest

from pipelines.data import dataset_folders, labelled_texts, pairs, tables, text_chunks
from pipelines.data.table_options import TableOptions
from pipelines.predicting import input_files
from pipelines.support.errors import UserError


def write(folder, rows, features, files=2):
    """Writes a split: its rows in several Arrow files, with the features of its columns."""
    folder.mkdir(parents=True)
    names = [f"data-{i:05}-of-{files:05}.arrow" for i in range(files)]
    for i, name in enumerate(names):
        table = pyarrow.Table.from_pylist(rows[i::files])
        with pyarrow.OSFile(str(folder / name), "wb") as sink, pyarrow.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=3)
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": name} for name in names]}))
    (folder / "dataset_info.json").write_text(json.dumps({"features": features}))
    return folder


FEATURES = {
    "text": {"dtype": "string", "_type": "Value"},
    "label": {"names": ["negative", "positive"], "_type": "ClassLabel"},
}


@pytest.fixture
def folder(tmp_path):
    rows = [{"text": f"text of number {i}", "label": i % 2, "id": i} for i in range(30)]
    return write(tmp_path / "reviews", [*rows, {"text": "no label", "label": -1, "id": 30}], FEATURES)


def test_labels_are_the_names_of_the_classes(folder):
    found = labelled_texts.read(str(folder))["train"]
    assert dict(zip(found.texts, found.labels))["text of number 7"] == "positive"
    assert len(found) == 30 and found.dropped == {"no label": 1}
    chunks = list(labelled_texts.read_chunks(str(folder), "train"))
    assert [text for chunk in chunks for text in chunk.texts] == found.texts.tolist()


def test_only_the_columns_that_are_needed_are_read(folder):
    rows = list(dataset_folders.rows(folder, TableOptions(), ["text", "absent"]))
    assert len(rows) == 31 and rows[0] == {"text": "text of number 0"}


def test_texts_for_prediction_keep_their_columns(folder):
    (file,) = input_files.find(str(folder))
    (chunk,) = text_chunks.read_file(file.path, TableOptions())
    assert list(chunk.rows) == ["text", "label", "id"] and chunk.column == "text" and len(chunk.rows) == 31


def test_pairs_of_a_folder(tmp_path):
    rows = [{"en": f"a text {i}", "de": f"ein Text {i}"} for i in range(10)]
    folder = write(tmp_path / "pairs", rows, {}, files=1)
    assert pairs.language_pair(str(folder), None, None) == "en-de"
    found = pairs.read(str(folder), None, None)["train"]
    assert len(found.source) == 10 and found.target[3] == "ein Text 3"


def test_what_cannot_be_read_is_one_line(folder, tmp_path):
    (tmp_path / "both").mkdir()
    (tmp_path / "both" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    with pytest.raises(UserError, match="both has the splits train, test: give one, such as .*both/train"):
        labelled_texts.read(str(tmp_path / "both"))
    with pytest.raises(UserError, match="--separator ; has no effect: .* is not .csv or .tsv"):
        labelled_texts.read(str(folder), TableOptions(separator=";"))
    (folder / "data-00001-of-00002.arrow").write_bytes(b"no arrow")
    with pytest.raises(UserError, match="reviews is damaged, or no dataset of Hugging Face"):
        labelled_texts.read(str(folder))
    (folder / "state.json").write_text("{")
    with pytest.raises(UserError, match="reviews/state.json is damaged"):
        labelled_texts.read(str(folder))
    assert not tables.is_table(tmp_path)
