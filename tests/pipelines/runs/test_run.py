"""The life of a run, with a very small task."""

import contextlib
import csv
import dataclasses
import json
import types

import keras
import numpy as np
import pytest
import tensorflow as tf

from pipelines import task
from pipelines.runs import run
from pipelines.runs import run_folder
from pipelines.settings.config import TrainingConfig
from pipelines.export import saved_model
from pipelines.export.exported import files_of, versions
from pipelines.runs.run import Destination
from pipelines.support.errors import UserError
from pipelines.support.files import write_text
from pipelines.task import TASKS, TaskEntry
from pipelines.training.fit import FitOptions


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(TrainingConfig):
    """The config of a task that learns the length of numbers as texts."""

    PRESETS = {("linear", "quick"): {"epochs": 2}, ("linear", "full"): {"epochs": 2}}
    DEFAULT_MODELS = {"quick": "linear", "full": "linear"}
    precision: str | None = "float32"
    epochs: int | None = None
    ema: bool = False


class Tokenizer:
    vocabulary_size = 10

    def save(self, folder):
        (folder / "tokenizer.txt").write_text("digits")


class Servable(tf.Module):
    def __init__(self, model):
        super().__init__()
        self._variables = [weight.value for weight in model.weights]
        self._model = lambda x: model(x, training=False)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def call(self, text):
        return {"score": self._model(tf.cast(tf.strings.length(text), tf.float32)[:, None])[:, 0]}

    def signatures(self):
        return {"serving_default": self.call.get_concrete_function()}


class SmallTask:
    """A task that records the calls of a run."""

    UNIT = "rows"

    def __init__(self):
        self.calls = []
        self.policies = {}
        self.interrupt_at = None
        for name in ("complete_config", "needs_inference_model", "fit_options", "refit"):
            setattr(self, name, self._recorded(name, getattr(task, name)))
        for name in dir(type(self)):
            if not name.startswith("_") and callable(getattr(self, name)):
                setattr(self, name, self._recorded(name, getattr(self, name)))

    def _recorded(self, name, function):
        def call(*arguments, **keywords):
            self.calls.append(name)
            return function(*arguments, **keywords)

        return call

    def load(self, config):
        return types.SimpleNamespace(train=40, valid=10)

    def describe(self, splits):
        return f"{splits.train} rows to train, {splits.valid} to validate on"

    def make_tokenizer(self, config, splits):
        return Tokenizer()

    def load_tokenizer(self, folder):
        assert (folder / "tokenizer.txt").read_text() == "digits"
        return Tokenizer()

    def encode(self, config, splits, tokenizer, folder):
        return np.arange(40, dtype="float32")[:, None] / 40

    def steps_per_epoch(self, config, encoded):
        return 4

    def items_per_epoch(self, encoded):
        return 40

    def build(self, config, splits, tokenizer, encoded, training):
        self.policies[training] = keras.config.dtype_policy().name
        inputs = keras.Input((1,))
        return keras.Model(inputs, keras.layers.Dense(1, dtype=None)(inputs))

    def compile_model(self, config, model, total_steps):
        assert total_steps == 4 * config.epochs
        model.compile(keras.optimizers.Adam(0.1), "mse")

    def batches(self, config, encoded, epoch, skip):
        if epoch == self.interrupt_at:
            raise KeyboardInterrupt
        order = np.random.default_rng([config.seed, epoch]).permutation(len(encoded))
        return tf.data.Dataset.from_tensor_slices((encoded[order], 2 * encoded[order])).batch(10).skip(skip)

    def make_validator(self, config, tokenizer, encoded, model):
        return lambda: {"val_loss": float(model.evaluate(encoded, 2 * encoded, verbose=0))}

    def make_servable(self, config, splits, tokenizer, model):
        return Servable(model)

    def measure(self, config, splits, encoded, servable, best_row):
        return {"validation": {"rows": 10, "loss": best_row["val_loss"]}}, {"details": "for the report"}

    def describe_data(self, config, splits, encoded):
        return {"rows": {"train": 40, "valid": 10}}

    def example_requests(self, servable):
        return {"serving_default": {"text": ["1", "22", ""]}}

    def write_report(self, result, details, folder):
        assert details == {"details": "for the report"} and result.export
        write_text(folder / "report.md", "# Report")

    def summarize(self, result):
        return f"loss {result.scores['validation']['loss']}"


@dataclasses.dataclass(frozen=True)
class Entry(TaskEntry):
    module: SmallTask | None = None

    def task(self):
        return self.module

    def load(self, config):
        return self.module.load(config)


@pytest.fixture
def small(monkeypatch, without_verification):
    module = SmallTask()
    entry = dataclasses.replace(TASKS["classification"], name="small", data_kind="text", defaults={})
    entry = Entry(**vars(entry), module=module)
    monkeypatch.setitem(TASKS, "small", entry)
    return module


