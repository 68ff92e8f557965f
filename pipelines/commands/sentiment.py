"""`train|evaluate|predict sentiment`."""

import dataclasses
import sys
from pathlib import Path
from typing import Annotated, ClassVar

import tyro

from pipelines.commands.common import SAVED_MODELS, NameFlag, PathFlag, SavedModels, ServerFlag, Training, ask, print_json, tell
from pipelines.configs import base
from pipelines.configs.sentiment import DEFAULT_MODELS, PRESETS, SentimentConfig
from pipelines.errors import UserError


@dataclasses.dataclass(frozen=True, kw_only=True)
class Train(Training):
    """Train a sentiment classifier, measure it, and export it as a SavedModel. The same command goes on after a stop."""

    config: SentimentConfig

    def __call__(self) -> None:
        config = base.resolved(self.config, PRESETS, DEFAULT_MODELS)
        self.train("sentiment", config, "report")


@dataclasses.dataclass(frozen=True)
class Evaluate:
    """Measure an exported sentiment classifier on labelled reviews."""

    pipeline: ClassVar[str] = "sentiment"
    data: Annotated[str | None, PathFlag] = None
    """Labelled reviews, as for train (of a source with a test set, the test set). A model of the embedded sample needs
    none: it is measured on a fresh one."""
    text_column: Annotated[str | None, NameFlag] = None
    """The column with the text; found by its name if not given."""
    label_column: Annotated[str | None, NameFlag] = None
    """The column with the label; found by its name if not given."""
    mistakes: Annotated[Path | None, PathFlag] = None
    """Write the rows with a wrong answer to this CSV file, the surest first."""
    name: Annotated[str | None, NameFlag] = None
    """Name of the exported model. By default sentiment, else sentiment-sample."""
    version: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Its version. By default the newest."""
    saved_models: SavedModels = SAVED_MODELS
    """Folder of the exported models."""
    json: bool = False
    """Print the measures as one JSON object."""

    def __call__(self) -> None:
        from pipelines import evaluating, models

        exported = models.find(self.saved_models, self.pipeline, self.name, self.version)
        tell(f"model {exported.title}")
        measures = evaluating.evaluate(exported, self.data, self.text_column, self.label_column, self.mistakes)
        print_json(measures) if self.json else print(evaluating.table(measures))


@dataclasses.dataclass(frozen=True)
class Predict:
    """Label reviews with an exported sentiment classifier."""

    pipeline: ClassVar[str] = "sentiment"
    texts: tyro.conf.Positional[tuple[str, ...]] = ()
    """The reviews, each in quotes."""
    input: Annotated[str | None, PathFlag] = None
    """Label the reviews of a file instead: a CSV or TSV file (also compressed), any other file a review a line, - for stdin."""
    output: Annotated[Path | None, PathFlag] = None
    """With --input: the .csv, .tsv or .jsonl file to write. By default CSV to stdout."""
    explain: bool = False
    """Show the words that speak for and against each label: what the label's log-odds lose when a word is deleted."""
    text_column: Annotated[str | None, NameFlag] = None
    """With --input: the column with the text; found by its name if not given."""
    name: Annotated[str | None, NameFlag] = None
    """Name of the exported model. By default sentiment, else sentiment-sample."""
    version: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Its version. By default the newest."""
    saved_models: SavedModels = SAVED_MODELS
    """Folder of the exported models."""
    server: ServerFlag = None
    """Ask a server rather than load the model: host:port for gRPC, http://host:port for REST."""
    json: bool = False
    """Print one JSON object; with --input its counts (which needs --output)."""

    def __call__(self) -> None:
        from pipelines import explaining, models, predicting

        if self.explain and self.input:
            raise UserError('--explain is for reviews "in quotes": leave out --input')
        if bool(self.texts) == bool(self.input):
            raise UserError('give reviews to label: either "in quotes" or in a file with --input')
        if self.output and not self.input:
            raise UserError("--output is for --input: the labels of reviews in quotes are printed")
        if self.json and self.input and not self.output:
            raise UserError("--json with --input needs --output: the JSON object on stdout holds the counts alone")
        if self.server:
            self._ask()
            return
        exported = models.find(self.saved_models, self.pipeline, self.name, self.version)
        tell(f"model {exported.title}")
        if self.input:
            counts = predicting.predict_file(exported, self.input, self.output, self.text_column)
            if self.json:
                print_json({"model": exported.title, **counts})
            else:
                told = counts["labels"] | {name: n for name, n in counts.items() if name not in ("rows", "labels") and n}
                tell(f"{counts['rows']:,} reviews: {', '.join(f'{name} {n:,}' for name, n in told.items())}")
            return
        if self.explain:
            results = explaining.explain_texts(exported, list(self.texts))
        else:
            results = predicting.predict_texts(exported, list(self.texts), predicting.load(exported))
        if self.json:
            print_json({"model": exported.title, "predictions": results})
            return
        self._print(results)

    def _ask(self) -> None:
        if self.input or self.explain:
            raise UserError(f'--server is for reviews "in quotes": leave out {"--input" if self.input else "--explain"}')
        name = self.name or self.pipeline
        outputs = ask(self.server, name, self.version, {"text": list(self.texts)})
        results = [
            {"text": text, "label": label, "score": score} for text, label, score in zip(self.texts, outputs["label"], outputs["score"], strict=True)
        ]
        if self.json:
            print_json({"model": name, "predictions": results})
        else:
            self._print(results)

    def _print(self, results: list[dict]) -> None:
        from pipelines import explaining

        for result in results:
            note = f"   ({result['note']})" if "note" in result else ""
            print(f"{result['label']:<10} {result['score']:.3f}   {' '.join(result['text'].split())[:120]}{note}")
            if self.explain:
                print(explaining.marked(result, color=sys.stdout.isatty()))
