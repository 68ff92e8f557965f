"""The models of the lessons, each trained once by the command `train`, and the commands that show what they learned."""

import contextlib
import dataclasses
import functools
import io
import json
import sys
import zlib
from pathlib import Path
from typing import Any

from pipelines.command_line import RUNS, SAVED_MODELS, ServedModelFlags
from pipelines.data.corpora import cache_folder
from pipelines.export.exported import Exported, versions
from pipelines.inspect.models import Model
from pipelines.inspect.view import View
from pipelines.learn.steps import Step
from pipelines.learn.texts import TEXTS, Text
from pipelines.settings.fields import flag
from pipelines.support import console
from pipelines.support.files import make_folders, write_text
from pipelines.support.installation import shell_command
from pipelines.task import TASKS

_WORDS: dict[str, Any] = {"documents": "line", "tokenizer": "word", "preset": "quick", "window": 40}
_AGREEMENT = _WORDS | {"hidden_size": 64, "embedding_size": 32, "batch_size": 64}
_PAIRS: dict[str, Any] = {
    "pair": "en-es",
    "preset": "quick",
    "vocabulary_size": 400,
    "hidden_size": 64,
    "embedding_size": 64,
    "batch_tokens": 250,
    "learning_rate": 0.004,
    "warmup_steps": 50,
    "dropout": 0.0,
    "label_smoothing": 0.0,
    "bidirectional": False,
    "epochs": 16,
}


@dataclasses.dataclass(frozen=True)
class Small:
    """A small model: its task, its training text in `TEXTS`, and its settings."""

    task: str
    text: str
    settings: dict[str, Any]


MODELS = {
    "lesson-1": Small(
        "language-model",
        "days",
        {
            "documents": "line",
            "tokenizer": "word",
            "preset": "quick",
            "model": "simple",
            "hidden_size": 1,
            "embedding_size": 2,
            "batch_size": 8,
            "window": 20,
            "learning_rate": 0.05,
            "schedule": "constant",
            "epochs": 8,
        },
    ),
    "lesson-2": Small(
        "language-model",
        "farewells",
        _WORDS | {"model": "simple", "hidden_size": 32, "embedding_size": 16, "epochs": 6, "learning_rate": 0.005},
    ),
    "lesson-3": Small(
        "language-model", "agreement", _AGREEMENT | {"model": "simple", "epochs": 4, "learning_rate": 0.002}
    ),
    "lesson-4": Small(
        "language-model", "agreement", _AGREEMENT | {"model": "lstm", "epochs": 6, "learning_rate": 0.01}
    ),
    "lesson-5": Small("language-model", "agreement", _AGREEMENT | {"model": "gru", "epochs": 6, "learning_rate": 0.01}),
    "lesson-6": Small(
        "tagging",
        "names",
        {
            "model": "lstm",
            "preset": "quick",
            "hidden_size": 32,
            "embedding_size": 32,
            "characters": "none",
            "crf": False,  # so that each tag comes from the state of its own word
            "batch_size": 16,
            "epochs": 6,
            "learning_rate": 0.01,
        },
    ),
    "lesson-7": Small("translation", "witches", _PAIRS | {"model": "rnn", "hidden_size": 96}),
    "lesson-8": Small("translation", "witches", _PAIRS | {"model": "attention"}),
    "lesson-9": Small(
        "language-model",
        "containers",
        _WORDS
        | {
            "model": "transformer",
            "hidden_size": 64,
            "num_layers": 2,
            "epochs": 4,
            "batch_size": 32,
            "learning_rate": 0.003,
        },
    ),
    "lesson-10": Small(
        "encoder",
        "meals",
        {
            "model": "transformer",
            "direction": "bidirectional",
            "preset": "full",
            "size": "tiny",
            "vocabulary_size": 400,
            "num_layers": 2,
            "epochs": 12,
        },
    ),
    "lesson-10-labels": Small("transfer", "banks", {"encoder": "lesson-10"}),
}
"""Name of the run and of the export -> what is trained."""