def train(folder, config=None, **destination):
    return run.train(
        "small", (config or Config()).resolve(), Destination(folder / "runs", folder / "saved", **destination)
    )


def test_the_task_is_called_in_the_order_of_the_contract(small, tmp_path):
    train(tmp_path)
    contract = [name for name in vars(task.Task) if not name.startswith("_") and name not in ("UNIT", "summarize")]
    assert list(dict.fromkeys(small.calls)) == contract
    for name in set(contract) - {"batches"}:
        assert small.calls.count(name) == 1


@pytest.mark.parametrize(("options", "count"), [({}, 1), ({"verify": False}, 0), ({"export": False}, 0)], ids=str)
def test_the_process_that_checks_the_export_starts_before_measuring(small, tmp_path, monkeypatch, options, count):
    @contextlib.contextmanager
    def process():
        small.calls.append("process")
        yield "the process"
        small.calls.append("end")

    checked = []
    monkeypatch.setattr(saved_model, "verifier_process", process)
    monkeypatch.setattr(saved_model, "_verify", lambda verifier, *rest: checked.append(verifier))
    monkeypatch.setattr(small, "write_report", lambda *arguments: None)
    run.train("small", Config().resolve(), Destination(tmp_path / "runs", tmp_path / "saved", **options))
    assert checked == ["the process"] * count
    assert [name for name in small.calls if name in ("process", "measure", "end")] == (
        ["process", "measure", "end"] if count else ["measure"]
    )


def test_a_run_leaves_its_record_its_checkpoints_its_metrics_its_report_and_its_result(small, tmp_path):
    result = train(tmp_path)
    (folder,) = (tmp_path / "runs" / "small").iterdir()
    assert folder.name.startswith("sample-linear-")
    assert {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} == {
        "config.json",
        "lock",
        "tokenizer/tokenizer.txt",
        "checkpoints/last.npz",
        "checkpoints/best.npz",
        "metrics.csv",
        "report.md",
        "export.json",
        "result.json",
    }
    values = json.loads((folder / "result.json").read_text())
    assert values.pop("sha256") and values == result.to_json()
    assert set(result.export_files) >= {"saved_model.pb", "model_card.json", "variables/variables.index"}
    config = json.loads((folder / "config.json").read_text())
    assert config["task"] == "small" and config["config"]["epochs"] == 2
    with open(folder / "metrics.csv", newline="") as file:
        assert [row["epoch"] for row in csv.DictReader(file)] == ["1", "2"]


def test_the_result_has_the_facts_of_the_run(small, tmp_path):
    result = train(tmp_path)
    assert (result.task, result.sample, result.precision, result.parameters) == ("small", True, "float32", 2)
    assert (result.vocabulary_size, result.rows) == (10, {"train": 40, "valid": 10})
    assert len(result.epochs) == 2 and result.best_epoch == 2
    assert result.scores["validation"]["loss"] == min(row["val_loss"] for row in result.epochs)
    assert result.model == "small-sample/1" and result.export == str(tmp_path / "saved" / "small-sample" / "1")


def test_the_export_has_the_card_and_the_weights_of_the_best_epoch(small, tmp_path):
    result = train(tmp_path)
    card = json.loads((tmp_path / "saved" / "small-sample" / "1" / "model_card.json").read_text())
    assert (card["task"], card["scores"]) == ("small", result.scores)
    signature = tf.saved_model.load(result.export).signatures["serving_default"]
    (folder,) = (tmp_path / "runs" / "small").iterdir()
    with np.load(folder / "checkpoints" / "best.npz") as best:
        expected = 2 * best["v00000"][0, 0] + best["v00001"][0]
    assert float(signature(text=tf.constant(["ab"]))["score"][0]) == pytest.approx(expected, rel=1e-5)


def test_a_finished_run_is_not_repeated(small, tmp_path, capsys):
    first = train(tmp_path)
    small.calls.clear()
    assert train(tmp_path) == first
    assert small.calls == [] and "is finished" in capsys.readouterr().err


def test_an_export_that_was_deleted_is_made_again_without_training(small, tmp_path):
    first = train(tmp_path)
    (tmp_path / "saved" / "small-sample" / "1").rename(tmp_path / "moved")
    small.calls.clear()
    second = train(tmp_path)
    assert second.export == first.export and second.epochs == first.epochs
    assert "make_tokenizer" not in small.calls and small.calls.count("batches") == 1  # that one creates the variables


