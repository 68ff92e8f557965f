"""Labels texts with an exported classifier: texts of the command line, and files of any size."""

import contextlib
import functools
import io
import itertools
import sys
from pathlib import Path

import numpy as np

from pipelines.data import paths, text_chunks
from pipelines.data.paths import Data
from pipelines.data.table_options import DEFAULTS, TableOptions
from pipelines.data.text_chunks import Columns
from pipelines.distributed.file_steps import FileSteps, Predicted, add_counts, table_steps
from pipelines.export.exported import Exported
from pipelines.labelled import predicted_rows
from pipelines.labelled.command import OUTPUT_SUFFIXES
from pipelines.labelled.predicted_rows import PredictedRows, names_of
from pipelines.support import console
from pipelines.support.errors import UserError
from pipelines.support.files import check_output, written_beside
from pipelines.text.invisible import is_blank


def predict_texts(exported: Exported, texts: list[str], loaded=None) -> list[dict]:
    """Labels texts.

    Args:
        loaded: `exported`, if it is loaded already.

    Returns:
        One dict per text: "text", "label", "score" (or "labels", if a text may have several), "probabilities" (label ->
        probability), and "note" for an unusual text.
    """
    outputs = _batched(loaded or exported.load())(texts)
    card = exported.card()
    results = []
    for i, text in enumerate(texts):
        probabilities = (round(float(p), 6) for p in outputs["probabilities"][i])
        if "labels" in outputs:
            label = {"labels": names_of(outputs["labels"][i])}
        else:
            label = {"label": outputs["label"][i], "score": round(float(outputs["score"][i]), 6)}
        result = {"text": text, **label, "probabilities": dict(zip(card["classes"], probabilities, strict=True))}
        note = _note(text, card["window"]["max_bytes"])
        results.append(result | ({"note": note} if note else {}))
    return results


def predict_file(
    exported: Exported,
    source: Data,
    target: Path | None,
    options: TableOptions = DEFAULTS,
    prefix: str | None = None,
) -> dict:
    """Labels each text of a file, chunk by chunk.

    Args:
        source: a table (see data/tables.py), or several with the same columns; a file of any other name has one text
            per line; "-" is stdin, one text per line.
        target: .csv, .tsv or .jsonl, which must not exist; it appears when all texts are labelled. None writes CSV to
            stdout.
        options: how to read a table.
        prefix: of the names of the columns that are written; see `predicted_rows.names_of_outputs`.

    Returns:
        {"rows", "labels" (label -> rows), "skipped", and per note on unusual texts, such as "no label", its rows}.

    Raises:
        UserError: there is nothing to read, `target` exists or has another suffix, or the columns do not fit.
    """
    check_output(target, suffixes=OUTPUT_SUFFIXES)
    card = exported.card()
    chunks = text_chunks.read(source, options.after_training(card["config"]))
    first = next(chunks, None)
    if first is None:
        raise UserError(f"{paths.shown(source)} has no rows")
    suffix = target.suffix if target else ".csv"
    writer = predicted_rows.writer_for(list(first.rows), card, suffix, prefix)
    loaded = exported.load()
    classify = _batched(loaded)
    counts = {"rows": 0, "labels": dict.fromkeys(card["classes"], 0), "skipped": 0}
    with (
        written_beside(target, newline="") if target else contextlib.nullcontext(sys.stdout) as file,
        console.bar(None, "texts") as bar,
    ):
        for chunk in itertools.chain([first], chunks):
            texts = chunk.rows[chunk.column].tolist()
            outputs = classify(texts)
            writer.write(file, chunk.rows, outputs, header=not counts["rows"])
            _count(counts, texts, outputs, chunk.num_skipped, card["window"]["max_bytes"])
            bar.update(len(texts))
    return counts


def file_steps(exported: Exported, options: TableOptions, suffix: str, prefix: str | None = None) -> FileSteps:
    """Returns what `predict_file` does, as steps that other processes can do.

    Args:
        options: how to read a table.
        suffix: one of OUTPUT_SUFFIXES.
        prefix: as in `predict_file`.
    """
    return _steps(exported.card(), options, suffix, prefix, None)


def _steps(card: dict, options: TableOptions, suffix: str, prefix: str | None, first: Columns | None) -> FileSteps:
    """See `file_steps`. The steps write for files with the columns `first`."""
    writer = predicted_rows.writer_for(first.names if first else None, card, suffix, prefix)
    write = functools.partial(_write_part, writer, card["classes"], card["window"]["max_bytes"])
    given = {"names": writer.names}
    steps = table_steps(options.after_training(card["config"]), suffix, 5, _load, write, **given)
    return steps._replace(for_columns=functools.partial(_steps, card, options, suffix, prefix))


def _load(exported: Exported):
    return _batched(exported.load())


def _write_part(
    writer: PredictedRows, classes: list[str], max_bytes: int, predicted: list[Predicted], num_before: int
) -> tuple[bytes, dict]:
    """See `FileSteps.write`."""
    file = io.StringIO(newline="")
    counts = {"rows": 0, "labels": dict.fromkeys(classes, 0), "skipped": 0}
    for i, (chunk, outputs, poisoned) in enumerate(predicted):
        outputs = _without(outputs, poisoned)
        writer.write(file, chunk.rows, outputs, header=i == 0)
        read = ~poisoned
        texts = chunk.rows[chunk.column][read].tolist()
        _count(counts, texts, {name: values[read] for name, values in outputs.items()}, chunk.num_skipped, max_bytes)
        add_counts(counts, {"rows": int(poisoned.sum())})
    return file.getvalue().encode(), counts


def _without(outputs: dict[str, np.ndarray], poisoned: np.ndarray) -> dict[str, np.ndarray]:
    """Returns the outputs with empty ones for the poisoned rows."""
    if not poisoned.any():
        return outputs
    emptied = {name: values.copy() for name, values in outputs.items()}
    for values in emptied.values():
        values[poisoned] = np.nan if values.dtype.kind == "f" else ""
    return emptied


def _batched(loaded):
    """The default signature of a loaded classifier: texts -> dict of arrays."""
    # after `load`, which imports TensorFlow without its messages
    from pipelines.export.signatures import BatchedSignature

    return BatchedSignature(loaded.signatures["serving_default"], model=loaded)


def _count(counts: dict, texts: list[str], outputs: dict[str, np.ndarray], num_skipped: int, max_bytes: int) -> None:
    """Adds the texts of a chunk to `counts`."""
    counts["rows"] += len(texts)
    counts["skipped"] += num_skipped
    sets = map(names_of, outputs["labels"]) if "labels" in outputs else [[label] for label in outputs["label"]]
    notes = []
    for names in sets:
        for name in names:
            counts["labels"][name] += 1
        notes += [] if names else ["no label"]
    for note in filter(None, (*notes, *(_note(text, max_bytes) for text in texts))):
        counts[note] = counts.get(note, 0) + 1


def _note(text: str, max_bytes: int) -> str | None:
    """Why the label of a text is defined but means little; None for a usual text."""
    if is_blank(text):
        return "empty"
    if not any(character.isalnum() for character in text[:max_bytes]):
        return "without letters or digits"
    if len(text) > max_bytes or len(text.encode("utf-8", "replace")) > max_bytes:
        return f"longer than {max_bytes} bytes, cut"
    return None
