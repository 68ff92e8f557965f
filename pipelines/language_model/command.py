"""`train|evaluate|predict|prepare language-model` and `char-lm`."""

import dataclasses
import sys
from pathlib import Path
from typing import Annotated, ClassVar

import tyro

from pipelines.command_line import ModelFlags, PrepareCommand, TrainCommand, print_error, print_json, subset
from pipelines.data import table_options
from pipelines.decoding.options import BEAM_WIDTH, CACHE, LENGTH_PENALTY, SAMPLING, SEARCH, SHAPING, flags_class
from pipelines.export.exported import Exported
from pipelines.language_model.config import LanguageModelConfig
from pipelines.predicting.command import PredictRowsCommand
from pipelines.settings.fields import NAME, PATH, PATHS, flag
from pipelines.support import paths
from pipelines.support.errors import UserError
from pipelines.support.paths import Data

MAX_NEXT = 1000  # tokens
GenerationFlags = flags_class("GenerationFlags", SAMPLING)
BeamFlags = flags_class("BeamFlags", (BEAM_WIDTH, LENGTH_PENALTY))
CacheFlags = flags_class("CacheFlags", CACHE)
# What `predict` is to do -> the options that it reads.
_READ_BY = {
    "": {option.name for option in (*SAMPLING, *CACHE)},
    "--next": set(SHAPING),
    "--score": {option.name for option in CACHE},
    "--search": {option.name for option in SEARCH},
    "--stream": {option.name for option in SAMPLING},
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Train(TrainCommand):
    """Train a language model, measure it, and export it. The same command resumes an interrupted run."""

    config: LanguageModelConfig = LanguageModelConfig()


_ToPrepare = subset(
    LanguageModelConfig,
    (*LanguageModelConfig.DATA_FIELDS, "valid_fraction", "tokenizer", "seed", "default_tokenizer"),
    vocabulary_size=(Annotated[int, tyro.conf.arg(metavar="N")], 10_000),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Prepare(PrepareCommand):
    """Tokenize a text that may be larger than memory."""

    config: _ToPrepare = _ToPrepare()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evaluate:
    """Measure an exported language model on a text."""

    examples: ClassVar = ("{data}", "{data} --cache-size 2000")

    task: tyro.conf.Suppress[str] = ""
    """Name of the task in the registry."""
    data: Annotated[Data | None, PATHS] = None
    """Text to measure on: files, or tiny-shakespeare. By default the embedded sample, for a model that was trained on
    it."""
    encoding: Annotated[str | None, NAME] = None
    """Encoding of text files, such as cp1252. By default UTF-8, or what a byte order mark states."""
    json: bool = False
    """Print the measures as one JSON object."""
    cache: CacheFlags = CacheFlags()
    model: ModelFlags = ModelFlags()

    def __call__(self) -> None:
        """Measures the model and prints the measures."""
        from pipelines.language_model.evaluate import evaluate, format_measures

        encoding = table_options.make(encoding=self.encoding).encoding
        measures = evaluate(self.model.find(self.task), paths.expanded(self.data), vars(self.cache), encoding)
        print_json(measures) if self.json else print(format_measures(measures))

    def answers(self, exported: Exported):
        """Returns the `Answers` of the model, its losses on --data, for `compare`."""
        from pipelines.language_model.evaluate import answers

        return answers(exported, paths.expanded(self.data), table_options.make(encoding=self.encoding).encoding)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Predict(PredictRowsCommand):
    """Continue texts with an exported language model, show what comes next, or how likely texts are."""

    examples: ClassVar = ("{text}", "{text} --next 5", "{text} --score")

    texts: tyro.conf.Positional[tuple[str, ...]] = ()
    """Prompts, each in quotes. Without any, the model starts a text."""
    next: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Show the N most likely next tokens: their probabilities, and those with which they are sampled with the given
    --temperature, --top-k, --top-p and --min-p."""
    search: bool = False
    """Show the most likely continuations, found by beam search."""
    stream: bool = False
    """Print the text while it is generated."""
    score: bool = False
    """Score the texts instead of continuing them: log-probability, perplexity, and the surprisal of each token. Of
    files with --input, the texts can only be scored."""
    output: Annotated[Path | None, PATH] = None
    """With --input: .csv, .tsv, .jsonl, .parquet or .xlsx file to write: the rows with their scores. By default CSV is
    printed."""
    generation: GenerationFlags = GenerationFlags()
    beam: BeamFlags = BeamFlags()
    cache: CacheFlags = CacheFlags()

    def __call__(self) -> None:
        """Prints the continuations, the next tokens or the scores, or writes the scores."""
        self.check()
        if self.input:
            self.predict_files()
        elif self.score:
            self._score()
        elif self.next is not None:
            self._show_next()
        elif self.search:
            self._search()
        elif self.stream:
            self._stream()
        else:
            self._continue()

    def file_steps(self, exported: Exported, suffix: str):
        """See `PredictCommand.file_steps`."""
        from pipelines.language_model.scores import file_steps

        return file_steps(self.table.options(), suffix, vars(self.cache), self.prefix)

    def check(self) -> None:
        """Checks that the flags fit together. Only scores need texts.

        Raises:
            UserError: they do not.
        """
        way = self._way()
        if self.score and bool(self.texts) == bool(self.input):
            raise UserError('--score needs texts: either "in quotes" or in files with --input')
        if self.input and not self.score:
            raise UserError("--input has no effect without --score")
        self.check_files()
        if self.stream and self.json:
            raise UserError("--stream prints the text alone: leave out --json")
        if self.next is not None and not 1 <= self.next <= MAX_NEXT:
            raise UserError(f"--next {self.next}: it must be from 1 to {MAX_NEXT}")
        for name, value in {**vars(self.generation), **vars(self.beam), **vars(self.cache)}.items():
            if value is not None and name not in _READ_BY[way]:
                raise UserError(f"{flag(name)} has no effect {f'with {way}' if way else 'without --search'}")

    def _way(self) -> str:
        """Returns the flag that states what to do; "" continues the texts."""
        given = {"--next": self.next is not None, "--score": self.score, "--search": self.search}
        given["--stream"] = self.stream
        ways = [way for way, is_given in given.items() if is_given]
        if len(ways) > 1:
            raise UserError(f"{ways[0]} and {ways[1]} do not go together: leave out one of them")
        return ways[0] if ways else ""

    def _continue(self) -> None:
        from pipelines.language_model.predict import continue_texts, continue_texts_on_server

        prompts, given = list(self.texts or ("",)), vars(self.generation) | vars(self.cache)
        title, results = self._ask(continue_texts, continue_texts_on_server, prompts, given)
        if self._print_json(title, results):
            return
        for result in results:
            if "note" in result:
                print_error(result["note"])
            print(result["prompt"] + result["text"])

    def _stream(self) -> None:
        from pipelines.language_model.predict import streams, streams_on_server
        from pipelines.predicting.streamed import print_pieces

        prompts = list(self.texts or ("",))
        _, found = self._ask(streams, streams_on_server, prompts, vars(self.generation))
        for prompt, pieces in zip(prompts, found, strict=True):
            print_pieces(prompt, pieces)

    def _show_next(self) -> None:
        from pipelines.language_model.next_tokens import format_next, next_tokens, next_tokens_on_server

        prompts, given = list(self.texts or ("",)), vars(self.generation)
        title, results = self._ask(next_tokens, next_tokens_on_server, prompts, self.next, given)
        if self._print_json(title, results):
            return
        for result in results:
            if "note" in result:
                print_error(result["note"])
            print(result["prompt"] or "(the start of a text)")
            print(format_next(result))

    def _search(self) -> None:
        from pipelines.language_model.predict import search_texts, search_texts_on_server

        given = vars(self.beam) | {"max_length": self.generation.max_length}
        title, results = self._ask(search_texts, search_texts_on_server, list(self.texts or ("",)), given)
        if self._print_json(title, results):
            return
        for result in results:
            print(result["prompt"] or "(the start of a text)")
            for each in result["continuations"]:
                print(f"{each['log_probability']:10.3f}   {each['text']}")

    def _score(self) -> None:
        from pipelines.language_model.scores import format_scores, legend, score_texts, score_texts_on_server

        title, results = self._ask(score_texts, score_texts_on_server, list(self.texts), vars(self.cache))
        if self._print_json(title, results):
            return
        color = sys.stdout.isatty()
        if color:
            print_error(legend())
        for result in results:
            if "note" in result:
                print_error(result["note"])
        print(format_scores(results, color))

    def _ask(self, own, on_server, *arguments) -> tuple[str, list]:
        """Returns the title of the model, and the answer of the export or of the server."""
        if self.model.server:
            title = self.model.name or self.task
            return title, on_server(self.model, title, *arguments)
        exported = self.model.find(self.task)
        return exported.title, own(exported, *arguments)

    def _print_json(self, title: str, results: list[dict]) -> bool:
        """Prints the results as JSON if that was asked for; returns whether it was."""
        if self.json:
            print_json({"model": title, "predictions": results})
        return self.json
