"""`prepare` and `train` on its output, as a user calls them: refusals, kills, and the same bits after a kill."""

import json
import os
import signal
from types import SimpleNamespace

import numpy as np
import pytest

import main
from pipelines.classification.config import ClassificationConfig
from pipelines.data import prepared, sample_pairs, sample_reviews
from pipelines.encoder.config import EncoderConfig
from pipelines.runs.prepare import prepare, summarize
from pipelines.shards import shard_writer
from pipelines.support.errors import UserError
from pipelines.tagging.config import TaggingConfig
from pipelines.task_entry import TaskEntry
from pipelines.translation.config import TranslationConfig
from tests.command_line import assert_one_line, train_here
from tests.forked import Forked
from tests.pipelines.tagging.tagged_files import write_sample
from tests.pipelines.training import killed_training
from tests.pipelines.training.killed_training import assert_equal_outcomes, outcome
from tests.pipelines.training.test_resume import FLAGS

PREPARE = {"polarity": True, "model": "linear", "max_tokens": 40, "max_characters": 100, "vocabulary_size": 200}
TRAIN = (
    "--model gru --max-ngrams 900 --max-characters 60 --batch-size 16 --embedding-size 8 --hidden-size 8 --epochs 3 "
    "--patience 9 --checkpoint-every 4"
)

SMALL_TAGGER = "--preset quick --batch-size 16 --embedding-size 8 --hidden-size 8 --character-size 4 --epochs 2"


def write_reviews(path, count=300):
    texts, labels, films, _ = sample_reviews.generate(count)
    rows = zip(texts, labels, films, strict=True)
    path.write_text("text,label,url\n" + "".join(f'"{text}",{label},{film}\n' for text, label, film in rows))
    return str(path)


def write_pairs(path, count=400):
    rows = zip(*sample_pairs.generate(count), strict=True)
    path.write_text("en\tes\n" + "".join(f"{en}\t{es}\n" for en, es in rows))
    return str(path)


@pytest.mark.parametrize("keeps_time", [False, True])
@pytest.mark.parametrize("error", [None, KeyError("label"), UserError("line 7 is cut")])
def test_data_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch, keeps_time, error):
    path = tmp_path / "reviews.csv"
    write_reviews(path, 30)
    status = path.stat()

    def write(config, surveyed, folder):
        path.write_text(path.read_text().replace("e", "E"))
        if keeps_time:
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        if error:
            raise error
        return prepared.Contents({}, [], {}, {}, {})

    monkeypatch.setattr("pipelines.runs.prepare.import_tensorflow", lambda: None)
    monkeypatch.setattr(TaskEntry, "shards", lambda entry: SimpleNamespace(write=write))
    config = ClassificationConfig(data=str(path), polarity=True, model="gru").resolve()
    with pytest.raises(type(error) if error and keeps_time else UserError) as raised:
        prepare("sentiment", config, tmp_path / "prepared")
    if not (error and keeps_time):
        assert str(raised.value).startswith(f"{path}: the data changed while it was read: ")
    assert [each.name for each in tmp_path.iterdir()] == ["reviews.csv"]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return write_reviews(tmp_path_factory.mktemp("source") / "reviews.csv")


@pytest.fixture(scope="module")
def made(source, tmp_path_factory):
    """Prepared data of `sentiment`."""
    folder = tmp_path_factory.mktemp("made") / "prepared"
    prepare("sentiment", ClassificationConfig(data=source, **PREPARE).resolve(), folder)
    return folder


@pytest.fixture(scope="module")
def sentences(tmp_path_factory):
    return write_sample(tmp_path_factory.mktemp("source") / "a.conllu", 250)


@pytest.fixture(scope="module")
def made_of_sentences(sentences, tmp_path_factory):
    """Prepared data of `tagging`."""
    folder = tmp_path_factory.mktemp("made") / "prepared"
    prepare("tagging", TaggingConfig(data=sentences, max_tokens=20).resolve(), folder)
    return folder


