"""Measures an exported model of numbers on texts with numbers."""

from pathlib import Path

import numpy as np

from pipelines.data import fields, sources
from pipelines.data.table_options import TableOptions
from pipelines.export.exported import Exported
from pipelines.labelled import mistakes_file, number_labels, number_scores
from pipelines.labelled.answers import read_rows
from pipelines.predicting.row_files import load_signature
from pipelines.support import paths
from pipelines.support.errors import UserError
from pipelines.support.numbers import counted
from pipelines.support.paths import Data
from pipelines.support.scores import score_of


def is_of_numbers(card: dict) -> bool:
    """Whether the model with this card predicts numbers."""
    return card["config"].get("label_type") == "number"


def evaluate(exported: Exported, data: Data, options: TableOptions, mistakes: Path | None, by: str | None) -> dict:
    """Measures an export; for the arguments see `labelled.evaluate.evaluate`.

    Returns:
        Scores of `number_scores.compute_scores`, with "model", "data", "trained_on" and "left_out" (reason -> rows).

    Raises:
        UserError: the data cannot be read, or has no numbers as labels; or --by is given.
    """
    if by is not None:
        raise UserError(f"--by {by}: {exported.title} predicts numbers, and groups are scored for labels alone")
    rows, trained_on = read_rows(exported, data, options)
    rows, true = number_labels.parsed(rows, paths.shown(data))
    if not len(rows):
        raise UserError(f"{paths.shown(data)}: no row has a text and a number")
    predicted = np.asarray(load_signature(exported)(rows.texts.tolist())["value"], float)
    if mistakes is not None:
        order = np.argsort(-np.abs(true - predicted), kind="stable")
        texts = np.array(fields.readable(rows.fields, rows.texts), object)
        columns = {"text": texts, "label": true, "predicted": predicted, "error": predicted - true}
        mistakes_file.write(mistakes, {name: each[order] for name, each in columns.items()}, order, rows.others)
    return {
        "model": exported.title,
        "data": sources.name(data),
        "trained_on": trained_on,
        "left_out": dict(rows.dropped),
        **number_scores.compute_scores(true, predicted),
    }


def format_scores(scores: dict) -> str:
    """Returns the result of `evaluate` as text for a terminal."""
    lines = [f"{scores['model']} on {scores['data']}: {counted(scores['rows'], 'text')}", ""]
    lines += [f"  {title:<30}{score_of(scores, name).for_terminal()}" for name, title in number_scores.TITLES.items()]
    lines += [f"  left out, {reason}: {rows:,}" for reason, rows in scores["left_out"].items()]
    if scores["trained_on"]:
        lines += ["", "  The model was trained on these texts: the scores say nothing about new ones."]
    return "\n".join(lines)
