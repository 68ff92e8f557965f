"""A line of the registry of tasks: what the commands know of a task, and where its modules are."""

import dataclasses
import importlib.util
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the registry is read before TensorFlow is imported
    from pipelines.settings.config import TrainingConfig
    from pipelines.support.answers import Answers, Measured
    from pipelines.task import Task


@dataclasses.dataclass(frozen=True)
class TaskEntry:
    """One line of the registry: a command, and the package that implements it.

    Attributes:
        name: name on the command line, of the runs' folder and, by default, of the export.
        description: what is trained, for the list of commands in `--help`.
        package: folder in pipelines/ with config.py, command.py, data.py, task.py and so on.
        data_kind: kind of corpora that it reads (`Corpus.kind` in data/corpora.py).
        sample: module in pipelines/data/ that makes the embedded sample; its `version()` is the sample's fingerprint.
        defaults: config fields whose defaults differ from those in the package's config.

        example_data: flags that name data, for the examples in `--help`.
        example_text: a text or texts in quotes, for the examples of `predict`.

        A task may lack what follows, and also `Evaluate` and `Prepare` in its command.py, trace.py and examine.py:

        measures: measures of a validation set; the first one that a result has is the one that is listed.
        answers: module in pipelines/ whose `measure` says what `compare` measures of answers; its `Evaluate` in
            command.py has `answers`. See support/answers.py.
        keeps_predictions: whether a run keeps its validation predictions (support/predictions.py), for `compare`.
        estimator: module and class in pipelines/python/.
        explains: what `inspect` explains of its models: "next token", "label" or "tag". Its networks.py then has
            `of_export`, which builds the network of an export again: see `export.network.load_network`.
        no_trace: why no export has the signature `trace`.
        other_names: what users also call it; the command line then names the task.
    """

    name: str
    description: str
    package: str
    data_kind: str
    sample: str
    defaults: dict[str, Any] = dataclasses.field(default_factory=dict)
    example_data: str = "--data reviews.csv"
    example_text: str = '"A gripping story."'
    measures: tuple[str, ...] = ("loss",)
    answers: str | None = None
    keeps_predictions: bool = False
    estimator: str | None = None
    explains: str | None = None
    no_trace: str = ""
    other_names: tuple[str, ...] = ()

    def named(self, name: str, description: str, **defaults) -> "TaskEntry":
        """Returns the entry of the same package under another name, with other defaults."""
        return dataclasses.replace(self, name=name, description=description, defaults=defaults)

    def command(self) -> ModuleType:
        """The module with `Train` and, where they exist, `Predict`, `Evaluate` and `Prepare`. Imports nothing heavy."""
        return importlib.import_module(f"{__package__}.{self.package}.command")

    def config_class(self) -> "type[TrainingConfig]":
        """The class of the task's config."""
        return type(self.command().Train(task=self.name).config)

    def task(self) -> "Task":
        """The module that satisfies `Task`. Imports TensorFlow."""
        return importlib.import_module(f"{__package__}.{self.package}.task")

    def data(self) -> ModuleType:
        """The module with `Task.load`. Imports no TensorFlow."""
        return importlib.import_module(f"{__package__}.{self.package}.data")

    def examine(self) -> ModuleType:
        """The module with `examine(config)`, which returns what `doctor` says about the data. Imports no TensorFlow."""
        return importlib.import_module(f"{__package__}.{self.package}.examine")

    def shards(self) -> ModuleType:
        """The module with `write(config, surveyed, folder)`, the second pass of `prepare`. Imports TensorFlow."""
        return importlib.import_module(f"{__package__}.{self.package}.shards")

    def networks(self) -> ModuleType:
        """The module with the networks. Imports TensorFlow."""
        return importlib.import_module(f"{__package__}.{self.package}.networks")

    def estimator_class(self) -> type:
        """The class of `estimator`. Imports scikit-learn."""
        module, _, name = self.estimator.partition(".")
        return getattr(importlib.import_module(f"{__package__}.python.{module}"), name)

    def has(self, name: str) -> bool:
        """Whether the package has a module, such as "trace"."""
        return importlib.util.find_spec(f"{__package__}.{self.package}.{name}") is not None

    def measure_answers(self, answers: "Answers", about: dict) -> "Measured":
        """Returns what is measured of the answers of a model, whose card, or the result of whose run, is `about`."""
        return importlib.import_module(f"{__package__}.{self.answers}").measure(answers, about)

    def load(self, config) -> Any:
        """Calls `Task.load` without importing TensorFlow."""
        return self.data().load(config)

    def sample_version(self) -> str:
        """A text that changes whenever the embedded sample changes."""
        return importlib.import_module(f"{__package__}.data.{self.sample}").version()
