"""95 % intervals by the bootstrap over texts or sentences: the labels or tokens of one are not independent.

Every call draws the same rows, so that two models are compared on the same draws (Koehn 2004, "Statistical
Significance Tests for Machine Translation Evaluation").
"""

import numpy as np

_NUM_DRAWS = 1000
_MAX_CELLS = 2**22  # of the matrix of draws and rows that is in memory at a time


def resampled_sums(counts: np.ndarray) -> np.ndarray:
    """Returns the column sums of 1,000 samples of the rows, which are drawn with replacement.

    Args:
        counts: [rows, columns], at least one row; a row is a text or a sentence. An array, or sparse (scipy).

    Returns:
        float64 [draws, columns].
    """
    generator = np.random.default_rng(0)
    num_rows = counts.shape[0]
    counts = counts.astype(np.float64)
    sums = np.empty((_NUM_DRAWS, counts.shape[1]))
    size = max(1, _MAX_CELLS // num_rows)
    for start in range(0, _NUM_DRAWS, size):
        draws = range(start, min(start + size, _NUM_DRAWS))
        chosen = generator.integers(num_rows, size=(len(draws), num_rows))
        times = [np.bincount(rows, minlength=num_rows) for rows in chosen]  # how often each row is drawn
        sums[start : start + size] = np.array(times, np.float64) @ counts
    return sums


def interval(values: np.ndarray) -> tuple[float, float] | None:
    """Returns the 2.5th and the 97.5th percentile of a measure's values; None if it is defined in no draw.

    Args:
        values: float [draws], NaN where the draw does not define the measure.
    """
    if np.isnan(values).all():
        return None
    low, high = np.nanpercentile(values, [2.5, 97.5])
    return float(low), float(high)
