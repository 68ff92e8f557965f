from pathlib import Path

import pytest

from pipelines.data import corpora, prepared, sample_reviews, sources
from pipelines.data.prepared import Contents
from pipelines.support.errors import UserError
from pipelines.task import TASKS


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (None, "sample"),
        ("imdb", "imdb"),
        ("/somewhere/my reviews.csv.gz", "my-reviews"),
        ("folder/", "folder"),
        ("/", "data"),
        (("a.csv", "folder/b.csv", "c.csv"), "a-and-2-more"),
    ],
)
def test_the_name_of_the_data_can_be_part_of_a_folders_name(data, name):
    assert sources.name(data) == name


def test_the_fingerprint_of_a_file_changes_with_its_content(tmp_path):
    path = tmp_path / "reviews.csv"
    fingerprints = set()
    for content in ("text,label\na,1\n", "text,label\na,2\n"):
        path.write_text(content)
        fingerprints.add(sources.fingerprint(str(path), TASKS["classification"]))
    assert len(fingerprints) == 2


def test_the_record_has_the_name_and_the_fingerprint_of_each_of_several_files(tmp_path):
    entry = TASKS["classification"]
    files = tuple(str(tmp_path / name) for name in ("a.csv", "b.csv"))
    for path in files:
        Path(path).write_text(path)
    described = sources.describe("data", files, entry)
    assert described["files"] == [
        {"name": Path(path).name, "fingerprint": sources.fingerprint(path, entry)} for path in files
    ]
    assert sources.describe("valid", files[::-1], entry)["valid_fingerprint"] != described["fingerprint"]
    assert sources.describe("valid", files[0], entry) == {"valid_fingerprint": sources.fingerprint(files[0], entry)}


def test_the_fingerprint_of_the_sample_is_its_version(monkeypatch):
    entry = TASKS["classification"]
    assert sources.fingerprint(None, entry) == f"embedded sample {sample_reviews.VERSION}" == sample_reviews.version()
    monkeypatch.setattr(sample_reviews, "VERSION", 99)
    assert sources.fingerprint(None, entry) == "embedded sample 99"


def test_the_fingerprint_of_a_corpus_is_its_checksum_or_its_url():
    assert sources.fingerprint("imdb", TASKS["classification"]) == corpora.CORPORA["imdb"].sha256
    spanish = "tatoeba-spa-eng"
    assert sources.fingerprint(spanish, TASKS["translation"]) == corpora.CORPORA[spanish].url


def test_data_that_does_not_exist_is_reported_with_the_corpora_of_the_task():
    with pytest.raises(UserError, match=r"no such file or folder: nowhere .*\(a path, or a corpus .*: imdb\)"):
        sources.fingerprint("nowhere", TASKS["classification"])


def test_only_modules_on_this_machine_have_a_fingerprint(tmp_path):
    (tmp_path / "saved_model.pb").write_bytes(b"1")
    handles = {"encoder": str(tmp_path), "preprocessor": "https://tfhub.dev/a/b/1"}
    first = sources.module_fingerprints(handles)
    assert list(first) == ["encoder"]
    (tmp_path / "saved_model.pb").write_bytes(b"12")
    assert sources.module_fingerprints(handles) != first


def test_a_model_of_prepared_data_was_trained_on_the_data_that_it_was_made_from(tmp_path):
    path, other, made = tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "made"
    path.write_text("text,label\na,1\n")
    other.write_text("text,label\na,2\n")
    made.mkdir()
    entry = TASKS["classification"]
    source = {"name": "a", **sources.describe("data", str(path), entry)}
    prepared.write_manifest(made, "classification", source, Contents({}, [], {}, {}, {}))
    data = sources.describe("data", str(made), entry)
    assert data["fingerprint"] == prepared.fingerprint(str(made))
    card = {"task": "classification", "data": data}
    assert sources.is_training_data(str(path), card, TASKS[card["task"]]) and sources.is_training_data(
        str(made), card, TASKS[card["task"]]
    )
    assert not sources.is_training_data(str(other), card, TASKS[card["task"]])


def test_a_change_in_the_block_is_an_error_also_in_place_of_another_one(tmp_path):
    (tmp_path / "a").mkdir()
    inside, other = tmp_path / "a" / "x.txt", tmp_path / "b.txt"
    inside.write_text("x")
    data = (str(tmp_path / "a"), str(other))
    with sources.unchanged(None, data, "imdb"):
        pass
    with pytest.raises(KeyError), sources.unchanged(data):
        raise KeyError
    for path in (inside, other):  # one is changed, one is new
        with pytest.raises(UserError, match="the data changed while it was read"), sources.unchanged(data):
            path.write_text("longer")
            raise KeyError