def test_an_export_that_was_cut_off_is_made_again_without_training(small, tmp_path, capsys):
    first = train(tmp_path)
    (tmp_path / "saved" / "small-sample" / "1" / "saved_model.pb").write_bytes(b"")
    small.calls.clear()
    second = train(tmp_path)
    assert "1 is not the export of this run any more (saved_model.pb has 0 bytes" in capsys.readouterr().err
    assert (second.model, second.epochs) == ("small-sample/2", first.epochs)
    assert small.calls.count("batches") == 1  # that one creates the variables
    assert train(tmp_path) == second


class Killed(BaseException):
    """Stands for SIGKILL: nothing catches it."""


def kill_at(monkeypatch, module, name, after):
    """Ends the process before or after the first call of `module.name`."""
    real = getattr(module, name)

    def call(*arguments, **keywords):
        if after:
            real(*arguments, **keywords)
        raise Killed

    monkeypatch.setattr(module, name, call)


@pytest.mark.parametrize("name", ["sync", "sync_tree"])
def test_a_run_that_is_killed_around_the_renaming_of_its_export_makes_one_version(small, tmp_path, monkeypatch, name):
    """`sync` comes right after the renaming, `sync_tree` before it."""
    expected = train(tmp_path / "whole")
    with monkeypatch.context() as patch:
        kill_at(patch, saved_model, name, after=False)
        with pytest.raises(Killed):
            train(tmp_path / "killed")
    exports = tmp_path / "killed" / "saved" / "small-sample"
    assert versions(exports) == ([1] if name == "sync" else [])
    result = train(tmp_path / "killed")
    assert versions(exports) == [1] and result.model == "small-sample/1"
    assert (result.epochs, result.scores) == (expected.epochs, expected.scores)
    assert [path.name for path in exports.iterdir()] == ["1"]
    assert train(tmp_path / "killed") == result


def test_a_run_that_is_killed_before_its_result_is_written_makes_one_version(small, tmp_path, monkeypatch, capsys):
    with monkeypatch.context() as patch:
        kill_at(patch, run_folder, "write_result", after=False)
        with pytest.raises(Killed):
            train(tmp_path)
    capsys.readouterr()
    synced = []
    monkeypatch.setattr(run, "sync", synced.append)
    result = train(tmp_path)
    assert synced == [tmp_path / "saved" / "small-sample"]
    assert "small-sample/1 is the export of this run already" in capsys.readouterr().err
    assert versions(tmp_path / "saved" / "small-sample") == [1] and result.model == "small-sample/1"
    assert result.export_files == files_of(tmp_path / "saved" / "small-sample" / "1")


def test_two_runs_with_the_same_weights_make_two_versions(small, tmp_path):
    assert train(tmp_path, run="a").model == "small-sample/1"
    assert train(tmp_path, run="b").model == "small-sample/2"


def test_folders_that_cannot_be_written_to_are_noticed_before_training(small, tmp_path):
    (tmp_path / "saved").write_text("a file")
    with pytest.raises(
        UserError, match="^--saved-models .*saved.*: nothing can be written to .*saved .*: give another"
    ):
        train(tmp_path)
    (tmp_path / "saved").unlink()
    assert small.calls == []
    train(tmp_path)
    (tmp_path / "saved").rename(tmp_path / "moved")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "runs").write_text("a file")
    with pytest.raises(UserError, match="^--runs .*runs.*: nothing can be written to"):
        train(tmp_path / "other")


def test_an_interrupted_run_continues_and_ends_with_the_same_weights(small, tmp_path):
    expected = train(tmp_path / "whole")
    small.interrupt_at = 1
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "stopped")
    small.interrupt_at = None
    small.calls.clear()
    result = train(tmp_path / "stopped")
    assert "make_tokenizer" not in small.calls
    assert result.epochs == expected.epochs
    weights = []
    for folder in ("whole", "stopped"):
        (file,) = (tmp_path / folder).rglob("best.npz")
        with np.load(file) as saved:
            weights.append(saved["v00000"].tobytes())
    assert weights[0] == weights[1]


def test_the_same_seed_gives_the_same_weights_and_another_one_does_not(small, tmp_path):
    results = [train(tmp_path / str(i), Config(seed=seed)) for i, seed in enumerate((1, 1, 2))]
    assert results[0].epochs == results[1].epochs != results[2].epochs


def test_names_of_run_and_export(small, tmp_path):
    data = tmp_path / "text.txt"
    data.write_text("1 22 333")
    assert train(tmp_path, Config(data=str(data)), run="mine", name="lengths").model == "lengths/1"
    assert (tmp_path / "runs" / "small" / "mine").is_dir()
    assert train(tmp_path, name="lengths").model == "lengths-sample/1"
    assert train(tmp_path, Config(seed=2), name="lengths-sample").model == "lengths-sample/2"


