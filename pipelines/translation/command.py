"""`train`, `evaluate`, `predict` and `prepare` of the tasks `translation` and `nmt`."""

import dataclasses
import sys
from pathlib import Path
from typing import Annotated, ClassVar

import tyro

from pipelines.command_line import (
    ModelFlags,
    PrepareCommand,
    ServedModelFlags,
    TrainCommand,
    print_error,
    print_json,
    subset,
)
from pipelines.data.pair_options import PairOptions
from pipelines.decoding.options import SHAPING_AND_SEED, TRANSLATION, defaults, flags_class
from pipelines.export.exported import Exported
from pipelines.predicting.command import PLAIN, PredictRowsCommand
from pipelines.settings.fields import NAME, PATH, flag
from pipelines.support.errors import UserError
from pipelines.translation.config import MOST_VOCABULARY, TranslationConfig

SearchFlags = flags_class("SearchFlags", TRANSLATION, "(default: the model's)")
SearchFlags.__doc__ = (
    "Beam search. A server does not report its model's defaults: with --server and one of these flags (or --n-best), "
    + ", ".join(f"{flag(name)} {value}" for name, value in defaults(TRANSLATION).items())
    + " are the defaults."
)
SampleFlags = flags_class("SampleFlags", SHAPING_AND_SEED)
SampleFlags.__doc__ = "Sample the translations instead of searching for the best: with one of these flags."


@dataclasses.dataclass(frozen=True, kw_only=True)
class Train(TrainCommand):
    """Train a translator, measure it, and export it as a SavedModel. The same command resumes an interrupted run."""

    name: Annotated[str | None, NAME] = None
    """Name of the exported model. By default the task and the languages, such as nmt-en-de, with -sample appended for
    the embedded sample."""
    config: TranslationConfig = TranslationConfig()

    def __call__(self) -> None:
        """Runs the command."""
        from pipelines.data.pairs import language_pair

        config = self.resolved()
        pair = language_pair(config.data, config.target, config.pair, config.pair_options())
        self.train(config, f"{self.task}-{pair}" if pair else None)