def files(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def config(data, **values):
    return ClassificationConfig(data=data, model="gru", **values).resolve()


@pytest.mark.long
def test_the_same_data_and_settings_give_the_same_bytes(source, made, tmp_path):
    prepare("sentiment", ClassificationConfig(data=source, **PREPARE).resolve(), tmp_path / "again")
    assert files(tmp_path / "again") == files(made)
    prepare("sentiment", ClassificationConfig(data=source, **PREPARE, seed=2).resolve(), tmp_path / "other")
    assert files(tmp_path / "other") != files(made)


def test_the_same_sentences_give_the_same_bytes(sentences, made_of_sentences, tmp_path):
    prepare("tagging", TaggingConfig(data=sentences, max_tokens=20).resolve(), tmp_path / "again")
    assert files(tmp_path / "again") == files(made_of_sentences)


def test_the_summary_says_what_was_made_and_what_comes_next(made):
    lines = summarize(prepared.find(str(made), "sentiment")).splitlines()
    assert lines[0].startswith(f"prepared {made}: 16 shards, ")
    assert lines[-1] == f"  next        train sentiment --data {made}"


def test_an_output_that_is_in_the_way_is_refused_and_stays(source, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    with pytest.raises(UserError, match="full is not empty: give the name of a new folder"):
        prepare("classification", config(source), tmp_path / "full")
    with pytest.raises(UserError, match="mine.txt is a file: give the name of a new folder"):
        prepare("classification", config(source), tmp_path / "full" / "mine.txt")
    assert files(tmp_path) == {"mine.txt": b"mine"}


def test_an_empty_folder_is_a_place(source, tmp_path):
    (tmp_path / "empty").mkdir()
    prepare("classification", config(source), tmp_path / "empty")
    assert prepared.is_prepared(str(tmp_path / "empty"))


def test_without_data_nothing_is_prepared(tmp_path):
    with pytest.raises(UserError, match="prepare needs --data"):
        prepare("classification", config(None), tmp_path / "x")


def test_bad_data_leaves_nothing(tmp_path):
    bad = tmp_path / "bad.csv"
    bad.write_text("text,label\n" + "".join(f"text {i},{i % 2}\n" for i in range(30)) + "more,commas,here,now\n" * 2)
    (tmp_path / "twelve.csv").write_text("text,label\n" + "".join(f"text {i},{i % 2}\n" for i in range(12)))
    with pytest.raises(UserError, match="only 12 rows"):
        prepare("classification", config(str(tmp_path / "twelve.csv")), tmp_path / "x")
    assert not (tmp_path / "x").exists() and not list(tmp_path.glob(".tmp-*"))
    assert "too many cells" in next(iter(prepare("classification", config(str(bad)), tmp_path / "x").notes))


COMMANDS = [
    ("prepare sentiment --data reviews.csv", "prepare needs --output"),
    ("prepare sentiment --output x", "prepare needs --data"),
    ("prepare sentiment --data nowhere.csv --output x", "no such file or folder: nowhere.csv"),
    ("prepare sentiment --data reviews.csv --output made", "made is not empty"),
    ("prepare sentiment --data made --output x", "--data made is prepared already"),
    ("prepare sentiment --data reviews.csv --output x --max-tokens 3", "--max-tokens 3: it must be at least 4"),
    ("prepare sentiment --data reviews.csv --output x --hidden-size 3", "no flag --hidden-size"),
    ("prepare tagging --data reviews.csv --output x", "reviews.csv is a table of texts with their labels"),
    (
        "prepare tagging --data empty.conllu --output x",
        "empty.conllu is empty: expected one token and its tag per line",
    ),
    (
        "prepare tagging --data a.conllu bad.conllu --output x",
        "bad.conllu, line 2: 2 columns ('2\\tword'), but CoNLL-U",
    ),
    ("prepare tagging --data a.conllu --output made", "made is not empty"),
    ("prepare tagging --data a.conllu --output x --encoder e", "no flag --encoder"),
    ("train classification --data made", "made was prepared for `train sentiment`, not for `train classification`"),
    ("train tagging --data made", "made was prepared for `train sentiment`, not for `train tagging`"),
    ("train tagging --data tags --max-tokens 21", "--max-tokens 21: tags was prepared with 20: leave out --max-tokens"),
    ("train tagging --data tags --encoder e", "--encoder e: its vectors are computed from all sentences in memory"),
    ("train tagging --data tags --valid a.conllu", "--valid has no effect here: the validation sentences of prepared"),
    ("train tagging --data cut-tags", "train-00003-of-00016.tfrecord is damaged (100 bytes instead of"),
    ("train language-model --data made", "made was prepared for `train sentiment`, not for `train language-model`"),
    ("train sentiment --data made --max-characters 101", "--max-characters 101: made was prepared with 100: lower it"),
    (
        "train sentiment --data made --model linear --max-tokens 39",
        "--max-tokens 39: made was prepared with 40: leave out",
    ),
    ("train sentiment --data made --refit none", "--refit has no effect here: the texts that prepared data is scored"),
    ("train sentiment --data made --model gru --max-tokens 41", "--max-tokens 41: made was prepared with 40: lower it"),
    ("train sentiment --data made --folds 3", "--folds has no effect here: the validation texts of prepared data"),
    ("train sentiment --data made --valid reviews.csv", "--valid has no effect here: the validation texts of prepared"),
    ("train sentiment --data made --max-tokens 41", "--max-tokens 41: made was prepared with 40: leave out"),
    ("train sentiment --data made --tokenizer subword", "--tokenizer subword: made was prepared with word"),
    ("prepare nmt --data a.en --target b.de --output x", "a.en and b.de have 3 and 2 lines"),
    ("prepare nmt --data a.en --target empty.de --output x", "empty.de is empty"),
    ("train sentiment --data damaged", "train-00003-of-00016.tfrecord is damaged (its bytes have changed)"),
    ("train sentiment --data cut", "train-00003-of-00016.tfrecord is damaged (100 bytes instead of"),
]


@pytest.fixture(scope="module")
def place(source, made, sentences, made_of_sentences, tmp_path_factory):
    """A folder with the data that COMMANDS name."""
    folder = tmp_path_factory.mktemp("place")
    (folder / "reviews.csv").symlink_to(source)
    (folder / "a.conllu").symlink_to(sentences)
    (folder / "bad.conllu").write_text("# a comment\n2\tword\n")
    (folder / "empty.conllu").write_text("\n")
    for name, text in {"a.en": "a\nb\nc\n", "b.de": "A\nB\n", "empty.de": ""}.items():
        (folder / name).write_text(text)
    copies = {"made": made, "damaged": made, "cut": made, "tags": made_of_sentences, "cut-tags": made_of_sentences}
    for name, original in copies.items():
        (folder / name).mkdir()
        for path in original.iterdir():
            (folder / name / path.name).symlink_to(path)
    for name in ("damaged", "cut", "cut-tags"):
        shard = copies[name] / "train-00003-of-00016.tfrecord"
        content = shard.read_bytes()[:-1] + b"x" if name == "damaged" else shard.read_bytes()[:100]
        (folder / name / shard.name).unlink()
        (folder / name / shard.name).write_bytes(content)
    return folder


@pytest.mark.parametrize(("command", "message"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_a_mistake_is_one_line_and_leaves_nothing(place, command, message):
    arguments = command.split()
    if arguments[0] == "train":
        arguments += ["--runs", "runs", "--saved-models", "saved"]
    before = set(place.rglob("*"))
    process = train_here(place, *arguments)
    assert_one_line(process, message)
    assert set(place.rglob("*")) == before


def test_json(source, tmp_path):
    process = train_here(tmp_path, "prepare", "sentiment", "--data", source, "--output", "made", "--json")
    assert process.returncode == 0, process.stderr
    assert json.loads(process.stdout)["rows"] == {"train": 267, "valid": 33}


def _prepare_and_end(number, arguments):
    """Sends this process a signal in the second pass, after the first rows."""
    shuffle = shard_writer._shuffle

    def shuffle_or_end(path, *arguments):
        if "00005" in path.name:
            os.kill(os.getpid(), number)
        return shuffle(path, *arguments)

    shard_writer._shuffle = shuffle_or_end
    return main.main(arguments)


@pytest.mark.long
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGTERM, 130), (signal.SIGINT, 130)]
)
def test_a_killed_preparation_leaves_no_half_of_it_and_can_be_repeated(source, made, tmp_path, number, code):
    arguments = ["prepare", "sentiment", "--data", source, "--output", str(tmp_path / "x"), "--max-tokens", "40"]
    arguments += ["--vocabulary-size", "200", "--max-characters", "100"]
    ended, errors = Forked(_prepare_and_end, number, arguments).finish()
    assert ended == code, errors
    assert not (tmp_path / "x").exists()
    process = train_here(tmp_path, *arguments)
    assert process.returncode == 0, process.stderr
    assert files(tmp_path / "x") == files(made)
    assert not list(tmp_path.glob(".tmp-*"))


def start(data, folder, kind="never", count=0, task="sentiment", flags=TRAIN):
    """Starts a training that kills itself."""
    arguments = ["train", task, "--data", data, "--run", "r", "--runs", folder / "runs"]
    arguments += ["--saved-models", folder / "saved", *flags.split()]
    return killed_training.start(arguments, kind, count)


@pytest.mark.long
def test_a_killed_training_ends_with_the_same_bits(made, tmp_path):
    code, errors = start(made, tmp_path / "whole").finish()
    assert code == 0, errors
    code, errors = start(made, tmp_path / "killed", "step", 21).finish()  # an epoch has 17 steps
    assert code == -signal.SIGKILL, errors
    code, errors = start(made, tmp_path / "killed").finish()
    assert code == 0 and "resuming at epoch" in errors, errors
    assert_equal_outcomes(outcome(tmp_path / "killed"), outcome(tmp_path / "whole"))


@pytest.mark.exhaustive
@pytest.mark.parametrize("task", ["encoder", "tagging", "nmt"])
def test_a_killed_training_of_another_task_ends_with_the_same_bits(source, sentences, tmp_path, task):
    if task == "encoder":
        settings, count = EncoderConfig(data=source, vocabulary_size=200), 10
        flags = FLAGS[task].replace("--vocabulary-size 200 ", "") + " --direction bidirectional"
    elif task == "tagging":
        settings, count, flags = TaggingConfig(data=sentences), 20, FLAGS[task]
    else:
        data = write_pairs(tmp_path / "pairs.tsv")
        settings, count = TranslationConfig(data=data, vocabulary_size=150), 10
        flags = f"{FLAGS[task]} --dropout 0.2"
    prepare(task, settings.resolve(), tmp_path / "made")
    code, errors = start(tmp_path / "made", tmp_path / "whole", task=task, flags=flags).finish()
    assert code == 0, errors
    code, errors = start(tmp_path / "made", tmp_path / "killed", "step", count, task, flags).finish()
    assert code == -signal.SIGKILL, errors
    code, errors = start(tmp_path / "made", tmp_path / "killed", task=task, flags=flags).finish()
    assert code == 0 and "resuming at epoch" in errors, errors
    assert_equal_outcomes(outcome(tmp_path / "killed"), outcome(tmp_path / "whole"))


@pytest.mark.long
def test_a_trained_model_is_measured_and_exported(made, tmp_path):
    arguments = ["train", "sentiment", "--data", made, *TRAIN.split(), "--runs", "runs", "--saved-models", "saved"]
    process = train_here(tmp_path, *arguments, "--json")
    assert process.returncode == 0, process.stderr
    result = json.loads(process.stdout)
    assert result["rows"] == {"train": 267, "valid": 33} and result["classes"] == ["negative", "positive"]
    assert result["data"]["fingerprint"] == prepared.fingerprint(str(made))
    assert np.isfinite(result["scores"]["validation"]["log_loss"])
    assert sum(result["class_rows"].values()) == 267
    assert (tmp_path / "saved" / "sentiment" / "1" / "saved_model.pb").is_file()
    report = (next(tmp_path.glob("runs/sentiment/*")) / "report.md").read_text()
    assert "267" in report and "- Prepared data: no baselines and no count of repeated texts" in report
    again = train_here(tmp_path, *arguments)
    assert again.returncode == 0 and "is finished" in again.stderr


@pytest.mark.long
def test_the_default_has_a_network_and_a_linear_model(source, made, tmp_path):
    arguments = [
        "train",
        "sentiment",
        "--hidden-size",
        "8",
        "--epochs",
        "3",
        "--least-texts",
        "0",
        "--no-baseline",
        "--json",
    ]
    arguments += ["--runs", "runs", "--saved-models", "saved"]
    results = []
    for more in (
        ["--data", made],
        ["--data", source, "--max-tokens", "40", "--vocabulary-size", "200", "--num-negations", "0"],
    ):
        process = train_here(tmp_path, *arguments, *more)
        assert process.returncode == 0, process.stderr
        results.append(json.loads(process.stdout))
    weights = [each["weights"] for each in results]
    assert weights[0] == weights[1] and "ngram_projection/kernel" in weights[0]
    losses = [each["scores"]["validation"]["log_loss"] for each in results]
    assert losses[0] == pytest.approx(losses[1], abs=0.1)


@pytest.mark.long
def test_a_trained_tagger_is_measured_and_exported(made_of_sentences, tmp_path):
    arguments = ["train", "tagging", "--data", made_of_sentences, *SMALL_TAGGER.split(), "--runs", "runs"]
    arguments += ["--saved-models", "saved"]
    process = train_here(tmp_path, *arguments, "--json")
    assert process.returncode == 0, process.stderr
    result = json.loads(process.stdout)
    assert sum(result["rows"].values()) == 250 and "NOUN" in result["classes"]
    scores = result["scores"]["validation"]
    assert scores["accuracy"] > 0.3 and 0 < scores["unknown_tokens"] < scores["tokens"]
    assert ["left_out" in each for each in scores["baselines"]] == [True] * 3
    assert (tmp_path / "saved" / "prepared" / "1" / "saved_model.pb").is_file()
    report = (next(tmp_path.glob("runs/tagging/*")) / "report.md").read_text()
    assert "The baseline most frequent tag is left out: it counts all training sentences in memory" in report
    assert "from the raw text" in report


@pytest.mark.long
def test_a_translator_is_prepared_trained_measured_and_exported(tmp_path):
    write_pairs(tmp_path / "pairs.tsv")
    flags = ["--pair", "en-es", "--vocabulary-size", "150", "--max-tokens", "40", "--json"]
    process = train_here(tmp_path, "prepare", "translation", "--data", "pairs.tsv", "--output", "made", *flags)
    assert process.returncode == 0, process.stderr
    made = json.loads(process.stdout)
    assert made["settings"]["pair"] == "en-es" and len(made["shards"]) == 1
    arguments = ["train", "nmt", "--data", "made", "--model", "single-rnn", "--hidden-size", "16"]
    arguments += ["--batch-tokens", "500", "--epochs", "2", "--runs", "runs"]
    process = train_here(tmp_path, *arguments, "--saved-models", "saved", "--json")
    assert process.returncode == 0, process.stderr
    result = json.loads(process.stdout)
    assert result["rows"] == made["rows"] and result["pair"] == "en-es" and result["notes"] == made["notes"]
    assert result["data"]["fingerprint"] == prepared.fingerprint(str(tmp_path / "made"))
    assert np.isfinite([row["val_loss"] for row in result["epochs"]]).all() and len(result["epochs"]) == 2
    assert (tmp_path / "saved" / "nmt-en-es" / "1" / "saved_model.pb").is_file()
    report = (next(tmp_path.glob("runs/nmt/*")) / "report.md").read_text()
    assert f"train {made['rows']['train']} pairs" in report and "more than 40 tokens" in report
