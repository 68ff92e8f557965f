"""`evaluate` and `predict` of the tasks on labelled texts."""

import dataclasses
from pathlib import Path
from typing import Annotated, ClassVar

import tyro

from pipelines.command_line import Fit, ModelFlags, TableFlags, TrainCommand, print_json
from pipelines.export.exported import Exported
from pipelines.labelled.config import LabelledConfig
from pipelines.predicting.command import PredictRowsCommand
from pipelines.settings.fields import NAME, PATH, PATHS
from pipelines.support import paths, terminal
from pipelines.support.errors import UserError
from pipelines.support.paths import Data

# Fields of a config that `prepare` has.
TO_PREPARE = (
    "data",
    "valid",
    "valid_fraction",
    "text_column",
    "label_column",
    "encoding",
    "separator",
    "quote",
    "no_header",
    "fold_labels",
    "missing_labels",
    "max_bytes",
    "seed",
    "polarity",
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelledTrainCommand(TrainCommand):
    """`train` of a task on labelled texts, which can also be a cross-validation."""

    def train(self, config: LabelledConfig, name: str | None = None, fit: Fit | None = None) -> None:
        """Trains or, with --folds, cross-validates, and prints the summary; see `TrainCommand.train`."""
        if not config.folds:
            super().train(config, name, fit)
            return
        if self.name:
            raise UserError(f"--name {self.name} has no effect: --folds exports no model")
        if self.tensorboard:
            raise UserError("--tensorboard has no effect: --folds keeps no learning curves")
        from pipelines.labelled import cross_validation, folds_report

        result = cross_validation.cross_validate(self.task, config, self.runs, self.run)
        print_json(result.to_json()) if self.json else print(terminal.fitted(folds_report.summarize(result)))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evaluate:
    """Measure an exported classifier on labelled texts."""

    examples: ClassVar = ("{data}", "{data} --mistakes mistakes.csv")

    task: tyro.conf.Suppress[str] = ""
    data: Annotated[Data | None, PATHS] = None
    """Labelled texts, in the formats of `train`; if they have a test set, only the test set. A model that was trained
    on the embedded sample needs none: it is measured on a fresh sample."""
    label_column: Annotated[str | None, NAME] = None
    """Column with the label. By default the first column with a usual name (label, class, ...)."""
    labels_separator: Annotated[str | None, tyro.conf.arg(metavar="TEXT", help_behavior_hint="")] = None
    """For a model with several labels per text: the text between the labels of a cell. By default that of the
    training."""
    label_columns: Annotated[str | None, tyro.conf.arg(metavar="NAME,NAME", help_behavior_hint="")] = None
    """For a model with several labels per text: columns of 0 and 1. By default those of the training."""
    mistakes: Annotated[Path | None, PATH] = None
    """Write the texts with a wrong label to this CSV file, the highest probability first."""
    by: Annotated[str | None, tyro.conf.arg(metavar="COLUMN", help_behavior_hint="")] = None
    """Also score the groups of texts that have the same value in this column of --data."""
    json: bool = False
    """Print the scores as one JSON object."""
    table: TableFlags = TableFlags()
    model: ModelFlags = ModelFlags()

    def __call__(self) -> None:
        """Measures, and prints the scores."""
        from pipelines.labelled.evaluate import evaluate, format_scores

        options = self.table.options(self.label_column, self.labels_separator, self.label_columns)
        exported = self.model.find(self.task)
        scores = evaluate(exported, paths.expanded(self.data), options, self.mistakes, self.by)
        print_json(scores) if self.json else print(terminal.fitted(format_scores(scores)))

    def answers(self, exported: Exported):
        """Returns the `Answers` of the model to --data, for `compare`."""
        from pipelines.labelled.answers import answers

        options = self.table.options(self.label_column, self.labels_separator, self.label_columns)
        return answers(exported, paths.expanded(self.data), options)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Predict(PredictRowsCommand):
    """Label texts with an exported classifier."""

    examples: ClassVar = (
        "{text}",
        "--input texts.csv --output labelled.csv",
        "--input texts.csv --sort uncertainty",
    )
    labels: ClassVar = True
    output: Annotated[Path | None, PATH] = None
    """With --input: .csv, .tsv, .jsonl, .parquet or .xlsx file to write: the rows with their labels. By default CSV is
    printed."""

    def file_steps(self, exported: Exported, suffix: str):
        """See `PredictCommand.file_steps`."""
        from pipelines.labelled.predict import file_steps

        sort, tool = self.labelling.sort is not None, self.labelling.tool
        return file_steps(exported, self.table.options(), suffix, self.prefix, sort, tool)

    def predict_texts(self, exported: Exported) -> list[dict]:
        """See `PredictCommand.predict_texts`."""
        from pipelines.labelled.predict import predict_texts

        return predict_texts(exported, list(self.texts))

    def format_result(self, result: dict) -> str:
        """Returns the lines of one text for a terminal."""
        from pipelines.labelled.top_classes import runners_up

        others = runners_up(result)
        return f"{self.format_label(result)}\n{'':<10} {others}" if others else self.format_label(result)

    def format_label(self, result: dict) -> str:
        """Returns the line with the label of one text."""
        note = f"   ({result['note']})" if "note" in result else ""
        columns = result.get("columns")
        given = "; ".join(f"{name}: {cell}" for name, cell in columns.items()) if columns else result["text"]
        text = f"{' '.join(given.split())[:120]}{note}"
        if "value" in result:
            return f"{result['value']:<10.6g} {text}"
        if "labels" not in result:
            return f"{result['label'] or 'no label':<10} {result['score']:.3f}   {text}"
        probabilities = result.get("probabilities", {})  # a server names the most probable classes alone, or none
        labels = [f"{name} {probabilities[name]:.3f}" if name in probabilities else name for name in result["labels"]]
        return f"{', '.join(labels) or 'no label'}   {text}"

    def ask_server(self, model: str) -> list[dict]:
        """See `PredictCommand.ask_server`."""
        from pipelines.labelled.predict import given_rows
        from pipelines.labelled.top_classes import by_probability

        columns, inputs = self._served_columns(model)
        outputs = self.model.ask(model, inputs)
        names = [name for name in ("value", "label", "labels", "score", "abstained") if name in outputs]
        answers = {name: outputs[name] for name in names}
        if "labels" in answers:
            answers["labels"] = [[name for name in labels if name] for labels in answers["labels"]]
        if "top_labels" in outputs:  # an export of 0.11.0 does not name the classes
            answers["probabilities"] = list(map(by_probability, outputs["top_labels"], outputs["top_scores"]))
        rows = zip(*answers.values(), strict=True)
        given = given_rows(columns, self.texts)
        return [first | dict(zip(answers, row, strict=True)) for first, row in zip(given, rows, strict=True)]

    def _served_columns(self, model: str) -> tuple[list[str], dict[str, list]]:
        """Returns the names of the columns of a model on the server, none of a model of one text, and its inputs."""
        if "columns" not in self.model.signatures_of(model):
            return [], {"text": list(self.texts)}
        from pipelines.data import fields

        found = self.model.ask(model, {"text": [""]}, "columns")
        names, inputs, is_number = (found[name][0] for name in ("names", "inputs", "is_number"))
        kinds = [fields.NUMBER if each else fields.TEXT for each in is_number]
        read = [fields.Field(name, kind) for name, kind in zip(names, kinds, strict=True)]
        return names, dict(zip(inputs, fields.values_of_cells(read, self.texts), strict=True))
