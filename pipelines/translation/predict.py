"""Translates with an exported translator: texts of the command line and files of any size; draws the attention."""

import collections
import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pipelines.command_line import ServedModelFlags
from pipelines.data.table_options import TableOptions
from pipelines.decoding.options import (
    BEAM_WIDTH,
    SAMPLED_TRANSLATION,
    SHAPING_AND_SEED,
    TRANSLATION,
    filled,
    with_defaults,
)
from pipelines.export.exported import SAMPLE_SUFFIX, Exported, find_export, versions
from pipelines.predicting import streamed
from pipelines.predicting.file_steps import FileSteps
from pipelines.predicting.row_files import RowTask, row_steps
from pipelines.settings.fields import flag, require
from pipelines.support.errors import UserError
from pipelines.text.invisible import is_blank

EMPTY = "empty"
CUT = "longer than the model reads, cut"
_CHUNK_LINES = 2000  # a file is read in chunks, so that it may be larger than memory
_MIN_SCORE = -1e8  # rows with fewer translations are filled up with lower scores


class Request(NamedTuple):
    """What to translate with.

    Attributes:
        options: option of `TRANSLATION`, or of `SAMPLED_TRANSLATION`, -> value.
        n_best: number of translations to return for each text.
    """

    options: dict
    n_best: int = 1

    @property
    def signature(self) -> str:
        """Signature of the export that takes the options."""
        return "sample" if "seed" in self.options else "translate"

    def inputs(self, text) -> dict:
        """Returns the options for each of `text`, string [batch], as the signature takes them."""
        return filled(SAMPLED_TRANSLATION if self.signature == "sample" else TRANSLATION, self.options, text)


def find_translator(
    root: Path, task: str, pair: str | None, name: str | None = None, version: int | None = None
) -> Exported:
    """Returns the export to use: `name`, else `task`-`pair`; without both, the only translator of the task in `root`.

    Translators of real pairs come before those of the embedded sample.

    Raises:
        UserError: there is none, or there are several.
    """
    if name or pair:
        return find_export(root, task, name, version, default_name=f"{task}-{pair}")
    names = {folder.name.removesuffix(SAMPLE_SUFFIX) for folder in root.glob(f"{task}*") if versions(folder)}
    names = sorted(each for each in names if each == task or each.startswith(f"{task}-"))
    real = [each for each in names if versions(root / each)]
    names = real if len(real) == 1 else names
    if len(names) > 1:
        raise UserError(
            f"there are several translators in {root}: choose one with --pair or --name ({', '.join(names)})"
        )
    return find_export(root, task, None, version, default_name=names[0] if names else task)


def make_request(given: dict, n_best: int, defaults: dict) -> Request:
    """Returns the request that the flags describe: for sampling if an option of it is given, else for a beam search,
    by default at least `n_best` wide.

    Args:
        given: option -> value; None where the flag is not given.
        n_best: number of translations of each text.
        defaults: defaults of the model.

    Raises:
        UserError: a value is out of range.
    """
    given = {name: value for name, value in given.items() if value is not None}
    if any(option.name in given for option in SHAPING_AND_SEED):
        for name in given.keys() - {option.name for option in SAMPLED_TRANSLATION}:
            raise UserError(f"{flag(name)} has no effect here: it is for beam search, and the other flags sample")
        require(n_best >= 1, "n_best", n_best, "at least 1")
        return Request(with_defaults(SAMPLED_TRANSLATION, given, {}), n_best)
    beam_width = defaults.get("beam_width", BEAM_WIDTH.default)
    options = with_defaults(TRANSLATION, given, defaults | {"beam_width": max(beam_width, n_best)})
    width = options["beam_width"]
    require(1 <= n_best <= width, "n_best", n_best, f"from 1 to --beam-width, {width}")
    return Request(options, n_best)


def translate_texts(exported: Exported, texts: list[str], request: Request, loaded=None) -> list[dict]:
    """Translates texts.

    Args:
        loaded: `exported`, if it is loaded already.

    Returns:
        One dict per text; see `format_results`.
    """
    loaded = loaded or exported.load()
    return ask(lambda texts, request: _batched(loaded, request)(texts), texts, request)


def streams(exported: Exported, texts: list[str], given: dict) -> list[Iterator[str]]:
    """Returns the pieces of the translation of each text, by greedy decoding or sampling.

    Args:
        given: option of `SAMPLED_TRANSLATION` -> value; None where the flag is not given.

    Raises:
        UserError: a value is out of range, an option is for beam search, or the export cannot generate token by token.
    """
    options = _options_of_streams(given)
    loaded = exported.load()
    streamed.require_pieces(exported, loaded)
    return [streamed.pieces(loaded, text, SAMPLED_TRANSLATION, options) for text in texts]


