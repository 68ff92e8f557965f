"""The recipe "Add a task" of docs/architecture.md, followed: a small task in a folder of its own, driven by `main.py`.

The task has 188 lines in six files and one line in the registry: `word-count` reads the characters of a text and
answers how many words it has. It has no `prepare`, no `evaluate`, no trace and no estimator, and takes from
pipelines/task.py what is usual.
"""

import csv
import json
import sys

import pytest

import main
import pipelines
import unroll
from pipelines.task import TASKS
from pipelines.task_entry import TaskEntry
from tests.command_line import assert_one_line, train_here, where
from tests.pipelines.test_task import MEMBERS, arguments

NUM_LINES = 188
ENTRY = TaskEntry(
    "word-count", "a counter of words", "word_count", "text", "sample_reviews", measures=("mean_error", "loss")
)
FILES = {
    "config": '''"""The settings of `word-count`."""

import dataclasses
from typing import Annotated, ClassVar

from pipelines.settings.config import Presets, TrainingConfig, by_preset
from pipelines.settings.fields import UNSET, Resolved

PRESETS = {("linear", "quick"): {"epochs": 3}, ("linear", "full"): {"epochs": 20}}


@dataclasses.dataclass(frozen=True, kw_only=True)
class WordCountConfig(TrainingConfig):
    """The settings of `word-count`."""

    PRESETS: ClassVar[Presets] = PRESETS
    DEFAULT_MODELS: ClassVar[dict[str, str]] = {"quick": "linear", "full": "linear"}

    epochs: Annotated[Resolved[int], by_preset(PRESETS, "epochs")] = UNSET
    """Number of epochs."""
    batch_size: int = 16
    """Texts per step."""
    learning_rate: float = 0.01
    """Learning rate."""
    max_bytes: int = 2000
    """Texts are cut after N bytes."""
''',
    "command": '''"""`train` and `predict` for `word-count`."""

import dataclasses
from typing import ClassVar

from pipelines.command_line import TrainCommand
from pipelines.predicting.command import PredictRowsCommand
from pipelines.word_count.config import WordCountConfig


@dataclasses.dataclass(frozen=True, kw_only=True)
class Train(TrainCommand):
    """Train a counter of words, measure it, and export it as a SavedModel."""

    config: WordCountConfig = WordCountConfig()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Predict(PredictRowsCommand):
    """Count the words of texts with an exported model."""

    outputs: ClassVar = ("words",)
''',
    "data": '''"""The data of `word-count`: lines of text."""

import dataclasses

import numpy as np

from pipelines.data import sample_reviews, splits, texts


@dataclasses.dataclass(frozen=True)
class Splits:
    """Training and validation texts, object [n] of str."""

    train: np.ndarray
    valid: np.ndarray


def load(config) -> Splits:
    """Reads the lines of --data, or the embedded sample, and splits off validation."""
    lines = texts.lines(config.data) if config.data else sample_reviews.generate(400)[0]
    rows = np.array([line for line in lines if line.strip()], object)
    is_valid = splits.validation_rows(rows, config.valid_fraction)
    return Splits(rows[~is_valid], rows[is_valid])
''',
    "networks": '''"""The network of `word-count`: ids int32 [batch, time] -> number of words float32 [batch, 1]."""

import keras
from keras import layers, ops


def build(vocabulary_size: int) -> keras.Model:
    """Returns the network: the sum of a weight for each character."""
    ids = keras.Input((None,), dtype="int32")
    weights = layers.Embedding(vocabulary_size, 1)(ids)  # [batch, time, 1]
    return keras.Model(ids, ops.sum(ops.where(ops.not_equal(ids, 0)[..., None], weights, 0.0), axis=1))
''',
    "servable": '''"""What `word-count` exports: text -> number of words."""

import tensorflow as tf


class Counter(tf.Module):
    """The network with its tokenizer."""

    def __init__(self, model, tokenizer):
        super().__init__()
        self._variables = [weight.value for weight in model.weights]
        self._model = lambda ids: model(ids, training=False)
        self._tokenizer = tokenizer

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")], autograph=False)
    def count(self, text):
        """string [batch] -> "words" float32 [batch]."""
        return {"words": self._model(self._tokenizer.encode(text).to_tensor())[:, 0]}

    def signatures(self):
        """Returns the functions to export."""
        return {"serving_default": self.count.get_concrete_function()}
''',
    "task": '''"""Counting words: text -> number of words. See `pipelines.task.Task` for the members."""

import dataclasses

import keras
import numpy as np
import tensorflow as tf

from pipelines.data import batching
from pipelines.export.signatures import BatchedSignature
from pipelines.task import (  # noqa: F401 (the usual answers)
    complete_config,
    describe,
    describe_data,
    example_requests,
    fit_options,
    grow_tokenizer,
    items_per_epoch,
    load_tokenizer,
    needs_inference_model,
    refit,
    steps_per_epoch,
    summarize,
    write_report,
)
from pipelines.text.tokenizers import train_tokenizer
from pipelines.word_count import networks
from pipelines.word_count.data import load  # noqa: F401 (a member of Task)
from pipelines.word_count.servable import Counter

UNIT = "texts"


@dataclasses.dataclass(frozen=True)
class Encoded:
    """The ids, ragged int32 [n, (characters)], and the numbers of words, int [n], of both parts."""

    train: tuple[tf.RaggedTensor, np.ndarray]
    valid: tuple[tf.RaggedTensor, np.ndarray]

    def __len__(self):
        return len(self.train[1])


def make_tokenizer(config, splits):
    return train_tokenizer("character", splits.train, 500, config.max_bytes)


def encode(config, splits, tokenizer, folder):
    parts = (splits.train, splits.valid)
    return Encoded(*((batching.encode_texts(tokenizer.encode, part), _num_words(part)) for part in parts))


def _num_words(texts):
    return np.array([len(text.split()) for text in texts])


def build(config, splits, tokenizer, encoded, training):
    return networks.build(tokenizer.vocabulary_size)


def compile_model(config, model, total_steps):
    model.compile(keras.optimizers.Adam(config.learning_rate, global_clipnorm=config.clip_norm), "mae")


def make_validator(config, tokenizer, encoded, model):
    order = np.arange(len(encoded.valid[1]))
    rows = batching.padded_batches(*encoded.valid, order, config.batch_size)
    return lambda: {"val_loss": float(model.evaluate(rows, verbose=0))}


def batches(config, encoded, epoch, skip):
    order = np.random.default_rng([config.seed, epoch]).permutation(len(encoded))
    return batching.padded_batches(*encoded.train, order[skip * config.batch_size :], config.batch_size)


def make_servable(config, splits, tokenizer, model):
    return Counter(model, tokenizer)


def measure(config, splits, encoded, servable, best_row):
    error = BatchedSignature(servable.count)(splits.valid)["words"] - encoded.valid[1]
    scores = {"rows": len(error), "mean_error": float(abs(error).mean()), "loss": best_row["val_loss"]}
    return {"validation": scores}, {}
''',
}


