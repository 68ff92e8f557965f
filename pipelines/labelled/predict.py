"""Labels texts with an exported classifier: texts of the command line, and files of any size."""

import collections
import dataclasses
import functools
from collections.abc import Sequence

import numpy as np

from pipelines.data import fields
from pipelines.data.fields import Field
from pipelines.data.table_options import DEFAULT_LABELS_SEPARATOR, TableOptions
from pipelines.export.exported import Exported
from pipelines.labelled.config import multi_label
from pipelines.labelled.number_evaluate import is_of_numbers
from pipelines.labelled.top_classes import by_probability
from pipelines.predicting.doccano import LABELS, doccano_steps
from pipelines.predicting.file_steps import FileSteps
from pipelines.predicting.row_files import RowTask, load_signature, row_steps
from pipelines.support.errors import UserError
from pipelines.text.invisible import is_blank


def predict_texts(exported: Exported, given: Sequence[str], loaded=None) -> list[dict]:
    """Labels texts.

    Args:
        given: texts; or, for a model of several columns, the cells of the first row, of the second row, ...
        loaded: `exported`, if it is loaded already.

    Returns:
        One dict per text: "text", "label", "score" (or "labels", if a text may have several), "probabilities" (label ->
        probability, the most probable label first), "abstained" (the label is "") if the model abstains, and "note" for
        an unusual text. Of a model of numbers: "text", "value", "note". Of a model of several columns, "columns" (name
        -> cell) instead of "text".

    Raises:
        UserError: the last row has too few cells, or one of a column of numbers is no number.
    """
    card = exported.card()
    texts = texts_of(card, given)
    known = fields.from_card(card.get("columns"))
    rows = given_rows(fields.columns_of(known), given)
    outputs = load_signature(exported, loaded)(texts)
    results = []
    for i, (text, row) in enumerate(zip(texts, rows, strict=True)):
        note = _note(text, card["window"]["max_bytes"], known)
        if "value" in outputs:
            value = {"value": float(f"{outputs['value'][i]:.6g}")}
            results.append({**row, **value} | ({"note": note} if note else {}))
            continue
        if "labels" in outputs:
            label = {"labels": names_of(outputs["labels"][i])}
        else:
            label = {"label": outputs["label"][i], "score": round(float(outputs["score"][i]), 6)}
            label |= {"abstained": bool(outputs["abstained"][i])} if "abstained" in outputs else {}
        probabilities = by_probability(card["classes"], outputs["probabilities"][i])
        result = {**row, **label, "probabilities": probabilities}
        results.append(result | ({"note": note} if note else {}))
    return results


def texts_of(card: dict, given: Sequence[str]) -> list[str]:
    """Returns the texts to label.

    Args:
        card: of the model.
        given: texts; or, for a model of several columns, the cells of the first row, of the second row, ...

    Raises:
        UserError: the last row has too few cells.
    """
    known = fields.from_card(card.get("columns"))
    return fields.of_cells(known, given) if known else list(given)


def given_rows(names: Sequence[str], given: Sequence[str]) -> list[dict]:
    """Returns what the results of `predict_texts` start with.

    Args:
        names: of the columns; none of a model of one text.
        given: see `texts_of`.
    """
    if not names:
        return [{"text": text} for text in given]
    rows = (given[i : i + len(names)] for i in range(0, len(given), len(names)))
    return [{"columns": dict(zip(names, row, strict=True))} for row in rows]


def file_steps(
    exported: Exported,
    options: TableOptions,
    suffix: str,
    prefix: str | None = None,
    sort: bool = False,
    tool: str | None = None,
) -> FileSteps:
    """Returns the steps that label the texts of files. Counts have "labels", label -> rows, and notes on unusual texts.

    Args:
        options: how to read a table.
        suffix: one of `PredictRowsCommand.suffixes`.
        prefix: of the names of the columns that are written; see `row_files.names_of_outputs`.
        sort: write the rows with the least certain labels first; see `uncertainty`.
        tool: doccano, for which the rows are written; None writes them with all probabilities.

    Raises:
        UserError: `sort` or `tool` is given, and the model predicts numbers; or `tool`, and it reads several columns.
    """
    card = exported.card()
    classes, max_bytes = tuple(card["classes"]), card["window"]["max_bytes"]
    options = options.after_training(card)
    if is_of_numbers(card):
        if sort or tool:
            raise UserError(f"{exported.title} predicts numbers and no labels: leave out --sort and --for")
        task = RowTask(("value",), load_signature, count=functools.partial(_counts, classes, max_bytes, options.fields))
        return row_steps(task, options, suffix, prefix)
    scores = () if multi_label(card["config"]) else ("score",)
    task = RowTask(
        names=("predicted", *scores, *(f"p({name})" for name in classes)),
        load=load_signature,
        columns=functools.partial(_columns, classes, suffix),
        count=functools.partial(_counts, classes, max_bytes, options.fields),
        uncertainty=uncertainty if sort else None,
    )
    if tool and options.fields:
        raise UserError(f"--for {tool}: {exported.title} reads several columns, and {tool} has one text: leave it out")
    if not tool:
        return row_steps(task, options, suffix, prefix)
    return doccano_steps(dataclasses.replace(task, names=(LABELS, *scores), columns=_for_doccano), options)