_ToPrepare = subset(
    TranslationConfig,
    (*TranslationConfig.DATA_FIELDS, "valid_fraction", "joint_vocabulary", "max_tokens", "seed"),
    vocabulary_size=(Annotated[int, tyro.conf.arg(metavar="N")], MOST_VOCABULARY),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Prepare(PrepareCommand):
    """Tokenize pairs of sentences that may be larger than memory."""

    needed: ClassVar = {"preset": "full", "model": "transformer"}
    config: _ToPrepare = _ToPrepare()


@dataclasses.dataclass(frozen=True, kw_only=True)
class TranslatorFlags(ModelFlags):
    """The exported model."""

    name: Annotated[str | None, NAME] = None
    """Name of the exported model. By default the task and the languages, such as nmt-en-de."""
    pair: Annotated[str | None, tyro.conf.arg(metavar="FROM-TO")] = None
    """Source and target language, such as en-de. Not needed if there is only one translator."""

    def find(self, task: str) -> Exported:
        """Returns the export that the flags name, and prints its title.

        Raises:
            UserError: there is no such export, or there are several.
        """
        from pipelines.translation.predict import find_translator

        exported = find_translator(self.saved_models, task, self.pair, self.name, self.version)
        print_error(f"model {exported.title}")
        return exported


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServedTranslatorFlags(TranslatorFlags, ServedModelFlags):
    """The exported model, or a server that has it."""

    def name_on_server(self, task: str) -> str:
        """Returns the name of the model on the server.

        Raises:
            UserError: neither --name nor --pair is given.
        """
        if not self.name and not self.pair:
            raise UserError("--server needs --pair, such as en-de, or the model's --name")
        return self.name or f"{task}-{self.pair}"


@dataclasses.dataclass(frozen=True, kw_only=True)
class PairFlags:
    """How to read a table of pairs."""

    source_column: Annotated[str | None, NAME] = None
    """Column with the source sentences; see `train`. By default as in the training."""
    target_column: Annotated[str | None, NAME] = None
    """Column with the translations; see `train`. By default as in the training."""
    encoding: Annotated[str | None, NAME] = None
    """Encoding of text files, such as cp1252. By default UTF-8, or what a byte order mark states."""
    separator: Annotated[str | None, NAME] = None
    """Character between the cells of a row, or `tab`. By default found in the first lines."""
    quote: Annotated[str | None, tyro.conf.arg(metavar="CHAR|none", help_behavior_hint="")] = None
    """Character around cells of CSV and TSV files that have a separator or a line break, or `none`. By default ", and
    none if there are tabs between the cells, unless all cells with a " are quoted."""
    no_header: bool = False
    """The first line of a table is a pair, not the names of the columns. By default found out."""

    def options(self) -> PairOptions:
        """Returns the options that these flags state.

        Raises:
            UserError: one of them cannot be used.
        """
        options = PairOptions.of(self)
        options.check()
        return options


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evaluate:
    """Measure an exported translator with BLEU, chrF, TER, ROUGE and exact matches."""

    examples: ClassVar = ("{data}",)

    task: tyro.conf.Suppress[str] = ""
    data: Annotated[str | None, PATH] = None
    """Pairs, as for train. Of a folder or corpus the test set, else the validation set. A model that was trained on the
    embedded sample needs none: it is measured on new pairs of the sample."""
    target: Annotated[str | None, PATH] = None
    """The translations of --data, line by line."""
    table: PairFlags = PairFlags()
    split: Annotated[str | None, NAME] = None
    """Files of a folder or corpus to read, such as test_2016_flickr or val."""
    output: Annotated[Path | None, PATH] = None
    """Write the translations to this file, one line per pair that is measured."""
    json: bool = False
    """Print the scores as one JSON object."""
    model: TranslatorFlags = TranslatorFlags()

    def __call__(self) -> None:
        """Runs the command."""
        from pipelines.translation.evaluate import Source, evaluate, format_table

        exported = self.model.find(self.task)
        source = Source(self.data, self.target, self.model.pair, self.split, self.table.options())
        measures = evaluate(exported, source, self.output)
        if self.json:
            print_json(measures)
        else:
            print(format_table(measures))

    def answers(self, exported: Exported):
        """Returns the `Answers` of the model to --data, for `compare`."""
        from pipelines.translation.evaluate import Source, answers

        return answers(exported, Source(self.data, self.target, self.model.pair, self.split, self.table.options()))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Predict(PredictRowsCommand):
    """Translate sentences with an exported translator."""

    examples: ClassVar = ("{text}", "{text} --n-best 3", "--input texts.txt --output translations.txt")
    suffixes: ClassVar = (PLAIN, *PredictRowsCommand.suffixes)
    texts: Annotated[
        tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="[TEXT ...]", help_behavior_hint="")
    ] = ()
    """The sentences, each in quotes."""
    output: Annotated[Path | None, PATH] = None
    """With --input: file to write: the translations line by line, or .csv, .tsv, .jsonl, .parquet or .xlsx with the
    rows and their translations. By default the translations are printed."""
    n_best: Annotated[int, tyro.conf.arg(metavar="N")] = 1
    """Print the N best translations of each sentence, with their scores; of samples N, with their log-probabilities."""
    stream: bool = False
    """Print each translation while it is generated: the most likely token each time, or a sample with --temperature and
    the other flags of sampling. Beam search, the default without --stream, finds better ones."""
    reference: Annotated[tuple[str, ...], tyro.conf.arg(metavar="TEXT [TEXT ...]", help_behavior_hint="")] = ()
    """Score these translations instead of translating: log-probability, perplexity, and the surprisal of each token.
    One for each sentence, or several of one sentence."""
    search: SearchFlags = SearchFlags()
    sampling: SampleFlags = SampleFlags()
    model: ServedTranslatorFlags = ServedTranslatorFlags()

    def __call__(self) -> None:
        """Runs the command."""
        self.check()
        if self.reference:
            self._score()
        elif self.input:
            self.predict_files()
        elif self.stream:
            self._stream()
        elif self.model.server:
            self._ask_server()
        else:
            self._translate_texts()

    def check(self) -> None:
        """See `PredictCommand.check`."""
        super().check()
        if self.input and self.n_best > 1:
            raise UserError('--n-best is for sentences "in quotes": leave out --input')
        if self.reference:
            self._check_reference()
        if self.stream and (self.input or self.json or self.reference or self.n_best > 1):
            raise UserError(
                "--stream prints one translation of each sentence: leave out --input, --json, --reference and --n-best"
            )
        if self.prefix is not None and self.output and self.output.suffix not in PredictRowsCommand.suffixes:
            raise UserError("--prefix has no effect: a file of lines has no columns")

    def file_steps(self, exported: Exported, suffix: str):
        """See `PredictCommand.file_steps`."""
        from pipelines.translation.predict import file_steps, make_request

        request = make_request(self._given, 1, exported.card()["generation_defaults"])
        return file_steps(self.table.options(), suffix, request, self.prefix)

    def _check_reference(self) -> None:
        is_search = self.n_best > 1 or self._is_given
        if self.input or is_search:
            raise UserError("--reference scores given translations: leave out --input and all flags of search")
        if len(self.texts) not in (1, len(self.reference)):
            counts = f"{len(self.texts)} sentences and {len(self.reference)} after --reference"
            raise UserError(f"{counts}: give one translation for each sentence, or one sentence")

    def _score(self) -> None:
        from pipelines.translation.scores import format_scores, score_pairs, score_pairs_on_server

        texts, references = list(self.texts), list(self.reference)
        texts = texts * len(references) if len(texts) == 1 else texts
        if self.model.server:
            title = self.model.name_on_server(self.task)
            results = score_pairs_on_server(self.model, title, texts, references)
        else:
            exported = self.model.find(self.task)
            title = exported.title
            results = score_pairs(exported, texts, references)
        print_json({"model": title, "scores": results}) if self.json else print(format_scores(results))

    def _translate_texts(self) -> None:
        from pipelines.translation.predict import make_request, translate_texts

        exported = self.model.find(self.task)
        request = make_request(self._given, self.n_best, exported.card()["generation_defaults"])
        self._print(exported.title, translate_texts(exported, list(self.texts), request))

    def _stream(self) -> None:
        from pipelines.predicting.streamed import print_pieces
        from pipelines.translation.predict import streams, streams_on_server

        texts = list(self.texts)
        if self.model.server:
            found = streams_on_server(self.model, self.model.name_on_server(self.task), texts, self._given)
        else:
            found = streams(self.model.find(self.task), texts, self._given)
        for pieces in found:
            print_pieces("", pieces)

    def _ask_server(self) -> None:
        from pipelines.translation.predict import Request, ask, format_results, make_request

        name = self.model.name_on_server(self.task)
        texts = list(self.texts)
        if self.n_best == 1 and not self._is_given:
            self._print(name, format_results(texts, self.model.ask(name, {"text": texts}), 1))
            return
        # The signatures with options need all of them, and a server does not report the defaults of its model.
        request = make_request(self._given, self.n_best, defaults(TRANSLATION))
        print_error(", ".join(f"{option.replace('_', ' ')} {value}" for option, value in request.options.items()))

        def signature(texts: list[str], request: Request) -> dict:
            options = {option: [value] * len(texts) for option, value in request.options.items()}
            return self.model.ask(name, {"text": texts, **options}, request.signature)

        self._print(name, ask(signature, texts, request))

    @property
    def _given(self) -> dict:
        """Option -> value; None where the flag is not given."""
        return vars(self.search) | vars(self.sampling)

    @property
    def _is_given(self) -> bool:
        return any(value is not None for value in self._given.values())

    def _print(self, title: str, results: list[dict]) -> None:
        if self.json:
            print_json({"model": title, "predictions": results})
            return
        for result in results:
            if "note" in result:
                print_error(f"note: {result['note']}")
            if self.n_best == 1:
                print(result["translation"])
            for candidate in result.get("translations", []):
                number = candidate.get("score", candidate.get("log_probability"))
                print(f"{number:8.3f}   {candidate['translation']}")
        sys.stdout.flush()