@pytest.fixture
def word_count(tmp_path, monkeypatch):
    """Writes the task to a folder, and registers it."""
    folder = tmp_path / "more" / "word_count"
    folder.mkdir(parents=True)
    for name, source in FILES.items():
        (folder / f"{name}.py").write_text(source)
    (folder / "__init__.py").touch()
    monkeypatch.setattr(pipelines, "__path__", [*pipelines.__path__, str(folder.parent)])
    monkeypatch.setitem(TASKS, ENTRY.name, ENTRY)
    main._commands.cache_clear()
    yield folder
    main._commands.cache_clear()
    for name in [name for name in sys.modules if name.startswith("pipelines.word_count")]:
        del sys.modules[name]


def test_the_task_is_as_short_as_the_recipe_says():
    assert sum(len(source.splitlines()) for source in FILES.values()) == NUM_LINES
    assert f"{NUM_LINES} lines" in __doc__


def test_the_task_satisfies_the_contract(word_count):
    for name, member in MEMBERS.items():
        assert arguments(getattr(ENTRY.task(), name)) == arguments(member, skip=1), name
    assert ENTRY.task().UNIT == "texts" and ENTRY.task().load is ENTRY.data().load


def test_the_help_offers_what_the_task_can_do(word_count, tmp_path, run_main):
    for command, is_there in (
        ("train", True),
        ("predict", True),
        ("tune", True),
        ("prepare", False),
        ("evaluate", False),
    ):
        helped = run_main(tmp_path, command, "--help")
        assert helped.returncode == 0 and ("a counter of words" in " ".join(helped.stdout.split())) == is_there
    assert run_main(tmp_path, "--help").returncode == 0
    assert "--max-bytes" in run_main(tmp_path, "train", ENTRY.name, "--help-all").stdout
    assert_one_line(run_main(tmp_path, "prepare", ENTRY.name), "no task 'word-count'")


