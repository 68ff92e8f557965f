"""Measures of a classifier that gives a text several labels, or none."""

import numpy as np

from pipelines.labelled.metrics import NUM_CALIBRATION_BINS, wilson_interval
from pipelines.labelled.precision_recall import average_precision
from pipelines.support.bootstrap import interval, resampled_sums

_NUM_BOOTSTRAPS = 1000
_DRAWS_AT_ONCE = 50  # limits the memory


def compute_scores(
    labels: np.ndarray, predicted: np.ndarray, probabilities: np.ndarray, classes: tuple[str, ...]
) -> dict:
    """Returns all measures of a classifier on one set of texts.

    Args:
        labels, predicted: int [n, classes] of 0 and 1, the true and the predicted labels.
        probabilities: float [n, classes].
        classes: names of the classes.

    Returns:
        "rows", "accuracy" (subset accuracy: the fraction of the texts with exactly the true labels), "f1" (macro-F1:
        the mean over the classes that occur), "micro_f1", "micro_precision", "micro_recall" (over all decisions; None
        where they are undefined), "accuracy_interval", "f1_interval", "micro_f1_interval" (Wilson's and the
        bootstrap's), "average_precision" (mean over the classes that occur), "log_loss" (mean over all decisions, in
        nats), "calibration_error", "labels_per_text" ({"true", "predicted"}), "by_class" (dicts of "class", "rows",
        "precision", "recall", "f1", "average_precision").
    """
    probabilities = probabilities.astype(np.float64)
    exact = (labels == predicted).all(axis=1)
    correct, true, guessed = (counts.sum(axis=0) for counts in (labels & predicted, labels, predicted))
    macro_interval, micro_interval = _f1_intervals(labels, predicted)
    by_class = [
        {
            "class": name,
            "rows": int(true[i]),
            "precision": _ratio(correct[i], guessed[i]),
            "recall": _ratio(correct[i], true[i]),
            "f1": _ratio(2 * correct[i], true[i] + guessed[i]) if true[i] else None,
            "average_precision": average_precision(labels[:, i] == 1, probabilities[:, i]),
        }
        for i, name in enumerate(classes)
    ]
    clipped = np.clip(probabilities, 1e-7, 1 - 1e-7)
    return {
        "rows": len(labels),
        "accuracy": float(exact.mean()),
        "accuracy_interval": wilson_interval(int(exact.sum()), len(labels)),
        "f1": _mean([each["f1"] for each in by_class]),
        "f1_interval": macro_interval,
        "micro_f1": _ratio(2 * correct.sum(), true.sum() + guessed.sum()) if true.any() else None,
        "micro_f1_interval": micro_interval,
        "micro_precision": _ratio(correct.sum(), guessed.sum()),
        "micro_recall": _ratio(correct.sum(), true.sum()),
        "average_precision": _mean([each["average_precision"] for each in by_class]),
        "log_loss": float(-np.log(np.where(labels == 1, clipped, 1 - clipped)).mean()),
        "calibration_error": _calibration_error(labels, probabilities),
        "labels_per_text": {"true": float(true.sum() / len(labels)), "predicted": float(guessed.sum() / len(labels))},
        "by_class": by_class,
    }


def reliability(labels: np.ndarray, probabilities: np.ndarray) -> list[dict]:
    """Returns the data of a reliability diagram of all decisions: rows, mean probability and frequency per bin.

    Args:
        labels: int [n, classes] of 0 and 1.
        probabilities: float [n, classes].
    """
    score, has_label = probabilities.ravel(), labels.ravel()
    bin_of = np.minimum((score * NUM_CALIBRATION_BINS).astype(int), NUM_CALIBRATION_BINS - 1)
    return [
        {
            "rows": int((bin_of == i).sum()),
            "score": float(score[bin_of == i].mean()),
            "accuracy": float(has_label[bin_of == i].mean()),
        }
        for i in np.unique(bin_of)
    ]


def compare_micro_f1(labels: np.ndarray, baseline: np.ndarray, model: np.ndarray) -> dict:
    """Compares the micro-F1 of two classifiers on the same texts.

    Args:
        labels, baseline, model: int [n, classes] of 0 and 1: the true labels, and those that each predicts.

    Returns:
        "micro_f1", "micro_f1_interval" (of the baseline), "difference" (the model's minus the baseline's) and
        "difference_interval"; the intervals are percentiles of the bootstrap, which draws the same texts for both. A
        classifier without correct labels has the micro-F1 0.
    """
    counts = [each for predicted in (baseline, model) for each in (labels & predicted, labels + predicted)]
    counts = np.stack([each.sum(axis=1) for each in counts], axis=1)  # [n, 4]

    def micro_f1(sums: np.ndarray) -> np.ndarray:
        """The micro-F1 of the baseline and of the model, [..., 4] -> [..., 2]."""
        return 2 * sums[..., ::2] / np.maximum(sums[..., 1::2], 1)

    of_baseline, of_model = micro_f1(counts.sum(axis=0)).tolist()
    draws = micro_f1(resampled_sums(counts))
    return {
        "micro_f1": of_baseline,
        "micro_f1_interval": interval(draws[:, 0]),
        "difference": of_model - of_baseline,
        "difference_interval": interval(draws[:, 1] - draws[:, 0]),
    }


def _calibration_error(labels: np.ndarray, probabilities: np.ndarray) -> float:
    """The mean difference between the probability of a label and its frequency, over bins of all decisions."""
    bins = reliability(labels, probabilities)
    return sum(b["rows"] * abs(b["accuracy"] - b["score"]) for b in bins) / labels.size


def _f1_intervals(labels: np.ndarray, predicted: np.ndarray) -> tuple[tuple[float, float] | None, ...]:
    """Returns the 95 % intervals of macro-F1 and micro-F1 by the bootstrap: percentiles over texts drawn with
    replacement; None if no text has a label.
    """
    used = labels.any(axis=0)
    if not used.any():
        return None, None
    correct = (labels & predicted).astype(np.float32)  # [n, classes]
    total = (labels + predicted).astype(np.float32)
    rng, n = np.random.default_rng(0), len(labels)
    macro, micro = [], []
    for _ in range(0, _NUM_BOOTSTRAPS, _DRAWS_AT_ONCE):
        times = rng.multinomial(n, np.full(n, 1 / n), size=_DRAWS_AT_ONCE).astype(np.float32)  # [draws, n]
        hits, sums = 2 * times @ correct, times @ total  # [draws, classes]
        macro.append((hits / np.maximum(sums, 1))[:, used].mean(axis=1))
        micro.append(hits.sum(axis=1) / np.maximum(sums.sum(axis=1), 1))
    return tuple(
        tuple(float(limit) for limit in np.percentile(np.concatenate(f1), [2.5, 97.5])) for f1 in (macro, micro)
    )


def _ratio(part: int, whole: int) -> float | None:
    return float(part / whole) if whole else None


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
