"""`evaluate --by COLUMN`: the accuracy of each group of texts that have the same value in a column."""

from pathlib import Path

import numpy as np

from pipelines.data import tables
from pipelines.data.table_options import TableOptions
from pipelines.labelled.metrics import wilson_interval
from pipelines.support import paths, terminal
from pipelines.support.errors import UserError, suggestion
from pipelines.support.paths import Data

MAX_GROUPS = 50
FEW_ROWS = 30


def check_column(data: Data | None, by: str, options: TableOptions) -> str:
    """Returns the column `by` of a table, or of several tables with the same columns.

    Raises:
        UserError: the data is no table, or has no such column.
    """
    path = Path(paths.each(data)[0] if data else "")
    if data is None or not path.is_file() or not tables.is_table(path):
        raise UserError(f"--by {by} needs --data with a table: folders and the embedded sample have no other columns")
    names = list(tables.columns(path, options).columns)
    if by not in names:
        raise UserError(f"--by {by}: {path} has no such column{suggestion(by, names)}; it has {', '.join(names)}")
    return by


def compute_scores(groups: np.ndarray, is_correct: np.ndarray) -> list[dict]:
    """Returns one dict per group, the largest first: "group", "rows", "accuracy", "accuracy_interval" (95 %).

    Args:
        groups: object [n] of str.
        is_correct: bool [n].

    Raises:
        UserError: there are more than MAX_GROUPS groups.
    """
    names = np.array([name.strip() for name in groups], dtype=object)
    found = list(dict.fromkeys(names))
    if len(found) > MAX_GROUPS:
        raise UserError(
            f"--by: the column has {len(found):,} different values, at most {MAX_GROUPS}: name one with fewer values"
        )
    scores = []
    for name in found:
        rows, correct = int((names == name).sum()), int(is_correct[names == name].sum())
        scores.append(
            {
                "group": name,
                "rows": rows,
                "accuracy": correct / rows,
                "accuracy_interval": wilson_interval(correct, rows),
            }
        )
    return sorted(scores, key=lambda score: (-score["rows"], score["group"]))


def format_scores(by: str, scores: list[dict]) -> list[str]:
    """Returns the lines of a table for a terminal, and a note on small groups."""
    width = 24
    lines = [f"  {terminal.padded(by, width)}{'texts':>12}{'accuracy':>12}   95 % interval"]
    for score in scores:
        low, high = score["accuracy_interval"]
        few = "   few texts" if score["rows"] < FEW_ROWS else ""
        name = terminal.padded(score["group"] or "(empty)", width - 2)
        lines.append(f"  {name}  {score['rows']:>12,}{score['accuracy']:>12.4f}   {low:.4f} to {high:.4f}{few}")
    if any(score["rows"] < FEW_ROWS for score in scores):
        lines.append(f"  few texts: fewer than {FEW_ROWS}; their accuracy says little")
    return lines