def streams_on_server(server: ServedModelFlags, model: str, texts: list[str], given: dict) -> list[Iterator[str]]:
    """As `streams`, with a model on a server.

    Raises:
        UserError: see `streams`, or, from the iterators, the server does not answer.
    """
    options = _options_of_streams(given)
    return [server.stream(model, text, options) for text in texts]


def _options_of_streams(given: dict) -> dict:
    request = make_request({"temperature": 0.0} | {k: v for k, v in given.items() if v is not None}, 1, {})
    return request.options


def ask(signature: Callable[[list[str], Request], dict], texts: list[str], request: Request) -> list[dict]:
    """Returns what `signature` answers to texts as one dict per text; see `format_results`.

    Args:
        signature: (texts, request) -> outputs of the signature `request.signature`.
    """
    if request.signature == "translate":
        return format_results(texts, signature(texts, request), request.n_best)
    seed = request.options["seed"]
    requests = [Request(request.options | {"seed": (seed + i) % 2**31}) for i in range(request.n_best)]
    return format_samples(texts, [signature(texts, each) for each in requests])


def format_results(texts: list[str], outputs: dict, n_best: int) -> list[dict]:
    """Returns the outputs of a translator as one dict per text.

    It has "text", "translation", "score", "translations" if `n_best` > 1, and "note" for an unusual text.

    Args:
        outputs: of the signature translate, or with `n_best` 1 of serving_default.
    """
    results = []
    for i, (text, note) in enumerate(zip(texts, _notes(texts, outputs), strict=True)):
        result = {"text": text, "translation": outputs["translation"][i], "score": round(float(outputs["score"][i]), 4)}
        if n_best > 1:
            candidates = zip(outputs["translations"][i], outputs["scores"][i], strict=True)
            result["translations"] = [
                {"translation": translation, "score": round(float(score), 4)}
                for translation, score in itertools.islice(candidates, n_best)
                if score > _MIN_SCORE
            ]
        results.append(result | ({"note": note} if note else {}))
    return results


def format_samples(texts: list[str], outputs: list[dict]) -> list[dict]:
    """Returns sampled translations as one dict per text.

    It has "text", "translation" and "log_probability" of the first sample, "translations" if there are several, and
    "note" for an unusual text.

    Args:
        outputs: of the signature sample, one per sample.
    """
    results = []
    for i, (text, note) in enumerate(zip(texts, _notes(texts, outputs[0]), strict=True)):
        samples = [
            {"translation": each["translation"][i], "log_probability": round(float(each["log_probability"][i]), 4)}
            for each in outputs
        ]
        several = {"translations": samples} if len(samples) > 1 else {}
        results.append({"text": text, **samples[0], **several} | ({"note": note} if note else {}))
    return results


def file_steps(options: TableOptions, suffix: str, request: Request, prefix: str | None = None) -> FileSteps:
    """Returns the steps that translate the texts of files. Counts have the notes on unusual texts.

    Args:
        options: how to read a table.
        suffix: .txt for the translations alone, line by line, or one of `PredictRowsCommand.suffixes`.
        prefix: of the names of the columns that are written; see `row_files.names_of_outputs`.
    """
    score = "score" if request.signature == "translate" else "log_probability"
    task = RowTask(
        names=("translation", score),
        load=functools.partial(_load, request),
        columns=functools.partial(_columns, score),
        count=_count_notes,
        given=request.options | {"max_lines": _CHUNK_LINES},
        chunks_per_part=1,
    )
    return row_steps(task, options, suffix, prefix)


def _load(request: Request, exported: Exported):
    return _batched(exported.load(), request)


def _columns(score: str, outputs: dict) -> dict[str, Sequence]:
    """See `RowTask.columns`."""
    return {"translation": outputs["translation"], score: outputs[score]}


def _count_notes(texts: list[str], outputs: dict, is_read) -> dict:
    """See `RowTask.count`."""
    notes = (note for note, read in zip(_notes(texts, outputs), is_read, strict=True) if note and read)
    return dict(collections.Counter(notes))


def _batched(loaded, request: Request) -> Callable:
    """The signature of the request, with the same options for all texts."""
    from pipelines.export.signatures import BatchedSignature

    if request.signature not in loaded.signatures:
        raise UserError("this model cannot sample: it was exported by an earlier version: train it again")

    def translate(text):
        return loaded.signatures[request.signature](text=text, **request.inputs(text))

    return BatchedSignature(translate, model=loaded)


def _notes(texts: list[str], outputs: dict) -> list[str | None]:
    """What is unusual about each text: it has a translation that means little."""
    cut = outputs.get("cut", [False] * len(texts))  # serving_default does not return it
    return [EMPTY if is_blank(text) else CUT if is_cut else None for text, is_cut in zip(texts, cut, strict=True)]
