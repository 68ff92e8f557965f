"""What the `predict` commands of all tasks share: their flags, and how they predict files."""

import dataclasses
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import tyro

from pipelines.command_line import ServedModelFlags, TableFlags, print_error, print_json
from pipelines.data import table_options
from pipelines.export.exported import Exported
from pipelines.predicting.labelling_flags import LabellingFlags
from pipelines.settings.fields import NAME, PATH, PATHS, flag, require
from pipelines.support.errors import UserError
from pipelines.support.files import check_output, shown
from pipelines.support.numbers import counted
from pipelines.support.paths import Data

PLAIN = ".txt"  # a file of lines: it may have any name that is not one of another format


@dataclasses.dataclass(frozen=True, kw_only=True)
class RayFlags:
    """Predict the files of --input on Ray: on several machines, and so that an interrupted job continues."""

    ray: Annotated[str | None, tyro.conf.arg(metavar="ADDRESS|local")] = None
    """Predict on this Ray cluster: HOST:PORT of its head, or local for the processors of this machine. --output is then
    a folder for part files. The same command continues an interrupted job."""
    actors: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """With --ray: number of processes that load the model. By default one per processor of the cluster."""
    part_format: Annotated[str | None, tyro.conf.arg(metavar="FORMAT")] = None
    """With --ray: suffix of the part files, one of those that --output may have. By default the first one."""

    def check(self, given: Data | None, output: Path | None, suffixes: tuple[str, ...]) -> None:
        """Checks that the flags fit together.

        Args:
            given: --input.
            suffixes: of the files that --output may name.

        Raises:
            UserError: they do not.
        """
        if not self.ray:
            for name in ("actors", "part_format"):
                if getattr(self, name) is not None:
                    raise UserError(f"{flag(name)} has no effect without --ray")
            return
        if not given or not output:
            raise UserError("--ray is for files: give --input and, for the part files, a folder with --output")
        require(self.actors is None or self.actors >= 1, "actors", self.actors, "at least 1")
        formats = [suffix.removeprefix(".") for suffix in suffixes]
        known = self.part_format is None or self.part_format.removeprefix(".") in formats
        require(known, "part_format", self.part_format, " or ".join(formats))

    def suffix(self, suffixes: tuple[str, ...]) -> str:
        """Returns the suffix of the parts."""
        return f".{self.part_format.removeprefix('.')}" if self.part_format else suffixes[0]


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # a long text, or one with a zero
        return False


