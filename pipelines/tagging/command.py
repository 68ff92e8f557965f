"""`train`, `evaluate`, `predict` and `prepare` for `tagging`."""

import dataclasses
import shutil
import sys
from pathlib import Path
from typing import Annotated, ClassVar

import tyro

from pipelines.command_line import ModelFlags, PrepareCommand, TrainCommand, print_json, subset
from pipelines.data.token_options import TokenOptions
from pipelines.export.exported import Exported
from pipelines.predicting.command import PredictCommand, RowTableFlags
from pipelines.settings.fields import NAME, PATH, PATHS, Separator
from pipelines.support import paths, terminal
from pipelines.support.paths import Data
from pipelines.tagging.config import TaggingConfig


@dataclasses.dataclass(frozen=True, kw_only=True)
class Train(TrainCommand):
    """Train a tagger, measure it, and export it as a SavedModel."""

    name: Annotated[str | None, NAME] = None
    """Name of the exported model. By default that of the data, or tagging-sample for the embedded sample."""
    config: TaggingConfig = TaggingConfig()

    def __call__(self) -> None:
        """Trains, and prints the summary."""
        from pipelines.data import sources

        config = self.resolved()
        self.train(config, sources.name(config.data) if config.data else None)


_ToPrepare = subset(
    TaggingConfig,
    (*TaggingConfig.DATA_FIELDS, "valid_fraction", "tokenizer", "max_characters", "max_tokens", "max_bytes", "seed"),
    vocabulary_size=(Annotated[int, tyro.conf.arg(metavar="N")], 50_000),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Prepare(PrepareCommand):
    """Prepare tagged sentences that may be larger than memory."""

    config: _ToPrepare = _ToPrepare()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evaluate:
    """Measure an exported tagger on tagged sentences, whose tokens are given."""

    examples: ClassVar = ("{data}", "{data} --mistakes mistakes.csv")

    task: tyro.conf.Suppress[str] = ""
    data: Annotated[Data | None, PATHS] = None
    """Tagged sentences, in the formats of `train`; if they have a test set, only the test set. A model that was trained
    on the embedded sample needs none: it is measured on a fresh sample."""
    column: Annotated[str | None, NAME] = None
    """Where the tag of a token is; see `train`. By default as in the training."""
    token_column: Annotated[str | None, NAME] = None
    """Where the token is; see `train`. By default as in the training."""
    encoding: Annotated[str | None, NAME] = None
    """Encoding of text files, such as cp1252. By default as in the training."""
    separator: Separator = None
    tag_names: Annotated[str | None, NAME] = None
    """Names of tags that the data has as numbers from 0; see `train`. By default as in the training."""
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
        scores = evaluate(exported, paths.expanded(self.data), TokenOptions.of(self), self.mistakes)
        print_json(scores) if self.json else print(terminal.fitted(format_scores(scores)))

    def answers(self, exported: Exported):
        """Returns the `Answers` of the model to --data, for `compare`."""
        from pipelines.tagging.evaluate import answers

        return answers(exported, paths.expanded(self.data), TokenOptions.of(self))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Predict(PredictCommand):
    """Tag texts with an exported tagger."""

    examples: ClassVar = ("{text}", "--input texts.csv --output tagged.conllu")
    suffixes: ClassVar = (".conllu", ".jsonl", ".csv", ".tsv", ".parquet", ".xlsx")
    labels: ClassVar = True
    tools: ClassVar = ("doccano", "spacy", "entities")
    output: Annotated[Path | None, PATH] = None
    """With --input: file to write, .conllu, .jsonl, or a table of the tokens, .csv, .tsv, .parquet or .xlsx. By default
    CoNLL-U is printed. With --for, other files."""
    pretokenized: bool = False
    """The texts are tokens with spaces between them. By default the model divides texts into tokens."""
    json: bool = False
    """Print one JSON object: for each token its tag, its probability, and its start and end in the text, counted in
    characters; and the entities. With --input it has the counts, and needs --output."""

    table: RowTableFlags = RowTableFlags()

    def check_files(self) -> None:
        """See `PredictCommand.check_files`."""
        super().check_files()
        self.table.check_suffix(self._written_suffix())

    def file_steps(self, exported: Exported, suffix: str):
        """See `PredictCommand.file_steps`."""
        from pipelines.tagging.predict import file_steps

        sort, tool = self.labelling.sort is not None, self.labelling.tool
        return file_steps(exported, self.table.options(), suffix, self.pretokenized, sort, tool)

    def predict_texts(self, exported: Exported) -> list[dict]:
        """See `PredictCommand.predict_texts`."""
        from pipelines.tagging.predict import predict_texts

        return predict_texts(exported, list(self.texts), self.pretokenized)

    def ask_server(self, model: str) -> list[dict]:
        """See `PredictCommand.ask_server`."""
        from pipelines.tagging.entities import with_entities
        from pipelines.tagging.results import format_results, padded

        texts = list(self.texts)
        if self.pretokenized:
            sentences = [text.split() for text in texts]
            outputs = self.model.ask(model, {"tokens": padded(sentences)}, "tokens")
            outputs["tokens"] = sentences
        else:
            outputs = self.model.ask(model, {"text": texts})
        return with_entities(format_results(texts, outputs))

    def format_result(self, result: dict) -> str:
        """See `PredictCommand.format_result`."""
        from pipelines.tagging.format import format_tags

        width = shutil.get_terminal_size().columns  # 80 if stdout is no terminal and COLUMNS is not set
        return format_tags(result["tokens"], result["tags"], result["scores"], width, sys.stdout.isatty())
