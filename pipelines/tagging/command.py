"""`train`, `evaluate`, `predict` and `prepare` for `tagging`."""

import dataclasses
import shutil
import sys
from pathlib import Path
from typing import Annotated

import tyro

from pipelines.command_line import (
    ModelFlags,
    PrepareCommand,
    RayFlags,
    ServedModelFlags,
    TrainCommand,
    print_error,
    print_json,
    subset,
)
from pipelines.config import NAME, PATH, PATHS
from pipelines.data import paths
from pipelines.data.paths import Data
from pipelines.support.errors import UserError
from pipelines.tagging.config import TaggingConfig

OUTPUT_SUFFIXES = (".conllu", ".jsonl", ".csv")  # of files with predicted tags


@dataclasses.dataclass(frozen=True, kw_only=True)
class Train(TrainCommand):
    """Train a tagger, measure it, and export it as a SavedModel."""

    name: Annotated[str | None, NAME] = None
    """Name of the exported model. By default that of the data, or tagging-sample for the embedded sample."""
    config: TaggingConfig = TaggingConfig()

    def __call__(self) -> None:
        """Trains, and prints the summary."""
        from pipelines.data import sources

        config = self.config.resolve()
        self.train(config, sources.name(config.data) if config.data else None)


_ToPrepare = subset(
    TaggingConfig,
    (
        "data",
        "column",
        "token_column",
        "valid",
        "valid_fraction",
        "tokenizer",
        "max_characters",
        "max_tokens",
        "max_bytes",
        "seed",
    ),  # fmt: skip
    vocabulary_size=(Annotated[int, tyro.conf.arg(metavar="N")], 50_000),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Prepare(PrepareCommand):
    """Prepare tagged sentences that may be larger than memory."""

    config: _ToPrepare = _ToPrepare()

    def __call__(self) -> None:
        """Prepares, and prints what was made."""
        self.prepare(TaggingConfig(**vars(self.config), preset="full", model="lstm"))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evaluate:
    """Measure an exported tagger on tagged sentences, whose tokens are given."""

    task: tyro.conf.Suppress[str] = ""
    data: Annotated[Data | None, PATHS] = None
    """Tagged sentences, in the formats of `train`; if they have a test set, only the test set. A model that was trained
    on the embedded sample needs none: it is measured on a fresh sample."""
    column: Annotated[str | None, NAME] = None
    """Where the tag of a token is; see `train`. By default as in the training."""
    token_column: Annotated[str | None, NAME] = None
    """Where the token is; see `train`. By default as in the training."""
    mistakes: Annotated[Path | None, PATH] = None
    """Write the tokens with a wrong tag to this CSV file, the highest probability first."""
    json: bool = False
    """Print the scores as one JSON object."""
    model: ModelFlags = ModelFlags()

    def __call__(self) -> None:
        """Measures, and prints the scores."""
        from pipelines.tagging.evaluate import evaluate
        from pipelines.tagging.report import format_scores

        exported = self.model.find(self.task)
        scores = evaluate(exported, paths.expanded(self.data), self.column, self.mistakes, self.token_column)
        print_json(scores) if self.json else print(format_scores(scores))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Predict:
    """Tag texts with an exported tagger."""

    task: tyro.conf.Suppress[str] = ""
    texts: tyro.conf.Positional[tuple[str, ...]] = ()
    """Texts, each in quotes."""
    input: Annotated[str | None, PATH] = None
    """Tag the lines of a file instead; - reads stdin."""
    output: Annotated[Path | None, PATH] = None
    """With --input: .conllu, .jsonl or .csv file to write. By default CoNLL-U is printed."""
    pretokenized: bool = False
    """The texts are tokens with spaces between them. By default the model divides texts into tokens."""
    json: bool = False
    """Print one JSON object: for each token its tag, its probability, and its start and end in the text, counted in
    characters. With --input it has the counts, and needs --output."""
    distributed: RayFlags = RayFlags()
    model: ServedModelFlags = ServedModelFlags()

    def __call__(self) -> None:
        """Tags the texts, and prints or writes the tags."""
        self._check()
        if self.distributed.ray:
            self._tag_on_ray()
        elif self.input:
            self._tag_file()
        elif self.model.server:
            self._ask_server()
        else:
            from pipelines.tagging.predict import predict_texts

            exported = self.model.find(self.task)
            self._print(exported.title, predict_texts(exported, list(self.texts), self.pretokenized))

    def _check(self) -> None:
        """Checks that the flags go together."""
        if bool(self.texts) == bool(self.input):
            raise UserError('give texts to tag: either "in quotes" or in a file with --input')
        if self.output and not self.input:
            raise UserError('--output is for --input: the tags of texts "in quotes" are printed')
        if self.json and self.input and not self.output:
            raise UserError("--json with --input needs --output: the JSON object on stdout has only the counts")
        if self.model.server and self.input:
            raise UserError('--server is for texts "in quotes": leave out --input')
        self.distributed.check(self.input, self.output, OUTPUT_SUFFIXES)

    def _tag_file(self) -> None:
        from pipelines.tagging.predict import predict_file

        exported = self.model.find(self.task)
        counts = predict_file(exported, self.input, self.output, self.pretokenized)
        if self.json:
            print_json({"model": exported.title, **counts})
        else:
            print_error(", ".join(f"{count:,} {name}" for name, count in counts.items() if count))

    def _tag_on_ray(self) -> None:
        from pipelines.tagging.predict import file_steps

        exported = self.model.find(self.task)
        steps = file_steps(exported, self.pretokenized, self.distributed.suffix(OUTPUT_SUFFIXES))
        self.distributed.predict(exported, self.input, self.output, steps, self.json)

    def _ask_server(self) -> None:
        from pipelines.tagging.results import format_results, padded

        model = self.model.name or self.task
        texts = list(self.texts)
        if self.pretokenized:
            sentences = [text.split() for text in texts]
            outputs = self.model.ask(model, {"tokens": padded(sentences)}, "tokens")
            outputs["tokens"] = sentences
        else:
            outputs = self.model.ask(model, {"text": texts})
        self._print(model, format_results(texts, outputs))

    def _print(self, model: str, results: list[dict]) -> None:
        if self.json:
            print_json({"model": model, "predictions": results})
            return
        from pipelines.tagging.format import format_tags

        width = shutil.get_terminal_size().columns  # 80 if stdout is no terminal and COLUMNS is not set
        for result in results:
            print(format_tags(result["tokens"], result["tags"], result["scores"], width, sys.stdout.isatty()))