@dataclasses.dataclass(frozen=True, kw_only=True)
class PredictCommand:
    """The flags of every `predict`, and what it does with files.

    A task's command states `suffixes`, `file_steps`, `predict_texts` and `ask_server`; it may check and print more.
    """

    suffixes: ClassVar[tuple[str, ...]]
    """Of the files that --output may name; the first one is that of stdout and, by default, of parts."""

    examples: ClassVar[tuple[str, ...]] = ("{text}", "--input texts.csv --output answers.csv")

    labels: ClassVar[bool] = False
    """Whether the model gives labels to texts, so that `file_steps` follows --sort and --for."""

    tools: ClassVar[tuple[str, ...]] = ("doccano",)
    """What `file_steps` can write for --for, if the model gives labels."""

    task: tyro.conf.Suppress[str] = ""
    """Name of the task in the registry."""
    texts: tyro.conf.Positional[tuple[str, ...]] = ()
    """Texts, each in quotes."""
    input: Annotated[Data | None, PATHS] = None
    """Predict the texts of files instead: tables in the formats of `train classification`, other files with one text
    per line, folders or patterns of such files, objects in storage (s3://bucket/folder/*.parquet), or - for stdin."""
    output: Annotated[Path | None, PATH] = None
    """With --input: file to write."""
    json: bool = False
    """Print one JSON object. With --input it has the counts, and needs --output."""
    table: TableFlags = TableFlags()
    labelling: LabellingFlags = LabellingFlags()
    distributed: RayFlags = RayFlags()
    model: ServedModelFlags = ServedModelFlags()

    def __call__(self) -> None:
        """Predicts the texts, and prints or writes what was predicted."""
        self.check()
        if self.input:
            self.predict_files()
        elif self.model.server:
            title = self.model.name or self.task
            self.print_predictions(title, self.ask_server(title))
        else:
            exported = self.model.find(self.task)
            self.print_predictions(exported.title, self.predict_texts(exported))

    def file_steps(self, exported: Exported, suffix: str) -> Any:
        """Returns the `FileSteps` of the task for files with this suffix."""
        raise NotImplementedError

    def predict_texts(self, exported: Exported) -> list[dict]:
        """Returns a dict for each text of the command line, first of all the text."""
        raise NotImplementedError

    def ask_server(self, model: str) -> list[dict]:
        """Returns what `predict_texts` does, by the model of this name on the server."""
        raise NotImplementedError

    def print_predictions(self, title: str, results: list[dict]) -> None:
        """Prints a dict for each text: as JSON, or each as `format_result` writes it.

        Args:
            title: of the model.
        """
        if self.json:
            print_json({"model": title, "predictions": results})
        else:
            for result in results:
                print(self.format_result(result))

    def format_result(self, result: dict) -> str:
        """Returns the lines of one text for a terminal."""
        text, *values = result.values()
        return "   ".join([*(f"{value:.3f}" if isinstance(value, float) else str(value) for value in values), text])

    def needs_input(self) -> dict[str, Any]:
        """Returns flag -> value of the flags that have no effect without --input."""
        return {"--output": self.output, **self.table.given(), **self.labelling.given()}

    def check(self) -> None:
        """Checks that the flags fit together.

        Raises:
            UserError: they do not.
        """
        if bool(self.texts) == bool(self.input):
            raise UserError('give texts: either "in quotes" or in files with --input')
        for text in self.texts:
            if Path(text).suffix and _is_file(text):
                raise UserError(f"{text} is a file, and was given as a text: give it with --input")
        self.check_files()

    def check_files(self) -> None:
        """Checks the flags on files.

        Raises:
            UserError: they do not fit together.
        """
        for name, value in self.needs_input().items():
            if value and not self.input:
                raise UserError(f'{name} needs --input: it has no effect on texts "in quotes"')
        if self.json and self.input and not self.output:
            raise UserError("--json with --input needs --output: the JSON object on stdout has only the counts")
        if self.model.server and self.input:
            raise UserError('--server is for texts "in quotes": leave out --input')
        self.labelling.check(self.labels, self.tools, self.distributed.ray)
        self.distributed.check(self.input, self.output, self.labelling.suffixes(self.suffixes))

    def predict_files(self) -> None:
        """Predicts the texts of --input here or on Ray, writes --output or to stdout, and prints the counts.

        Raises:
            UserError: the input, the output or the cluster cannot be used.
        """
        suffix = self._suffix()
        exported = self.model.find(self.task)
        steps = self.file_steps(exported, suffix)
        assert self.input is not None, "the caller has looked"
        if self.distributed.ray:
            from pipelines.predicting import batch_prediction

            assert self.output is not None, "`check` demands it"
            ray, actors = self.distributed.ray, self.distributed.actors
            manifest = batch_prediction.predict(exported, self.input, self.output, steps, ray, actors)
            self._print_counts(exported, manifest["counts"], len(manifest["parts"]))
        else:
            from pipelines.predicting import engine

            counts = engine.predict_files(exported, self.input, self.output, steps, self.labelling.limit)
            self._print_counts(exported, counts)

    def _written_suffix(self) -> str:
        """Returns the suffix of --output, else that of the parts or of stdout, without a look at the file."""
        if self.output and not self.distributed.ray:
            return self.output.suffix
        return self.distributed.suffix(self.labelling.suffixes(self.suffixes))

    def _suffix(self) -> str:
        """Returns the suffix of what is written.

        Raises:
            UserError: --output cannot be written, or has another suffix.
        """
        suffixes = self.labelling.suffixes(self.suffixes)
        if self.distributed.ray:
            return self.distributed.suffix(suffixes)
        if self.output is None or self.output.suffix in suffixes:
            check_output(self.output, suffixes=suffixes)
            return self.output.suffix if self.output else suffixes[0]
        check_output(self.output, suffixes=() if PLAIN in suffixes else suffixes)
        return PLAIN

    def _print_counts(self, exported: Exported, counts: dict, num_parts: int | None = None) -> None:
        if self.json:
            parts = {} if num_parts is None else {"parts": num_parts}
            print_json({"model": exported.title, **parts, **counts})
            return
        others = {name: count for name, count in counts.items() if name not in ("rows", "labels") and count}
        listed = ", ".join(f"{name} {count:,}" for name, count in (counts.get("labels", {}) | others).items())
        in_parts = "" if num_parts is None else f" in {counted(num_parts, 'part')}"
        target = f": {shown(self.output)}" if self.output else ""
        print_error(f"{counted(counts['rows'], 'text')}{in_parts}{listed and f' ({listed})'}{target}")


