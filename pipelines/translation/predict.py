"""Translates with an exported translator: texts of the command line and files of any size; draws the attention."""

import contextlib
import functools
import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from pipelines.config import flag, require
from pipelines.data.table_options import DEFAULTS
from pipelines.decoding.options import (
    BEAM_WIDTH,
    SAMPLED_TRANSLATION,
    SHAPING_AND_SEED,
    TRANSLATION,
    filled,
    with_defaults,
)
from pipelines.distributed.file_steps import FileSteps, Predicted, table_steps
from pipelines.export.exported import SAMPLE_SUFFIX, Exported, find_export, versions
from pipelines.support import console
from pipelines.support.errors import UserError
from pipelines.support.files import check_output, written_beside
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


def translate_file(exported: Exported, source: str, target: Path | None, request: Request) -> dict[str, int]:
    """Translates each line of a file.

    Args:
        source: a text file; "-" is stdin.
        target: file for the translations, line by line. It appears when all are there. None writes to stdout.

    Returns:
        "lines", the number of lines, and note -> number of lines with it.

    Raises:
        UserError: `source` cannot be read, or `target` exists.
    """
    check_output(target)
    _check_input(source)
    loaded = exported.load()
    translate = _batched(loaded, request)
    counts = {"lines": 0}
    with (
        contextlib.nullcontext(sys.stdin.buffer) if source == "-" else open(source, "rb") as file,
        written_beside(target) if target else contextlib.nullcontext(sys.stdout) as output,
        console.bar(None, "lines") as progress,
    ):
        while lines := list(itertools.islice(file, _CHUNK_LINES)):
            texts = _decode(lines, source)
            outputs = translate(texts)
            output.writelines(f"{translation}\n" for translation in outputs["translation"])
            counts["lines"] += len(texts)
            for note in filter(None, _notes(texts, outputs)):
                counts[note] = counts.get(note, 0) + 1
            progress.update(len(texts))
    return counts


def file_steps(request: Request) -> FileSteps:
    """Returns what `translate_file` does, as steps that other processes can do. They also read the texts of tables.

    The translation of a poisoned row is empty.
    """
    load = functools.partial(_load, request)
    return table_steps(DEFAULTS, ".txt", 1, load, _write_part, **request.options, max_lines=_CHUNK_LINES)


def _load(request: Request, exported: Exported):
    return _batched(exported.load(), request)


def _write_part(predicted: list[Predicted], num_before: int) -> tuple[bytes, dict]:
    """See `FileSteps.write`."""
    lines, counts = [], {"rows": 0, "skipped": 0}
    for chunk, outputs, poisoned in predicted:
        translations = zip(outputs["translation"], poisoned, strict=True)
        lines += ["\n" if is_poisoned else f"{translation}\n" for translation, is_poisoned in translations]
        counts["rows"] += len(poisoned)
        counts["skipped"] += chunk.num_skipped
        for note, is_poisoned in zip(_notes(chunk.rows[chunk.column].tolist(), outputs), poisoned, strict=True):
            if note and not is_poisoned:
                counts[note] = counts.get(note, 0) + 1
    return "".join(lines).encode(), counts


def _check_input(source: str) -> None:
    if source == "-":
        return
    path = Path(source)
    if not path.is_file():
        raise UserError(f"no such file: {source}")
    if not path.stat().st_size:
        raise UserError(f"{source} is empty")


def _decode(lines: list[bytes], source: str) -> list[str]:
    try:
        return [line.decode("utf-8-sig").rstrip("\r\n") for line in lines]
    except UnicodeDecodeError as error:
        raise UserError(f"{source} is not UTF-8: convert it, for example with iconv -f latin1 -t utf-8") from error


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
