import os

import pytest

from pipelines.data import folders, labelled_texts
from pipelines.support.errors import UserError


def make(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(folder)


def test_acl_imdb(tmp_path):
    folder = make(
        tmp_path,
        {
            "train/pos/0_9.txt": "good",
            "train/pos/1_7.txt": "better",
            "train/neg/0_3.txt": "bad",
            "train/unsup/0_0.txt": "unlabelled",
            "train/urls_pos.txt": "film-a\nfilm-b\n",
            "train/urls_neg.txt": "film-a\n",
            "test/pos/0_10.txt": "fine",
            "test/neg/0_1.txt": "awful",
        },
    )
    found = labelled_texts.read(folder)
    assert found["train"].texts.tolist() == ["bad", "good", "better"]
    assert found["train"].labels.tolist() == ["neg", "pos", "pos"]
    assert found["train"].groups.tolist() == ["film-a", "film-a", "film-b"]
    assert found["test"].texts.tolist() == ["awful", "fine"]
    assert found["test"].groups is None


def test_a_folder_per_class(tmp_path):
    found = labelled_texts.read(
        make(tmp_path, {"happy/1.txt": "a", "sad/x.txt": "b", "notes.txt": "c", "empty/readme.md": "d"})
    )
    assert set(found) == {"train"}
    assert sorted(found["train"].labels) == ["happy", "sad"]


def test_a_file_that_is_not_utf8_is_left_out_and_counted(tmp_path):
    found = labelled_texts.read(make(tmp_path, {"pos/1.txt": "good", "neg/1.txt": "bad", "neg/2.txt": b"caf\xe9"}))[
        "train"
    ]
    assert len(found) == 2
    assert found.dropped == {"not UTF-8": 1}


def test_no_classes(tmp_path):
    with pytest.raises(UserError, match="one sub-folder of .txt files per class"):
        labelled_texts.read(make(tmp_path, {"review.txt": "good"}))


def test_nothing_readable(tmp_path):
    with pytest.raises(UserError, match="none of the 1 files is UTF-8"):
        labelled_texts.read(make(tmp_path, {"pos/1.txt": b"\xff\xfe\xff"}))


def test_a_pipe_in_a_folder_is_not_read(tmp_path):
    make(tmp_path, {"happy/1.txt": "a", "sad/x.txt": "b"})
    os.mkfifo(tmp_path / "happy" / "2.txt")
    assert labelled_texts.read(str(tmp_path))["train"].texts.tolist() == ["a", "b"]
    assert [texts.tolist() for texts, _ in folders.read_texts(tmp_path)] == [["a", "b"]]
