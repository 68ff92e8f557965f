from pathlib import Path

import pytest

from pipelines.data import brat, tagged_sentences
from pipelines.data.token_options import TokenOptions
from pipelines.support.errors import UserError

# As in https://brat.nlplab.org/standoff.html; the text has Windows' line ends, which count as characters.
TEXT = "Sony announced\r\na venture with Ericsson.\r\n"
ANN = (
    "T1\tOrganization 0 4\tSony\nT2\tOrganization 31 39\tEricsson\nE1\tMERGE:T3 Org1:T1\n"
    "T3\tMERGE 5 9;16 25\tanno a venture\n"
    "#1\tAnnotatorNotes T1\ta note\n"
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder, name="a", text=TEXT, ann=ANN):
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.txt").write_bytes(text.encode())
    (folder / f"{name}.ann").write_text(ann)


def test_a_folder_has_texts_and_their_annotations(folder):
    write(folder / "corpus")
    write(folder / "corpus", "b", "No name.\n", "")
    found = tagged_sentences.read("corpus")["train"]
    assert found.texts == ["Sony announced", "a venture with Ericsson.", "No name."] and found.documents == [0, 0, 1]
    assert found.tags[0] == ["B-Organization", "B-MERGE"]
    assert found.tags[1] == ["B-MERGE", "I-MERGE", "O", "B-Organization", "O"]
    assert found.dropped == {
        "parts of spans with gaps, each a span of its own": 2,
        "spans that start or end within a word, extended to the word": 1,
    }


def test_splits_are_folders_and_one_file_is_enough(folder):
    for split in ("train", "dev", "test"):
        write(folder / split, text=f"{split} Sony\n", ann=f"T1\tORG {len(split) + 1} {len(split) + 5}\tSony\n")
    found = tagged_sentences.read(".")
    assert {name: part.tokens for name, part in found.items()} == {
        "train": [["train", "Sony"]],
        "valid": [["dev", "Sony"]],
        "test": [["test", "Sony"]],
    }
    assert tagged_sentences.read("train/a.ann")["train"].tags == [["O", "B-ORG"]]
    assert brat.files(folder / "dev") == [folder / "dev" / "a.ann"]


def test_what_cannot_be_read(folder):
    write(folder, ann="T1 ORG 0 4 Sony\n")
    with pytest.raises(UserError, match="a.ann, line 1: 'T1 ORG 0 4 Sony' is no annotation: expected a name, a tab"):
        tagged_sentences.read("a.ann")
    Path("a.txt").unlink()
    with pytest.raises(UserError, match="a.ann has the annotations of a.txt, which does not exist: put it beside them"):
        tagged_sentences.read("a.ann")
    with pytest.raises(UserError, match="--column 2 has no effect: a.ann has spans of a text"):
        tagged_sentences.read("a.ann", TokenOptions("2"))
