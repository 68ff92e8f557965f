"""The validation predictions that a run keeps, so that two runs can be compared text by text."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from pipelines.support.files import write_text

FILE = "predictions.csv"
_DIGITS = 16  # of the SHA-256 of a text: two texts of a million have the same digits with probability 3e-8


def write(
    folder: Path,
    texts: Sequence[str],
    labels: Sequence[str],
    predicted: Sequence[str],
    scores: np.ndarray | None = None,
) -> None:
    """Writes `folder`/predictions.csv: one row per validation text, in the order of the validation set.

    Args:
        texts: only their checksums are kept.
        labels: the right answers, each as one string: a label, several labels, a number, the tags of a sentence with
            tabs between them, a translation.
        predicted: the answers of the model, in the same form.
        scores: probabilities of the answers, float [n]; None: they are not kept.
    """
    rows = {
        "text_sha256": [text_checksum(text) for text in texts],
        "label": labels,
        "predicted": predicted,
    } | ({} if scores is None else {"score": scores})
    write_text(folder / FILE, pd.DataFrame(rows).to_csv(index=False, float_format="%.4f", lineterminator="\n"))


def read(folder: Path) -> pd.DataFrame | None:
    """Returns what `write` wrote, sorted by text and label, every cell as str; None if there is no such file."""
    path = folder / FILE
    if not path.is_file():
        return None
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    return rows.sort_values(["text_sha256", "label"], kind="stable", ignore_index=True)


def text_checksum(text: str) -> str:
    """Returns the first digits of the SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