@pytest.mark.parametrize("destination", [{"run": "a/b"}, {"name": "../up"}])
def test_names_that_cannot_be_folders_are_refused_before_anything_is_written(small, tmp_path, destination):
    with pytest.raises(UserError, match="a name consists of"):
        train(tmp_path, **destination)
    assert not (tmp_path / "runs").exists() and small.calls == []


def test_a_setting_that_cannot_be_used_is_refused_before_anything_is_written(small, tmp_path):
    with pytest.raises(UserError, match="--patience 0"):
        train(tmp_path, Config(patience=0))
    assert not (tmp_path / "runs").exists()


def test_data_that_is_refused_leaves_no_folder(small, tmp_path):
    def refuse(config):
        raise UserError("the data has no text")

    small.load = refuse
    with pytest.raises(UserError, match="no text"):
        train(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_new_run_that_is_refused_before_its_training_leaves_no_folder(small, tmp_path):
    def refuse(*arguments):
        raise UserError("too little text")

    (tmp_path / "runs" / "small" / "mine").mkdir(parents=True)
    small.encode = refuse
    for name in (None, "mine"):
        with pytest.raises(UserError, match="too little text"):
            train(tmp_path, run=name)
    assert [path.name for path in (tmp_path / "runs" / "small").iterdir()] == ["mine"]


def test_in_mixed_precision_a_float32_model_is_scored_and_exported(small, tmp_path):
    result = train(tmp_path, Config(precision="mixed_bfloat16"))
    assert result.precision == "mixed_bfloat16"
    assert small.policies == {True: "mixed_bfloat16", False: "float32"}
    assert keras.config.dtype_policy().name == "float32"
    assert small.calls.count("compile_model") == 2


def test_a_task_can_ask_for_an_inference_model(small, tmp_path):
    small.needs_inference_model = lambda config: True
    train(tmp_path)
    assert small.policies == {True: "float32", False: "float32"}


def test_without_that_the_trained_model_is_scored(small, tmp_path):
    train(tmp_path)
    assert small.policies == {True: "float32"}


def test_the_completed_config_is_in_the_result_and_the_given_one_in_the_record(small, tmp_path):
    small.complete_config = lambda config, splits, tokenizer: dataclasses.replace(config, ema=True)
    result = train(tmp_path)
    (folder,) = (tmp_path / "runs" / "small").iterdir()
    assert result.config["ema"] is True
    assert json.loads((folder / "config.json").read_text())["config"]["ema"] is False
    small.calls.clear()
    assert train(tmp_path) == result


def test_fit_options_reach_the_training(small, tmp_path):
    initialized = []
    small.fit_options = lambda config, encoded, model: FitOptions(initialize=lambda: initialized.append(model))
    train(tmp_path)
    assert len(initialized) == 1


def test_a_training_on_all_rows_has_the_epochs_of_the_best_one_and_can_be_interrupted(small, tmp_path, monkeypatch):
    rows = np.arange(50, dtype="float32")[:, None] / 50
    epochs, exported = [], []

    def refit(config, encoded, model, servable, train_again):
        scored = model.get_weights()
        train_again(rows)
        exported.append(model.get_weights())
        assert all((new != old).all() for new, old in zip(exported[-1], scored, strict=True))
        return len(rows)

    def batches(config, encoded, epoch, skip):
        epochs.append((len(encoded), epoch))
        return type(small).batches(small, config, encoded, epoch, skip)

    def make_validator(config, tokenizer, encoded, model):
        losses = iter([0.3, 0.2, 0.4])
        return lambda: {"val_loss": next(losses)}

    for function in (refit, batches, make_validator):
        monkeypatch.setattr(small, function.__name__, function)
    assert train(tmp_path / "whole", Config(epochs=3)).about["refitted_rows"] == 50
    assert [each for each in epochs if each[0] == 50] == [(50, 0), (50, 0), (50, 1)]  # the first makes the variables
    (folder,) = (tmp_path / "whole" / "runs").glob("*/*")
    assert not (folder / "refit").exists()
    with monkeypatch.context() as patch:
        patch.setattr(small, "batches", interrupted_at(50, 1, batches))
        with pytest.raises(KeyboardInterrupt):
            train(tmp_path / "killed", Config(epochs=3))
    epochs.clear()
    assert train(tmp_path / "killed", Config(epochs=3)).about["refitted_rows"] == 50
    assert (50, 1) in epochs and epochs.count((50, 0)) == 1
    for array, expected in zip(*exported, strict=True):
        np.testing.assert_array_equal(array, expected)


def interrupted_at(num_rows, number, batches):
    def call(config, encoded, epoch, skip):
        if (len(encoded), epoch) == (num_rows, number):
            raise KeyboardInterrupt
        return batches(config, encoded, epoch, skip)

    return call
