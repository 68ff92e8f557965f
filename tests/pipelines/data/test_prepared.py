"""The manifest of prepared data: what it records, and what is refused in one line."""

import dataclasses
import json
import shutil

import pytest

from pipelines.classification.config import ClassificationConfig
from pipelines.data import corpora, prepared, sources
from pipelines.data.prepared import Contents, Shard
from pipelines.support.errors import UserError
from pipelines.support.records import read_record, write_record
from pipelines.task import TASKS
from tests.damage import damaged_copies

SETTINGS = {"tokenizer": "word", "max_tokens": 300, "max_bytes": 5000, "text_column": "body"}


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "made"
    made.mkdir()
    (made / "train-00000-of-00001.tfrecord").write_bytes(b"abc" * 100)
    (made / "train-00000-of-00001.index.npy").write_bytes(b"index")
    prepared.write_rows(made, "valid", [{"text": "a\nb \N{SNOWMAN}", "label": 1}, {"text": "c", "label": 0}])
    shards = [Shard("train-00000-of-00001.tfrecord", 5, 50)]
    contents = Contents(SETTINGS, shards, {"train": 5, "valid": 2}, {"left out": 3}, {"classes": ["a", "b"]})
    prepared.write_manifest(made, "classification", {"name": "x", "fingerprint": "0123"}, contents)
    return made


def test_the_manifest_has_what_was_written(folder):
    found = prepared.find(str(folder), "classification")
    assert found.settings == SETTINGS and found.rows == {"train": 5, "valid": 2}
    assert found.shards == (Shard("train-00000-of-00001.tfrecord", 5, 50),)
    assert set(found.files) == {path.name for path in folder.iterdir()} - {"manifest.json"}
    assert (folder / found.shards[0].index).is_file()
    found.check_files()


def test_the_texts_to_score_on_are_read_as_they_were_written(folder):
    found = prepared.find(str(folder), "classification")
    assert found.read_rows("valid") == [{"text": "a\nb \N{SNOWMAN}", "label": 1}, {"text": "c", "label": 0}]
    assert found.read_rows("test") is None


@pytest.mark.parametrize("data", [None, "nowhere", ("a", "b")])
def test_other_data_is_not_prepared(data, tmp_path):
    assert not prepared.is_prepared(data) and prepared.find(data, "classification") is None
    assert prepared.find(str(tmp_path), "classification") is None


def test_any_change_of_a_shard_is_found_and_named(folder):
    path = folder / "train-00000-of-00001.tfrecord"
    found = prepared.find(str(folder), "classification")
    for damaged in damaged_copies(path.read_bytes()):
        path.write_bytes(damaged)
        with pytest.raises(UserError, match=rf"^{path} is damaged \(.*\): prepare the data again$"):
            found.check_files()


def test_shards_that_a_worker_does_not_read_are_not_checked(folder):
    (folder / "train-00000-of-00001.tfrecord").write_bytes(b"xyz" * 100)
    found = prepared.find(str(folder), "classification")
    found.check_files(shards=set())
    with pytest.raises(UserError, match="is damaged"):
        found.check_files(shards={0})


@pytest.mark.parametrize("name", ["train-00000-of-00001.tfrecord", "train-00000-of-00001.index.npy", "valid.jsonl"])
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(UserError, match=f"{name} is missing: prepare the data again, or copy the whole folder"):
        prepared.find(str(folder), "classification").check_files()


def test_any_change_of_the_manifest_is_found(folder):
    path = folder / "manifest.json"
    for damaged in damaged_copies(path.read_bytes()):
        path.write_bytes(damaged)
        with pytest.raises(UserError, match="manifest.json is damaged or was edited: prepare the data again"):
            prepared.find(str(folder), "classification")


def test_data_of_another_task(folder):
    with pytest.raises(UserError, match="was prepared for `train classification`, not for `train sentiment`"):
        prepared.find(str(folder), "sentiment")


def test_a_task_may_have_several_names(folder):
    assert prepared.find(str(folder), "other", "classification").task == "classification"
    with pytest.raises(
        UserError, match="was prepared for `train classification`, not for `train translation` or `train nmt`"
    ):
        prepared.find(str(folder), "translation", "nmt")


def test_data_of_another_format(folder):
    values = read_record(folder / "manifest.json", "")
    write_record(folder / "manifest.json", {**values, "format": 0})
    with pytest.raises(UserError, match=r"another version of Unroll \(format 0, this one has 1\): prepare the data"):
        prepared.find(str(folder), "classification")


def test_the_fingerprint_is_of_the_content_and_not_of_the_place(folder, tmp_path):
    entry = TASKS["classification"]
    before = sources.fingerprint(str(folder), entry)
    shutil.copytree(folder, tmp_path / "copy")
    assert sources.fingerprint(str(tmp_path / "copy"), entry) == before
    values = read_record(folder / "manifest.json", "")
    write_record(folder / "manifest.json", {**values, "notes": {}})
    assert sources.fingerprint(str(folder), entry) != before


def test_whatever_reads_texts_refuses_prepared_data(folder):
    with pytest.raises(UserError, match="is prepared data, which only `train classification` reads"):
        corpora.existing(str(folder), "labelled texts")


def settled(folder, **given):
    config = ClassificationConfig(**given)
    resolved = dataclasses.replace(config, model="gru", preset="full").resolve()
    found = prepared.find(str(folder), "classification")
    return prepared.settled(config, resolved, found, limits=("max_tokens",))


def test_settings_with_their_defaults_are_those_of_the_preparation(folder):
    config = settled(folder)
    assert (config.tokenizer, config.max_tokens, config.max_bytes, config.text_column) == ("word", 300, 5000, "body")


def test_a_limit_may_be_lowered(folder):
    assert settled(folder, max_tokens=200).max_tokens == 200
    with pytest.raises(UserError, match="--max-tokens 301: .* was prepared with 300: lower it, or prepare the data"):
        settled(folder, max_tokens=301)


@pytest.mark.parametrize(("field", "value"), [("tokenizer", "subword"), ("max_bytes", 100), ("text_column", "text")])
def test_a_setting_that_differs_is_refused_by_its_flag(folder, field, value):
    flag = f"--{field.replace('_', '-')}"
    with pytest.raises(UserError, match=f"{flag} {value}: .* was prepared with .*: leave out {flag}, or prepare"):
        settled(folder, **{field: value})


@pytest.mark.parametrize(("field", "value", "switch"), [("joint", False, "--no-joint"), ("reverse", True, "--reverse")])
def test_a_switch_that_differs_is_refused_by_its_flag(tmp_path, field, value, switch):
    @dataclasses.dataclass(frozen=True)
    class Config:
        joint: bool = True
        reverse: bool = False

    found = prepared.Prepared(tmp_path, "x", {field: not value}, {}, (), {}, {}, {}, {})
    with pytest.raises(UserError, match=f"^{switch}: .* was prepared without it: leave out {switch}, or prepare the"):
        prepared.settled(Config(**{field: value}), Config(**{field: value}), found)
    other = prepared.Prepared(tmp_path, "x", {field: value}, {}, (), {}, {}, {}, {})
    assert getattr(prepared.settled(Config(), Config(), other), field) == value


def test_the_manifest_is_plain_json(folder):
    assert json.loads((folder / "manifest.json").read_text())["task"] == "classification"