@pytest.mark.long
@pytest.mark.slow
def test_the_task_is_trained_and_used(word_count, tmp_path, run_main):
    trained = train_here(tmp_path, "train", ENTRY.name, "--json", *where(tmp_path))
    result = json.loads(trained.stdout)
    assert trained.returncode == 0, trained.stderr
    assert result["task"] == ENTRY.name and result["rows"] == {"train": 360, "valid": 40}
    error = result["scores"]["validation"]["mean_error"]
    report = (tmp_path / "runs" / ENTRY.name).glob("*/report.md")
    assert f"| mean_error | {error:.6g} |" in next(report).read_text()
    again = train_here(tmp_path, "train", ENTRY.name, *where(tmp_path))
    assert "is finished" in again.stderr and f"mean_error {error:.6g}" in again.stdout

    saved = ["--saved-models", tmp_path / "saved"]
    texts = ["three short words", "a text that has more words than the other one"]
    predicted = run_main(tmp_path, "predict", ENTRY.name, *texts, "--json", *saved)
    few, many = json.loads(predicted.stdout)["predictions"]
    assert few["text"] == texts[0] and few["words"] < many["words"]
    assert f"{few['words']:.3f}   {texts[0]}" in run_main(tmp_path, "predict", ENTRY.name, *texts, *saved).stdout

    (tmp_path / "texts.txt").write_text("\n".join(texts))
    files = ["--input", "texts.txt", "--output", "out.csv", "--prefix", "number of "]
    assert "2 texts: out.csv" in run_main(tmp_path, "predict", ENTRY.name, *files, *saved).stderr
    rows = list(csv.DictReader((tmp_path / "out.csv").read_text().splitlines()))
    assert [float(row["number of words"]) for row in rows] == pytest.approx([few["words"], many["words"]], abs=1e-3)

    listed = json.loads(run_main(tmp_path, "list", "--json", *where(tmp_path)).stdout)
    assert [(each["measure"], each["score"]) for each in listed["runs"] + listed["exports"]] == 2 * [
        ("mean_error", error)
    ]
    with pytest.raises(unroll.UserError, match="of the task word-count, which has no class in Python"):
        unroll.load(tmp_path / "saved" / f"{ENTRY.name}-sample")
    traced = run_main(tmp_path, "inspect", "gates", "some words", *saved)
    assert_one_line(traced, "word-count-sample/1 has no trace: the task word-count has none")
    assert_one_line(run_main(tmp_path, "inspect", "salience", "some words", *saved), "is of the task word-count")


@pytest.mark.long
@pytest.mark.slow
def test_runs_of_the_task_are_compared(word_count, tmp_path, run_main):
    for rate in ("0.01", "0.1"):
        flags = ["--learning-rate", rate, "--epochs", "1", "--run", f"rate-{rate}"]
        assert not train_here(tmp_path, "train", ENTRY.name, *flags, *where(tmp_path)).returncode
    compared = run_main(tmp_path, "compare", "rate-0.01", "rate-0.1", "--runs", tmp_path / "runs")
    assert "validation mean_error" in compared.stdout and "keeps no predictions" in compared.stdout
