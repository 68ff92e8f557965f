"""Unroll's front door: `python main.py train|evaluate|predict PIPELINE`.

Reads the command line and imports nothing heavy before it knows what to do, so that `--help` and a mistyped flag answer at
once. Results go to stdout, progress and messages to stderr.
"""

import dataclasses
import json
import sys
from pathlib import Path
from typing import Annotated

import tyro

from pipelines.configs import base, char_lm
from pipelines.configs.sentiment import DEFAULT_MODELS, PRESETS, SentimentConfig
from pipelines.errors import UserError, is_disk_full

HERE = Path(__file__).resolve().parent
PathFlag = tyro.conf.arg(metavar="PATH")
NameFlag = tyro.conf.arg(metavar="NAME")
Runs = Annotated[Path, tyro.conf.arg(metavar="PATH", help_behavior_hint="(default: runs beside main.py)")]
SavedModels = Annotated[Path, tyro.conf.arg(metavar="PATH", help_behavior_hint="(default: saved_models beside main.py)")]


@dataclasses.dataclass(frozen=True)
class TrainSentiment:
    """Train a sentiment classifier, measure it, and export it as a SavedModel. The same command goes on after a stop."""

    config: SentimentConfig
    run: Annotated[str | None, NameFlag] = None
    """Name of the run's folder. By default made from the data's name and the settings."""
    name: Annotated[str | None, NameFlag] = None
    """Name of the exported model. By default sentiment (sentiment-sample for the embedded sample)."""
    runs: Runs = HERE / "runs"
    """Folder of the runs."""
    saved_models: SavedModels = HERE / "saved_models"
    """Folder of the exported models."""
    json: bool = False
    """Print the result as one JSON object."""

    def __call__(self) -> None:
        from pipelines import run

        config = base.resolved(self.config, PRESETS, DEFAULT_MODELS)
        result = run.train("sentiment", config, run.Place(self.runs, self.saved_models, self.run, self.name))
        if self.json:
            print(json.dumps(result, ensure_ascii=False))
        else:
            from pipelines import report

            print(report.summary(result))


@dataclasses.dataclass(frozen=True)
class EvaluateSentiment:
    """Measure an exported sentiment classifier on labelled reviews."""

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
    saved_models: SavedModels = HERE / "saved_models"
    """Folder of the exported models."""
    json: bool = False
    """Print the measures as one JSON object."""

    def __call__(self) -> None:
        from pipelines import evaluating, models

        exported = models.find(self.saved_models, "sentiment", self.name, self.version)
        tell(f"model {exported.title}")
        measures = evaluating.evaluate(exported, self.data, self.text_column, self.label_column, self.mistakes)
        print(json.dumps(measures, ensure_ascii=False) if self.json else evaluating.table(measures))


@dataclasses.dataclass(frozen=True)
class PredictSentiment:
    """Label reviews with an exported sentiment classifier."""

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
    saved_models: SavedModels = HERE / "saved_models"
    """Folder of the exported models."""
    json: bool = False
    """Print one JSON object; with --input its counts (which needs --output)."""

    def __call__(self) -> None:
        from pipelines import explaining, models, predicting

        if self.explain and self.input:
            raise UserError('--explain is for reviews "in quotes": leave out --input')
        if bool(self.texts) == bool(self.input):
            raise UserError('give reviews to label: either "in quotes" or in a file with --input')
        if self.json and self.input and not self.output:
            raise UserError("--json with --input needs --output: the JSON object on stdout holds the counts alone")
        exported = models.find(self.saved_models, "sentiment", self.name, self.version)
        tell(f"model {exported.title}")
        if self.input:
            counts = predicting.predict_file(exported, self.input, self.output, self.text_column)
            if self.json:
                print(json.dumps({"model": exported.title, **counts}, ensure_ascii=False))
            else:
                told = counts["labels"] | {name: n for name, n in counts.items() if name not in ("rows", "labels") and n}
                tell(f"{counts['rows']:,} reviews: {', '.join(f'{name} {n:,}' for name, n in told.items())}")
            return
        if self.explain:
            results = explaining.explain_texts(exported, list(self.texts))
        else:
            results = predicting.predict_texts(exported, list(self.texts), predicting.load(exported))
        if self.json:
            print(json.dumps({"model": exported.title, "predictions": results}, ensure_ascii=False))
            return
        for result in results:
            note = f"   ({result['note']})" if "note" in result else ""
            print(f"{result['label']:<10} {result['score']:.3f}   {' '.join(result['text'].split())[:120]}{note}")
            if self.explain:
                print(explaining.marked(result, color=sys.stdout.isatty()))


@dataclasses.dataclass(frozen=True)
class TrainCharLm:
    """Train a language model, measure it, and export it as a SavedModel. The same command goes on after a stop."""

    config: char_lm.CharLmConfig
    run: Annotated[str | None, NameFlag] = None
    """Name of the run's folder. By default made from the data's name and the settings."""
    name: Annotated[str | None, NameFlag] = None
    """Name of the exported model. By default char-lm (char-lm-sample for the embedded sample)."""
    runs: Runs = HERE / "runs"
    """Folder of the runs."""
    saved_models: SavedModels = HERE / "saved_models"
    """Folder of the exported models."""
    json: bool = False
    """Print the result as one JSON object."""

    def __call__(self) -> None:
        from pipelines import run

        config = base.resolved(self.config, char_lm.PRESETS, char_lm.DEFAULT_MODELS)
        result = run.train("char-lm", config, run.Place(self.runs, self.saved_models, self.run, self.name))
        if self.json:
            print(json.dumps(result, ensure_ascii=False))
        else:
            from pipelines import lm_report

            print(lm_report.summary(result))


