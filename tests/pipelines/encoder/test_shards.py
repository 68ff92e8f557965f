"""Prepared data of an encoder: a training on it is bit for bit the training on the texts."""

import dataclasses
import json
import pickle

import numpy as np
import pytest

from pipelines.data import folders, part, prepared, sample_reviews, tables
from pipelines.data.part import Part
from pipelines.encoder import data as encoder_data
from pipelines.encoder import shards, task
from pipelines.encoder.config import EncoderConfig
from pipelines.runs.prepare import prepare, summarize
from pipelines.shards import first_pass
from pipelines.support.errors import UserError
from tests.command_line import assert_one_line, train_here, where

SETTINGS = {"vocabulary_size": 200}
TRAINING = {"batch_size": 5, "window": 16}
SOURCES = ("table", "tables", "file", "folder", "classes")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the same reviews in each form of SOURCES: those of 60 films, and in the table an empty one."""
    folder = tmp_path_factory.mktemp("place")
    texts, labels, films, _ = sample_reviews.generate(240)
    rows = [f'"{text}",{label},{film}\n' for text, label, film in zip(texts, labels, films, strict=True)]
    (folder / "table.csv").write_text("".join(["text,label,url\n", *rows, " ,positive,x\n"]))
    for name, half in (("a", rows[:99]), ("b", rows[99:])):
        (folder / f"half-{name}.csv").write_text("".join(["text,label,url\n", *half]))
    (folder / "file.txt").write_text("\n".join(texts))
    for i, (text, label) in enumerate(zip(texts[:90], labels[:90], strict=True)):
        for path in (folder / "folder" / f"{i}.txt", folder / "classes" / "train" / label / f"{i}.txt"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    (folder / "folder" / "latin.txt").write_bytes(b"caf\xe9")
    return folder


def source(place, name):
    return {
        "table": str(place / "table.csv"),
        "tables": str(place / "half-*.csv"),
        "file": str(place / "file.txt"),
        "folder": str(place / "folder"),
        "classes": str(place / "classes"),
    }[name]


@pytest.fixture(scope="module")
def made(place):
    """Prepared data of the table."""
    prepare("encoder", EncoderConfig(data=source(place, "table"), **SETTINGS).resolve(), place / "made")
    return place / "made"


def encoded(config, folder):
    splits = encoder_data.load(config)
    (folder / "tokenizer").mkdir(parents=True)
    task.make_tokenizer(config, splits).save(folder / "tokenizer")
    return splits, task.encode(config, splits, task.load_tokenizer(folder / "tokenizer"), folder)


def assert_equal_batches(expected, found):
    expected, found = list(expected), list(found)
    assert len(expected) == len(found) > 0
    for pair in zip(expected, found, strict=True):
        arrays = [
            [*inputs.values(), targets] if isinstance(inputs, dict) else [inputs, targets] for inputs, targets in pair
        ]
        assert all(np.array_equal(*each) for each in zip(*arrays, strict=True))


@pytest.mark.long
@pytest.mark.parametrize("name", SOURCES)
def test_the_ids_and_batches_are_those_of_the_texts(place, tmp_path, name):
    of_texts = EncoderConfig(data=source(place, name), **SETTINGS, **TRAINING).resolve()
    prepare("encoder", of_texts, tmp_path / "made")
    of_shards = EncoderConfig(data=str(tmp_path / "made"), **TRAINING).resolve()
    assert of_shards == dataclasses.replace(of_texts, data=of_shards.data)
    (texts, expected), (splits, found) = (
        encoded(each, tmp_path / str(i)) for i, each in enumerate((of_texts, of_shards))
    )
    assert np.array_equal(found.train[:], expected.train) and np.array_equal(found.valid, expected.valid)
    assert found.vocabulary_size == expected.vocabulary_size
    assert (splits.rows, splits.notes, splits.unit) == (texts.rows, texts.notes, texts.unit)
    assert pickle.loads(pickle.dumps(splits)) == splits
    assert_equal_batches(task.batches(of_texts, expected, 1, 2), task.batches(of_shards, found, 1, 2))


@pytest.mark.long
@pytest.mark.parametrize("direction", ["causal", "bidirectional"])
def test_each_of_several_workers_reads_its_windows(made, tmp_path, direction):
    config = EncoderConfig(data=str(made), direction=direction, **TRAINING).resolve()
    _, found = encoded(config, tmp_path / "run")
    in_memory = dataclasses.replace(found, train=found.train[:])
    assert_equal_batches(task.batches(config, in_memory, 3, 1), task.batches(config, found, 3, 1))
    for index in range(3):
        with part.computed(Part(index, 3)):
            assert_equal_batches(task.batches(config, in_memory, 0, 0), task.batches(config, found, 0, 0))


@pytest.mark.parametrize("name", SOURCES)
def test_the_texts_are_read_in_chunks(place, monkeypatch, name):
    config = EncoderConfig(data=source(place, name), **SETTINGS).resolve()
    expected = encoder_data.load(config)
    monkeypatch.setattr(tables, "_CHUNK_ROWS", 7)
    monkeypatch.setattr(folders, "_CHUNK_TEXTS", 7)
    monkeypatch.setattr(folders, "_CHUNK_CHARACTERS", 1000)
    splits, characters = encoder_data.survey(config)
    if splits.unit == "texts":
        assert len(list(encoder_data.read_chunks(config))) > 5
    assert list(splits.train()) == list(expected.train()) and list(splits.valid()) == list(expected.valid())
    assert (splits.rows, splits.notes) == (expected.rows, expected.notes)
    assert characters >= sum(map(len, splits.train()))


def test_the_validation_texts_are_limited(place, monkeypatch):
    monkeypatch.setattr(first_pass, "MAX_HELD_OUT", 9)
    monkeypatch.setattr(encoder_data, "MAX_VALID_CHARACTERS", 500)
    for name, limit in (("folder", 9), ("file", 500)):
        config = EncoderConfig(data=source(place, name), valid_fraction=0.3).resolve()
        whole, limited = encoder_data.load(config).rows, encoder_data.survey(config).splits.rows
        assert limited["valid"] == limit < whole["valid"] and sum(limited.values()) == sum(whole.values())
    by_film = encoder_data.survey(EncoderConfig(data=source(place, "table"), valid_fraction=0.3).resolve()).splits
    assert 9 <= by_film.rows["valid"] < 20  # the last film is held out as a whole


def test_the_tokenizer_is_made_from_a_random_sample(place, monkeypatch):
    config = EncoderConfig(data=source(place, "table")).resolve()
    surveyed = encoder_data.survey(config)
    everything = list(shards.sample_of(config, surveyed))
    assert everything == list(surveyed.splits.train())
    monkeypatch.setattr(shards, "_MAX_SAMPLE", surveyed.characters // 4)
    sample = list(shards.sample_of(config, surveyed))
    assert 0 < len(sample) < len(everything) / 2
    assert sample == list(shards.sample_of(config, surveyed))


def test_the_same_data_and_settings_give_the_same_bytes(place, made, tmp_path):
    def files(folder):
        return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    prepare("encoder", EncoderConfig(data=source(place, "table"), **SETTINGS).resolve(), tmp_path / "again")
    assert files(tmp_path / "again") == files(made)


def test_the_summary_has_the_number_of_texts_and_what_was_left_out(made):
    lines = summarize(prepared.find(str(made), "encoder")).splitlines()
    assert lines[0].startswith(f"prepared {made}: 1 shard, ") and lines[1] == "  rows        train 212, valid 28"
    assert lines[2] == "  note        left out, empty text: 1"
    assert lines[-1] == f"  next        train encoder --data {made}"


def test_settings_that_the_preparation_fixed_are_refused_with_another_value(made):
    assert EncoderConfig(data=str(made), size="bert-base").resolve().vocabulary_size == SETTINGS["vocabulary_size"]
    for settings, message in (
        ({"vocabulary_size": 300}, "--vocabulary-size 300: .* was prepared with 200"),
        ({"text_column": "label"}, "--text-column label: .* was prepared with None: leave out --text-column"),
        ({"max_bytes": 500}, "--max-bytes 500: .* was prepared with 40000"),
        ({"valid_fraction": 0.2}, "--valid-fraction 0.2: .* was prepared with 0.1"),
    ):
        with pytest.raises(UserError, match=message):
            EncoderConfig(data=str(made), **settings).resolve()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("prepare encoder --data table.csv --output folder", "folder is not empty"),
        ("prepare encoder --data table.csv --output x --vectors v.txt", "no flag --vectors"),
        ("prepare encoder --data made --output x", "--data made is prepared already"),
        ("prepare encoder --data empty.csv --output x", "empty.csv has no row with a text"),
        (
            "prepare encoder --data file.txt --text-column text --output x",
            "--text-column has no effect: file.txt is not",
        ),
        ("train encoder --data made --vectors v.txt", "--data has no effect here: with --vectors nothing is trained"),
        ("train encoder --data made --batch-size 4000", "too few to train on with 4000 streams of 64 tokens"),
        ("train encoder --data damaged", "damaged/train-00000.ids is damaged (its bytes have changed)"),
        ("train encoder --data cut", "cut/valid.ids is damaged (100 bytes instead of"),
        ("train language-model --data made", "made was prepared for `train encoder`, not for `train language-model`"),
        ("train transfer --data made --encoder x", "made was prepared for `train encoder`, not for `train transfer`"),
    ],
)
def test_a_mistake_is_one_line(place, made, tmp_path, command, message):
    (place / "empty.csv").write_text("text,label\n ,a\n ,b\n")
    for name, file, content in (
        ("damaged", "train-00000.ids", (made / "train-00000.ids").read_bytes()[:-1] + b"x"),
        ("cut", "valid.ids", (made / "valid.ids").read_bytes()[:100]),
    ):
        if not (place / name).exists():
            (place / name).mkdir()
            for path in made.iterdir():
                (place / name / path.name).symlink_to(path)
            (place / name / file).unlink()
            (place / name / file).write_bytes(content)
    arguments = [*command.split(), *(where(tmp_path) if command.startswith("train") else [])]
    assert_one_line(train_here(place, *arguments), message)
    assert not (place / "x").exists()


TRAIN = "--preset quick --epochs 1 --direction bidirectional --hidden-size 16 --embedding-size 8"


@pytest.mark.long
def test_a_trained_encoder_is_measured_and_exported(made, tmp_path):
    process = train_here(tmp_path, "train", "encoder", "--data", made, *TRAIN.split(), *where(tmp_path), "--json")
    assert process.returncode == 0, process.stderr
    result = json.loads(process.stdout)
    assert result["rows"] == prepared.find(str(made), "encoder").rows and result["unit"] == "texts"
    assert result["data"]["fingerprint"] == prepared.fingerprint(str(made))
    assert np.isfinite(result["scores"]["validation"]["loss"])
    assert "Left out, empty text: 1." in (next(tmp_path.glob("runs/encoder/*")) / "report.md").read_text()
    assert (tmp_path / "saved" / "encoder" / "1" / "saved_model.pb").is_file()