@dataclasses.dataclass(frozen=True)
class Course:
    """Where the models of the lessons are, and the seed of their texts and weights."""

    runs: Path = RUNS
    saved_models: Path = SAVED_MODELS
    seed: int = 1

    def name(self, model: str) -> str:
        """Returns the name of the run of a model of this seed."""
        return model if self.seed == 1 else f"{model}-seed-{self.seed}"

    def trained(self, model: str) -> str:
        """Returns the name of a model, which is trained first unless it exists, with these settings and this text.

        Args:
            model: key of `MODELS`.
        """
        small = MODELS[model]
        name = self.name(model)
        settings = small.settings | {"seed": self.seed}
        settings["data"] = self.write_text(small.text)
        if "encoder" in settings:
            settings["encoder"] = self._newest(self.trained(settings["encoder"])).path
        # The run's name has a checksum of the settings. Of paths only the last part counts: folders may be moved.
        counted = {field: value.name if isinstance(value, Path) else value for field, value in settings.items()}
        run = f"{name}-{zlib.crc32(repr(sorted(counted.items())).encode()):08x}"
        if self._is_of(name, self.runs / small.task / run / "result.json"):
            return name
        console.say(f"training {name}, once; the next call of the lesson finds it ...")
        entry = TASKS[small.task]
        given = {field: str(value) if isinstance(value, Path) else value for field, value in settings.items()}
        config = dataclasses.replace(entry.config_class()(), **entry.defaults | given)
        command = entry.command().Train(
            task=entry.name, config=config, run=run, name=name, runs=self.runs, saved_models=self.saved_models
        )
        with contextlib.redirect_stdout(sys.stderr):  # stdout has the lesson
            command()
        return name

    def write_text(self, text: str) -> Path:
        """Writes a training text, unless it is there already; returns its path."""
        content = _content(TEXTS[text], self.seed)
        suffix = ".jsonl" if content.startswith("{") else ".tsv" if "\t" in content else ".txt"
        # Another version of Unroll may generate another text: its file has another checksum in its name.
        name = f"{text}-{self.seed}-{zlib.crc32(content.encode()):08x}{suffix}"
        path = cache_folder() / "lessons" / name
        if not path.exists():
            make_folders(path.parent)
            write_text(path, content)
        return path

    def _is_of(self, export: str, result: Path) -> bool:
        """Returns whether the newest version of an export was made by the run with this result."""
        if not result.is_file() or not versions(self.saved_models / export):
            return False
        return self._newest(export).card().get("run") == json.loads(result.read_text("utf-8"))["run"]

    def _newest(self, name: str) -> Exported:
        version = versions(self.saved_models / name)[-1]
        return Exported(name, version, self.saved_models / name / str(version))

    def model(self, model: str) -> Model:
        """Returns a model, trained and loaded."""
        return Model(self._newest(self.trained(model)))

    def drawn(self, title: str, view: type[View], models: tuple[str, ...], about: str = "", **flags) -> Step:
        """Returns the step that an inspection makes: its figures, and the sentences that it prints.

        Args:
            title: of the step.
            view: class of the inspection.
            models: keys of `MODELS`.
            about: what to see, printed before the inspection's sentences.
            flags: of the inspection.
        """
        names = tuple(self.trained(model) for model in models)
        looked = view(**flags, models=names, saved_models=self.saved_models)  # type: ignore[call-arg]
        figures, notes = looked.look()
        is_table = any("  " in note for note in notes)
        text = " ".join([about, *(_sentence(note) for note in notes if not is_table)]).strip()
        return Step(
            title,
            text=text,
            picture=tuple(notes) if is_table else (),
            command=command_of(["inspect", view.NAME], looked),
            figures=tuple(figures),
        )

    def printed(self, title: str, model: str, about: str = "", **flags) -> Step:
        """Returns the step that `predict` makes: what it prints.

        Args:
            title: of the step.
            model: key of `MODELS`.
            about: what to see.
            flags: of `predict`.
        """
        task = MODELS[model].task
        exported = ServedModelFlags(name=self.trained(model), saved_models=self.saved_models)
        command = TASKS[task].command().Predict(task=task, model=exported, **flags)
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            command()
        return Step(
            title,
            text=about,
            picture=tuple(output.getvalue().rstrip().splitlines()),
            command=command_of(["predict", task], command),
        )


@functools.cache  # a lesson asks for the same text several times
def _content(text: Text, seed: int) -> str:
    """Returns a training text as it is written."""
    header = [text.header] if text.header else []
    return "".join(f"{line}\n" for line in header + text.lines(seed))


def command_of(words: list[str], command) -> str:
    """Returns what a user types for a command: its words, its texts and the flags that differ from their defaults."""
    texts, flags = _arguments(command)
    return " ".join([shell_command(), *words, *texts, *flags])


def _arguments(command) -> tuple[list[str], list[str]]:
    """Returns the texts and the flags of a command, also those of its groups of flags."""
    texts, flags = [], []
    for field in dataclasses.fields(command):
        value = getattr(command, field.name)
        default = field.default if field.default is not dataclasses.MISSING else None
        if value == default or field.name == "task":
            continue
        if dataclasses.is_dataclass(value):
            flags += _arguments(value)[1]
            continue
        values = [str(each) for each in value] if isinstance(value, tuple) else [str(value)]
        quoted = [f'"{each}"' if " " in each else each for each in values]
        if field.name in ("text", "texts"):
            texts += quoted
        else:
            flags += [flag(field.name), *([] if value is True else quoted)]
    return texts, flags


def _sentence(note: str) -> str:
    return note if note.endswith(".") else f"{note}."
