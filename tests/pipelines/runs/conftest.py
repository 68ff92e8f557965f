"""A very small task, for the life of a run."""

import dataclasses
import types

import keras
import numpy as np
import pytest
import tensorflow as tf

from pipelines import task
from pipelines.runs import run
from pipelines.runs.run import Destination
from pipelines.settings.config import TrainingConfig
from pipelines.support.files import write_text
from pipelines.task import TASKS
from pipelines.task_entry import TaskEntry


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
        for name in ("complete_config", "grow_tokenizer", "needs_inference_model", "fit_options", "refit"):
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