@dataclasses.dataclass(frozen=True, kw_only=True)
class RowTableFlags(TableFlags):
    """How to read and to write a table."""

    output_separator: Annotated[str | None, NAME] = None
    """Character between the cells of the .csv or .tsv file of --output, or `tab`. By default tabs in .tsv files, and in
    .csv files that of the .csv file of --input, else a comma."""
    output_encoding: Annotated[str | None, NAME] = None
    """Encoding of this file, such as utf-8-sig. By default that of --input, with its byte order mark."""
    output_decimal: Literal[".", ","] | None = None
    """Decimal mark of the numbers that are added to this file. By default a comma if the separator is a semicolon, as
    spreadsheet programs write such files, else a point."""

    def check_suffix(self, suffix: str) -> None:
        """Checks that the flags have an effect on the file of --output.

        Raises:
            UserError: they do not.
        """
        for name in ("output_separator", "output_encoding", "output_decimal"):
            if getattr(self, name) is not None and suffix not in (".csv", ".tsv"):
                raise UserError(f"{flag(name)} has no effect: it is for .csv and .tsv files, and {suffix} is written")

    def options(self, *labels) -> table_options.TableOptions:
        """See `TableFlags.options`.

        Raises:
            UserError: one of them cannot be used.
        """
        table_options.make(encoding=self.output_encoding, separator=self.output_separator)
        return dataclasses.replace(
            super().options(*labels),
            output_separator=self.output_separator,
            output_encoding=self.output_encoding,
            output_decimal=self.output_decimal,
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class PredictRowsCommand(PredictCommand):
    """The flags of a `predict` that writes a row for each text: see `row_files`.

    By default the outputs are `outputs`.
    """

    suffixes: ClassVar = (".csv", ".tsv", ".jsonl", ".parquet", ".xlsx")
    outputs: ClassVar[tuple[str, ...]] = ()
    """Outputs of the signature `serving_default`, a value for each text."""

    prefix: Annotated[str | None, tyro.conf.arg(metavar="TEXT", help_behavior_hint="")] = None
    """With --input: start of the names of the columns that are added. By default none, or model_ if the input has a
    column of one of these names."""

    table: RowTableFlags = RowTableFlags()

    def predict_texts(self, exported: Exported) -> list[dict]:
        """See `PredictCommand.predict_texts`."""
        from pipelines.predicting.row_files import load_signature

        return self._results(load_signature(exported)(list(self.texts)))

    def ask_server(self, model: str) -> list[dict]:
        """See `PredictCommand.ask_server`."""
        return self._results(self.model.ask(model, {"text": list(self.texts)}))

    def file_steps(self, exported: Exported, suffix: str):
        """See `PredictCommand.file_steps`."""
        from pipelines.predicting.row_files import RowTask, load_signature, row_steps

        return row_steps(RowTask(self.outputs, load_signature), self.table.options(), suffix, self.prefix)

    def needs_input(self) -> dict[str, Any]:
        """See `PredictCommand.needs_input`."""
        return {**super().needs_input(), "--prefix": self.prefix is not None}

    def check_files(self) -> None:
        """See `PredictCommand.check_files`."""
        super().check_files()
        self.table.check_suffix(self._written_suffix())
        if self.prefix is not None and self.labelling.tool:
            raise UserError(f"--prefix has no effect with --for {self.labelling.tool}: leave it out")

    def _results(self, outputs: dict) -> list[dict]:
        columns = {"text": self.texts} | {name: list(map(_plain, outputs[name])) for name in self.outputs}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _plain(value):
    """Returns a number or a list of NumPy as one of Python."""
    return value.tolist() if hasattr(value, "tolist") else value
