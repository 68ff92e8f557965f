"""The file of `evaluate --mistakes`."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from pipelines.predicting import row_files
from pipelines.support import console
from pipelines.support.files import written_beside

_PREFIX = "evaluated_"  # of columns where the user's have the same names


def write(path: Path, columns: dict[str, Sequence], rows: np.ndarray, others: pd.DataFrame | None) -> None:
    """Writes columns about texts to a CSV file.

    Args:
        columns: name -> value for each of these texts.
        rows: which rows of `others` they are, int [n].
        others: further columns of the user for all texts, which follow as they are.
    """
    if others is not None:
        names = row_files.new_names(list(columns), list(others), _PREFIX)
        if names["text"] != "text":
            console.say(f"{path}: the data has columns of these names, so the result is in {', '.join(names.values())}")
        columns = {names[name]: values for name, values in columns.items()}
        columns |= {name: others[name].to_numpy(object)[rows] for name in others}
    with written_beside(path, newline="") as file:
        pd.DataFrame(columns).to_csv(file, index=False, float_format="%.6f")
