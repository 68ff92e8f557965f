"""Answers of an exported model: for texts on the command line, and for files of any size."""

import contextlib
import csv
import itertools
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from pipelines import console
from pipelines.data import tables
from pipelines.errors import UserError
from pipelines.files import written_beside
from pipelines.models import Exported
from pipelines.quiet import import_tensorflow

ROWS = 2000  # of a table, and
BYTES = 2**22  # of lines: a piece of a file, which is all that is in memory at a time


def load(exported: Exported):
    """The SavedModel, which has `signatures` and must be kept as long as one of them is used.

    Raises:
        UserError: the folder holds no SavedModel that can be loaded.
    """
    import_tensorflow()
    import tensorflow as tf

    try:
        loaded = tf.saved_model.load(str(exported.path))
        loaded.signatures["serving_default"]
        return loaded
    except (OSError, KeyError, ValueError, tf.errors.OpError) as error:
        raise UserError(f"{exported.path} holds no SavedModel that loads ({error}): train it again") from error


def answers(loaded):
    """The answers of a loaded SavedModel: texts -> dict of arrays."""
    from pipelines.answers import Answers

    return Answers(loaded.signatures["serving_default"])


def predict_texts(exported: Exported, texts: list[str], loaded) -> list[dict]:
    """One dict per text: "text", "label", "score", "probabilities" (class -> probability), "note" where something is odd."""
    outputs = answers(loaded)(texts)
    card = exported.card()
    results = []
    for i, text in enumerate(texts):
        probabilities = dict(zip(card["classes"], (round(float(p), 6) for p in outputs["probabilities"][i]), strict=True))
        result = {"text": text, "label": outputs["label"][i], "score": round(float(outputs["score"][i]), 6)}
        odd = _oddity(text, card["window"]["max_bytes"])
        results.append(result | {"probabilities": probabilities} | ({"note": odd} if odd else {}))
    return results


def predict_file(exported: Exported, source: str, target: Path | None, text_column: str | None = None) -> dict:
    """Labels each text of a file, a piece at a time.

    Args:
        source: .csv or .tsv, also compressed; any other name is read as one text per line; "-" is stdin, a text per line.
        target: .csv, .tsv or .jsonl, which must not exist; it appears when all is answered. None writes CSV to stdout.
        text_column: the column with the text; found by its name if not given.

    Returns:
        {"rows", "labels" (label -> rows), "skipped", and for each oddity its rows}.

    Raises:
        UserError: nothing to read, or a target that exists or has another ending.
    """
    if target is not None:
        if target.exists():
            raise UserError(f"{target} exists already: remove it, or give another name with --output")
        if target.suffix not in (".csv", ".tsv", ".jsonl"):
            raise UserError(f"--output {target}: the name must end in .csv, .tsv or .jsonl")
        if not target.resolve().parent.is_dir():
            raise UserError(f"--output {target}: there is no folder {target.parent}")
    pieces = _pieces(source, text_column)
    first = next(pieces, None)
    if first is None:
        raise UserError(f"{source} has no rows")
    card = exported.card()
    loaded = load(exported)
    answer = answers(loaded)
    counts = {"rows": 0, "labels": dict.fromkeys(card["classes"], 0), "skipped": 0}
    format_ = target.suffix if target else ".csv"
    with (written_beside(target, newline="") if target else contextlib.nullcontext(sys.stdout)) as file:
        with console.bar(None, "reviews") as bar:
            for frame, column, skipped in itertools.chain([first], pieces):
                texts = frame[column].tolist()
                outputs = answer(texts)
                _write(file, _with_answers(frame, outputs, card["classes"]), format_, header=not counts["rows"])
                counts["rows"] += len(texts)
                counts["skipped"] += skipped
                for label in outputs["label"]:
                    counts["labels"][label] += 1
                for odd in filter(None, (_oddity(text, card["window"]["max_bytes"]) for text in texts)):
                    counts[odd] = counts.get(odd, 0) + 1
                bar.update(len(texts))
    return counts


def _pieces(source: str, text_column: str | None) -> Iterator[tuple[pd.DataFrame, str, int]]:
    """(rows as a table, the column with the text, rows that could not be read) for each piece of the file."""
    path = Path(source)
    if source != "-":
        if not path.is_file():
            raise UserError(f"no such file: {source}")
        if path.stat().st_size == 0:
            raise UserError(f"{source} is empty")
    if source != "-" and tables.is_table(path):
        names = tables.column_names(path)
        column = tables.find_column(path, names, text_column, tables.TEXT_NAMES, "--text-column")
        for frame, skipped in tables.chunks(path, ROWS):
            if len(frame):
                yield frame, column, skipped
        return
    with contextlib.nullcontext(sys.stdin.buffer) if source == "-" else open(path, "rb") as file:
        try:
            for lines in iter(lambda: file.readlines(BYTES), []):
                texts = [line.decode("utf-8-sig").rstrip("\r\n") for line in lines]
                yield pd.DataFrame({"text": texts}, dtype=object), "text", 0
        except UnicodeDecodeError as error:
            raise UserError(f"{source} is not UTF-8: convert it, for example with iconv -f latin1 -t utf-8") from error


def _with_answers(frame: pd.DataFrame, outputs: dict[str, np.ndarray], classes: list[str]) -> pd.DataFrame:
    """The rows as they came, with the answer's columns behind them."""
    answers = {"predicted": outputs["label"], "score": outputs["score"]}
    answers |= {f"p({name})": outputs["probabilities"][:, i] for i, name in enumerate(classes)}
    return frame.assign(**{name: value for name, value in answers.items()})


def _write(file, frame: pd.DataFrame, format_: str, header: bool) -> None:
    if format_ == ".jsonl":
        for row in frame.to_dict("records"):
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    else:
        separator = "\t" if format_ == ".tsv" else ","
        frame.to_csv(file, sep=separator, index=False, header=header, float_format="%.6f", quoting=csv.QUOTE_MINIMAL)


def _oddity(text: str, max_bytes: int) -> str | None:
    """What is odd about a text: its answer is defined, and means little."""
    if not text.strip():
        return "empty"
    if not any(character.isalnum() for character in text[:max_bytes]):
        return "without letters or digits"
    if len(text) > max_bytes or len(text.encode("utf-8", "replace")) > max_bytes:
        return f"longer than {max_bytes} bytes, cut"
    return None