@dataclasses.dataclass(frozen=True)
class EvaluateCharLm:
    """Measure an exported language model on a text."""

    data: Annotated[str | None, PathFlag] = None
    """The text: a file, or tiny-shakespeare. A model of the embedded sample needs none: it is measured on all of that."""
    name: Annotated[str | None, NameFlag] = None
    """Name of the exported model. By default char-lm, else char-lm-sample."""
    version: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Its version. By default the newest."""
    saved_models: SavedModels = HERE / "saved_models"
    """Folder of the exported models."""
    json: bool = False
    """Print the measures as one JSON object."""

    def __call__(self) -> None:
        from pipelines import lm_answers, models

        exported = models.find(self.saved_models, "char-lm", self.name, self.version)
        tell(f"model {exported.title}")
        measures = lm_answers.evaluate(exported, self.data)
        print(json.dumps(measures, ensure_ascii=False) if self.json else lm_answers.table(measures))


@dataclasses.dataclass(frozen=True)
class PredictCharLm:
    """Go on from a text with an exported language model."""

    texts: tyro.conf.Positional[tuple[str, ...]] = ("",)
    """The beginnings, each in quotes. Without any, the model begins by itself."""
    max_length: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="(default: 200)")] = None
    """Tokens to write, at most 10000."""
    temperature: Annotated[float | None, tyro.conf.arg(metavar="X", help_behavior_hint="(default: 0.8)")] = None
    """Below 1 it writes what is likelier, above 1 what is rarer; 0 takes the likeliest token each time."""
    top_k: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="(default: 0)")] = None
    """Choose among so many tokens; 0 for all."""
    top_p: Annotated[float | None, tyro.conf.arg(metavar="X", help_behavior_hint="(default: 0.95)")] = None
    """Choose among the fewest tokens whose probabilities reach this."""
    stop: Annotated[str | None, tyro.conf.arg(metavar="TEXT")] = None
    """End behind this text."""
    seed: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="(default: 1)")] = None
    """The same seed writes the same text."""
    name: Annotated[str | None, NameFlag] = None
    """Name of the exported model. By default char-lm, else char-lm-sample."""
    version: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Its version. By default the newest."""
    saved_models: SavedModels = HERE / "saved_models"
    """Folder of the exported models."""
    json: bool = False
    """Print one JSON object."""

    def __call__(self) -> None:
        from pipelines import lm_answers, models

        exported = models.find(self.saved_models, "char-lm", self.name, self.version)
        tell(f"model {exported.title}")
        knobs = {name: getattr(self, name) for name in ("max_length", "temperature", "top_k", "top_p", "seed", "stop")}
        results = lm_answers.continue_texts(exported, list(self.texts), **knobs)
        if self.json:
            print(json.dumps({"model": exported.title, "predictions": results}, ensure_ascii=False))
            return
        for result in results:
            if "note" in result:
                tell(result["note"])
            print(result["prompt"] + result["text"])


@dataclasses.dataclass(frozen=True)
class Train:
    """Train a pipeline on text: embedded, downloaded or your own."""

    pipeline: (
        Annotated[TrainSentiment, tyro.conf.subcommand("sentiment")] | Annotated[TrainCharLm, tyro.conf.subcommand("char-lm")]
    )


@dataclasses.dataclass(frozen=True)
class Evaluate:
    """Measure an exported model on labelled text."""

    pipeline: (
        Annotated[EvaluateSentiment, tyro.conf.subcommand("sentiment")] | Annotated[EvaluateCharLm, tyro.conf.subcommand("char-lm")]
    )


@dataclasses.dataclass(frozen=True)
class Predict:
    """Answer with an exported model."""

    pipeline: (
        Annotated[PredictSentiment, tyro.conf.subcommand("sentiment")] | Annotated[PredictCharLm, tyro.conf.subcommand("char-lm")]
    )


Command = (
    Annotated[Train, tyro.conf.subcommand("train")]
    | Annotated[Evaluate, tyro.conf.subcommand("evaluate")]
    | Annotated[Predict, tyro.conf.subcommand("predict")]
)


def tell(message: str) -> None:
    print(message, file=sys.stderr)


def parse(arguments: list[str] | None = None):
    """The command that the arguments name. Ends the process with status 2 and a message where they name none."""
    markers = (tyro.conf.OmitArgPrefixes, tyro.conf.OmitSubcommandPrefixes, tyro.conf.FlagCreatePairsOff)
    return tyro.cli(
        Command, prog="main.py", args=arguments, config=markers,
        description="Unroll: train, measure and export text models. Each command has a --help of its own.",
    ).pipeline  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    command = None
    try:
        command = parse(arguments)
        sys.stdout.reconfigure(errors="backslashreplace")  # a text that is not UTF-8 can be shown all the same
        command()
    except UserError as error:
        tell(f"error: {error}")
        return 2
    except KeyboardInterrupt:
        tell("interrupted. The same command goes on from the last checkpoint." if command_trains(command) else "interrupted.")
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except Exception as error:
        if is_disk_full(error):
            tell("error: the disk is full: nothing half-written was kept. Make room and run the same command again.")
            return 2
        if isinstance(error, OSError) and error.filename is not None:
            tell(f"error: {error.filename}: {error.strerror}")
            return 2
        raise
    return 0


def command_trains(command) -> bool:
    return isinstance(command, (TrainSentiment, TrainCharLm))


if __name__ == "__main__":
    sys.exit(main())
