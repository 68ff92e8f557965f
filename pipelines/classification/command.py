"""`train`, `evaluate`, `predict` and `prepare` for `classification` and `sentiment`."""

import dataclasses
import sys
from typing import Annotated, ClassVar

import tyro

from pipelines.classification.config import ClassificationConfig
from pipelines.command_line import PrepareCommand, subset
from pipelines.export.exported import Exported
from pipelines.labelled import command
from pipelines.labelled.command import TO_PREPARE, Evaluate
from pipelines.support.errors import UserError


@dataclasses.dataclass(frozen=True, kw_only=True)
class Train(command.LabelledTrainCommand):
    """Train a classifier of texts, measure it, and export it as a SavedModel."""

    config: ClassificationConfig = ClassificationConfig()

    def __call__(self) -> None:
        """Trains, and prints the summary."""
        config = self.resolved()
        self.train(config, name=self._export_name(config))

    def _export_name(self, config: ClassificationConfig) -> str | None:
        """Returns the default name of the export; None is the task's name.

        It is the data's name, unless all data of the task has the same labels.
        """
        if config.polarity or config.data is None:
            return None
        from pipelines.data import sources

        return sources.name(config.data)


_N = Annotated[int, tyro.conf.arg(metavar="N")]
_ToPrepare = subset(
    ClassificationConfig,
    (*TO_PREPARE, "tokenizer", "positive"),
    vocabulary_size=(_N, 30_000),
    max_tokens=(_N, 1000),
    max_characters=(_N, 1000),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Prepare(PrepareCommand):
    """Prepare labelled texts that may be larger than memory."""

    needed: ClassVar = {"preset": "full", "model": "linear"}
    config: _ToPrepare = _ToPrepare()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Predict(command.Predict):
    """Label texts with an exported classifier."""

    examples: ClassVar = ("{text}", "--explain {text}", *command.Predict.examples[1:])

    explain: bool = False
    """Print the words that count for and against each label. A word's weight is what the label's log-odds lose without
    the word."""

    def check(self) -> None:  # noqa: D102
        super().check()
        for flag, value in (("--input", self.input), ("--server", self.model.server)):
            if self.explain and value:
                raise UserError(f'--explain is for texts "in quotes" and a model on this machine: leave out {flag}')

    def predict_texts(self, exported: Exported) -> list[dict]:  # noqa: D102
        if not self.explain:
            return super().predict_texts(exported)
        from pipelines.classification.predict import explain_texts

        return explain_texts(exported, list(self.texts))

    def format_result(self, result: dict) -> str:  # noqa: D102
        if not self.explain:
            return super().format_result(result)
        from pipelines.classification.predict import format_weights

        return f"{self.format_label(result)}\n{format_weights(result, color=sys.stdout.isatty())}"


__all__ = ["Evaluate", "Predict", "Prepare", "Train"]