def uncertainty(outputs: dict[str, np.ndarray]) -> np.ndarray:
    """Returns how unsure the model is of each text, from 0 to 1: float [n].

    It is 1 - (p1 - p2), where p1 and p2 are the two highest probabilities of the text (margin sampling, Scheffer et al.
    2001). Of several labels per text, it is the highest 1 - |p - (1 - p)| of a label with the probability p.
    """
    probabilities = outputs["probabilities"]  # [n, classes]
    if "labels" in outputs:
        return (1 - np.abs(2 * probabilities - 1)).max(axis=1)
    second, first = np.sort(probabilities, axis=1)[:, -2:].T
    return 1 - (first - second)


def _for_doccano(outputs: dict[str, np.ndarray]) -> dict[str, Sequence]:
    """See `RowTask.columns`. A text for which the model abstains has no label."""
    scores = {} if "labels" in outputs else {"score": outputs["score"]}
    return {LABELS: list(map(names_of, _label_rows(outputs))), **scores}


def _columns(classes: tuple[str, ...], suffix: str, outputs: dict[str, np.ndarray]) -> dict[str, Sequence]:
    """See `RowTask.columns`. Several labels are a list in JSON, else one cell."""
    if "labels" in outputs:
        sets = [names_of(labels) for labels in outputs["labels"]]
        joined = sets if suffix == ".jsonl" else [DEFAULT_LABELS_SEPARATOR.join(names) for names in sets]
        columns: dict[str, Sequence] = {"predicted": joined}
    else:
        columns = {"predicted": outputs["label"], "score": outputs["score"]}
    return columns | {f"p({name})": outputs["probabilities"][:, i] for i, name in enumerate(classes)}


def names_of(labels: np.ndarray) -> list[str]:
    """Returns a row of the output `labels` without its padding."""
    return [name for name in labels if name]


def _label_rows(outputs: dict[str, np.ndarray]) -> np.ndarray:
    """Returns the labels of each text, with "" after the last one: object [n, labels]."""
    return outputs["labels"] if "labels" in outputs else outputs["label"][:, None]


def _counts(
    classes: tuple[str, ...],
    max_bytes: int,
    known: tuple[Field, ...],
    texts: list[str],
    outputs: dict[str, np.ndarray],
    is_read: np.ndarray,
) -> dict:
    """See `RowTask.count`."""
    if "value" in outputs:
        notes = [_note(text, max_bytes, known) for text, read in zip(texts, is_read, strict=True) if read]
        return dict(collections.Counter(filter(None, notes)))
    counts: dict = {"labels": dict.fromkeys(classes, 0)}
    sets = map(names_of, _label_rows(outputs))
    for text, names, read in zip(texts, sets, is_read, strict=True):
        if not read:
            continue
        for name in names:
            counts["labels"][name] += 1
        for note in filter(None, (None if names else "no label", _note(text, max_bytes, known))):
            counts[note] = counts.get(note, 0) + 1
    return counts


def _note(text: str, max_bytes: int, known: Sequence[Field]) -> str | None:
    """Why the label of a text is defined but means little; None for a usual text."""
    if is_blank(text):
        return "empty"
    if fields.has_empty_side(known, text):
        return "one text of the pair is empty"
    if not any(character.isalnum() for character in text[:max_bytes]):
        return "without letters or digits"
    if len(text) > max_bytes or len(text.encode("utf-8", "replace")) > max_bytes:
        return f"longer than {max_bytes} bytes, cut"
    return None
