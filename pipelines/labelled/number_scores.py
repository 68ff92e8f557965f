"""How near the numbers of a model are to the true ones, and what a linear regression reaches on the same texts."""

from collections.abc import Sequence

import numpy as np

from pipelines.labelled import baseline
from pipelines.labelled.labelled_splits import Labelled, LabelledSplits
from pipelines.support import bootstrap, console

_TINY = 1e-12  # of a variance: rounding errors
_ALPHA = 1.0  # of the ridge regression
_FEATURES = "words, word pairs and characters, LinearSVC"  # those of this baseline of classifiers
RIDGE = "words, word pairs and characters, ridge regression"
MEAN = "the mean of the training texts"


TITLES = {
    "mean_absolute_error": "mean absolute error",
    "root_mean_squared_error": "root mean squared error",
    "r2": "R²",
    "spearman": "Spearman's rank correlation",
}  # of the measures, for people


def compute_scores(true: np.ndarray, predicted: np.ndarray) -> dict:
    """Returns "rows", the measures of `measures`, and `<measure>_interval`: 95 %, by the bootstrap over texts.

    Args:
        true, predicted: float [n].
    """
    drawn = of_sums(bootstrap.resampled_sums(columns(true, predicted)), len(true))
    found: dict = {"rows": len(true)}
    for name, value in measures(true, predicted).items():
        found[name] = value
        found[f"{name}_interval"] = None if value is None else bootstrap.interval(drawn[name])
    return found


def measures(true: np.ndarray, predicted: np.ndarray) -> dict[str, float | None]:
    """Returns the measures of TITLES; None for one that equal numbers leave undefined.

        mean absolute error        mean |y - p|
        root mean squared error    sqrt(mean (y - p)^2)
        R^2                        1 - sum (y - p)^2 / sum (y - mean y)^2
        rank correlation           the correlation of the ranks of y and p, equal ones with their mean (Spearman 1904)

    Args:
        true, predicted: y and p, float [n].
    """
    values = of_sums(columns(true, predicted).sum(axis=0)[None], len(true))
    return {name: None if np.isnan(value[0]) else float(value[0]) for name, value in values.items()}


def columns(true: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Returns what each text adds to the sums of which the measures are made, float [n, 9]."""
    from scipy import stats  # takes a second, which no other command should wait for

    error, y = predicted - true, true - true.mean()
    r, s = (stats.rankdata(each) - (len(each) + 1) / 2 for each in (true, predicted))
    return np.stack([abs(error), error**2, y, y**2, r, s, r**2, s**2, r * s], axis=1)


def of_sums(sums: np.ndarray, rows: int) -> dict[str, np.ndarray]:
    """Returns the measures of sums [draws, 9] of the columns over so many rows: [draws] of each, NaN if undefined."""
    absolute, squared, y, yy, r, s, rr, ss, rs = sums.T
    total, variances = yy - y**2 / rows, (rows * rr - r**2) * (rows * ss - s**2)
    is_constant, has_no_order = total < _TINY * rows, variances < _TINY * rows
    return {
        "mean_absolute_error": absolute / rows,
        "root_mean_squared_error": np.sqrt(squared / rows),
        "r2": 1 - squared / np.where(is_constant, np.nan, total),
        "spearman": (rows * rs - r * s) / np.sqrt(np.where(has_no_order, np.nan, variances)),
    }


def add_baselines(scores: dict[str, dict], splits: LabelledSplits, predicted: dict[str, np.ndarray]) -> None:
    """Fits the baselines, and adds "baselines" to the scores of each split, a list of dicts.

    Each dict has the "name", the measures, "difference" (its root mean squared error minus that of the model) and
    "difference_interval" (95 %, by the bootstrap over texts), or the reason why it is "left_out".

    Args:
        scores: split ("validation", "test") -> scores of the model.
        predicted: split -> numbers of the model, float [n].
    """
    console.say("fitting the baselines: the mean, and TF-IDF with ridge regression ...")
    parts = {"validation": splits.valid, "test": splits.test}
    train = splits.train
    assert isinstance(train, Labelled) and train.numbers is not None, "numbers are never in shards"
    mean = float(np.average(train.numbers, weights=train.weights))
    ridge, reason = _ridge(train, [parts[name].texts for name in scores])
    for i, name in enumerate(scores):
        true = parts[name].numbers
        found = {MEAN: np.full(len(true), mean)} | ({RIDGE: ridge[i]} if ridge else {})
        compared = [{"name": each, **_compared(true, found[each], predicted[name])} for each in found]
        scores[name]["baselines"] = compared + ([{"name": RIDGE, "left_out": reason}] if reason else [])


def _ridge(train: Labelled, texts: Sequence[np.ndarray]) -> tuple[list[np.ndarray], str]:
    """Returns (the numbers of a ridge regression for each array of texts, ""), or ([], why it is left out)."""
    from sklearn.linear_model import Ridge

    vectors, reason = baseline.vectors_of(_FEATURES, train.texts, texts)
    if reason:
        return [], reason
    model = Ridge(alpha=_ALPHA).fit(vectors[0], train.numbers, sample_weight=train.weights)
    return [model.predict(each) for each in vectors[1:]], ""


def _compared(true: np.ndarray, of_baseline: np.ndarray, of_model: np.ndarray) -> dict:
    squared = np.stack([(each - true) ** 2 for each in (of_baseline, of_model)], axis=1)  # [n, 2]
    sums = np.vstack([squared.sum(axis=0), bootstrap.resampled_sums(squared)])  # [1 + draws, 2]
    of_baseline_error, of_model_error = np.sqrt(sums / len(true)).T
    differences = of_baseline_error - of_model_error
    interval = bootstrap.interval(differences[1:])
    return measures(true, of_baseline) | {"difference": float(differences[0]), "difference_interval": interval}
