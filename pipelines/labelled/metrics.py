"""Measures of a classifier, computed from its probabilities."""

import math

import numpy as np
from scipy import sparse

from pipelines.labelled.precision_recall import average_precision

LENGTHS = (50, 100, 200, 400)  # upper limits, in words, of the groups of lengths; longer texts are the last group
NUM_CALIBRATION_BINS = 15
_Z = 1.959964  # 97.5 % of a normal distribution is below it
_NUM_BOOTSTRAPS = 1000
MAX_MATRIX = 100  # classes; with more, the scores have the most frequent confusions in place of a matrix
_MAX_CONFUSIONS = 20


def compute_scores(
    labels: np.ndarray,
    probabilities: np.ndarray,
    classes: tuple[str, ...],
    texts: np.ndarray,
    predicted: np.ndarray | None = None,
) -> dict:
    """Returns all measures of a classifier on one set of texts.

    Args:
        labels: int [n], ids of the true classes.
        probabilities: float [n, classes].
        classes: names of the classes.
        texts: object [n] of str, for the accuracy by length.
        predicted: int [n], ids of the predicted classes; by default the most probable ones.

    Returns:
        "rows", "accuracy", "f1" (of the last of two classes, else macro-F1: the mean over the classes that occur; None
        if no such class occurs), "accuracy_interval" and "f1_interval" (see `wilson_interval` and `f1_interval`),
        "roc_auc" (one class against the others, mean over classes; None if a class does not occur), "log_loss" in nats,
        "calibration_error", "confusion_matrix" (row: true label, column: predicted label; of more than MAX_MATRIX
        classes in its place "confusions", see `most_confused`), "by_class" (see `scores_by_class`),
        "accuracy_by_length" (a list of dicts). Two classes: also "average_precision" of the last one.
    """
    from sklearn import metrics  # takes two seconds, which no other command should wait for

    probabilities = probabilities.astype(np.float64)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    predicted = probabilities.argmax(axis=1) if predicted is None else predicted
    ids = list(range(len(classes)))
    is_binary = len(classes) == 2
    if set(labels.tolist()) != set(ids):
        roc_auc = None
    elif is_binary:
        roc_auc = metrics.roc_auc_score(labels, probabilities[:, 1])
    else:
        roc_auc = metrics.roc_auc_score(labels, probabilities, multi_class="ovr", labels=ids)
    confusion = sparse.csr_array((np.ones(len(labels), int), (labels, predicted)), (len(classes), len(classes)))
    f1, interval = f1_interval(confusion)
    of_two = {"average_precision": average_precision(labels == 1, probabilities[:, 1])} if is_binary else {}
    return {
        "rows": len(labels),
        "accuracy": float((predicted == labels).mean()),
        "accuracy_interval": wilson_interval(int((predicted == labels).sum()), len(labels)),
        "f1": f1,
        "f1_interval": interval,
        "roc_auc": None if roc_auc is None else float(roc_auc),
        "log_loss": float(metrics.log_loss(labels, probabilities, labels=ids)),
        "calibration_error": calibration_error(labels, probabilities),
        **_confusions(confusion, classes),
        "by_class": scores_by_class(confusion, classes),
        "accuracy_by_length": accuracy_by_length(predicted == labels, texts),
        **of_two,
    }


def wilson_interval(successes: int, trials: int) -> tuple[float, float]:
    """Returns the 95 % interval of a proportion (Wilson 1927, "Probable Inference, the Law of Succession").

    (p + z^2 / 2n -+ z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n), with z = 1.96
    """
    p = successes / trials
    center = p + _Z**2 / (2 * trials)
    margin = _Z * math.sqrt(p * (1 - p) / trials + _Z**2 / (4 * trials**2))
    scale = 1 + _Z**2 / trials
    return max(0.0, (center - margin) / scale), min(1.0, (center + margin) / scale)


def _confusions(confusion: sparse.csr_array, classes: tuple[str, ...]) -> dict[str, list]:
    if len(classes) <= MAX_MATRIX:
        return {"confusion_matrix": confusion.toarray().tolist()}
    return {"confusions": most_confused(confusion, classes)}


def most_confused(confusion: sparse.csr_array, classes: tuple[str, ...]) -> list[dict]:
    """Returns the most frequent wrong predictions: dicts of "label", "predicted", "rows".

    Args:
        confusion: int [classes, classes], row: true label, column: predicted label.
    """
    label, predicted = confusion.nonzero()
    label, predicted = label[label != predicted], predicted[label != predicted]
    rows = np.asarray(confusion[label, predicted]).ravel()
    order = np.argsort(-rows, kind="stable")[:_MAX_CONFUSIONS]
    return [
        {"label": classes[label[i]], "predicted": classes[predicted[i]], "rows": int(rows[i])} for i in order.tolist()
    ]


def scores_by_class(confusion: np.ndarray | sparse.csr_array, classes: tuple[str, ...]) -> list[dict]:
    """Returns one dict per class: "class", "rows", "precision", "recall", "f1".

    Precision is None if the class is never predicted; recall and F1 are None if it does not occur.

    Args:
        confusion: int [classes, classes], row: true label, column: predicted label.
    """
    found = []
    counts = zip(*(each.tolist() for each in (confusion.diagonal(), confusion.sum(axis=1), confusion.sum(axis=0))))
    for name, (correct, rows, predicted) in zip(classes, counts, strict=True):
        found.append(
            {
                "class": name,
                "rows": rows,
                "precision": correct / predicted if predicted else None,
                "recall": correct / rows if rows else None,
                "f1": 2 * correct / (rows + predicted) if rows else None,
            }
        )
    return found


def most_frequent_classes(by_class: list[dict]) -> list[dict]:
    """Returns the classes with the most texts, in their order; up to MAX_MATRIX, that is all of them."""
    kept = sorted(range(len(by_class)), key=lambda i: -by_class[i]["rows"])[:MAX_MATRIX]
    return [by_class[i] for i in sorted(kept)]


def f1_interval(confusion: np.ndarray | sparse.csr_array) -> tuple[float | None, tuple[float, float] | None]:
    """Returns F1, and its 95 % interval by the bootstrap: percentiles over texts drawn with replacement.

    F1 is that of the last of two classes, else the mean over the classes that occur; None if no such class occurs. It
    depends on the confusion matrix alone, so the bootstrap draws confusion matrices from a multinomial distribution.

    Args:
        confusion: int [classes, classes], row: true label, column: predicted label.
    """
    num_classes = confusion.shape[0]
    used = [1] if num_classes == 2 else range(num_classes)
    rows = confusion.sum(axis=1)
    used = [i for i in used if rows[i]]
    if not used:
        return None, None
    label, predicted = confusion.nonzero()  # of each cell that is not zero
    counts = np.asarray(confusion[label, predicted]).ravel()
    total = int(counts.sum())
    draws = np.random.default_rng(0).multinomial(total, counts / total, size=_NUM_BOOTSTRAPS)
    values = _f1(np.concatenate([counts[None], draws]), label, predicted, num_classes, used)
    low, high = np.percentile(values[1:], [2.5, 97.5])
    return float(values[0]), (float(low), float(high))


def _f1(counts: np.ndarray, label: np.ndarray, predicted: np.ndarray, num_classes: int, used: list[int]) -> np.ndarray:
    """Returns the mean F1 of the classes `used` that occur, float [n], of n confusion matrices.

    Args:
        counts: of some cells of each matrix, int [n, cells]; the others are zero.
        label, predicted: row and column of each cell, int [cells].
    """
    ones, cells = np.ones(len(label), int), np.arange(len(label))
    shape = (len(label), num_classes)
    in_row, in_column = (sparse.csr_array((ones, (cells, each)), shape) for each in (label, predicted))
    is_right = label == predicted
    rows = (counts @ in_row)[:, used]
    correct = (counts[:, is_right] @ in_row[is_right])[:, used]
    f1 = np.where(rows > 0, 2 * correct / np.maximum(rows + (counts @ in_column)[:, used], 1), 0)
    return f1.sum(axis=1) / np.maximum((rows > 0).sum(axis=1), 1)


def reliability(labels: np.ndarray, probabilities: np.ndarray) -> list[dict]:
    """Returns the data of a reliability diagram: rows, mean probability and accuracy per bin of the probability."""
    score = probabilities.max(axis=1)
    correct = probabilities.argmax(axis=1) == labels
    bin_of = np.minimum((score * NUM_CALIBRATION_BINS).astype(int), NUM_CALIBRATION_BINS - 1)
    return [
        {
            "rows": int((bin_of == i).sum()),
            "score": float(score[bin_of == i].mean()),
            "accuracy": float(correct[bin_of == i].mean()),
        }
        for i in np.unique(bin_of)
    ]


def calibration_error(labels: np.ndarray, probabilities: np.ndarray) -> float:
    """Returns the expected calibration error (Guo et al. 2017, eq. 3).

    sum over bins of (rows / n) |accuracy - mean probability|
    """
    bins = reliability(labels, probabilities)
    return sum(b["rows"] * abs(b["accuracy"] - b["score"]) for b in bins) / len(labels)


def accuracy_by_length(correct: np.ndarray, texts: np.ndarray) -> list[dict]:
    """Returns rows and accuracy per group of lengths, in words between spaces; groups without texts are left out."""
    num_words = np.array([len(text.split()) for text in texts])
    group_of = np.searchsorted(LENGTHS, num_words)
    names = [f"up to {LENGTHS[0]}"]
    names += [f"{low + 1} to {high}" for low, high in zip(LENGTHS, LENGTHS[1:])]
    names += [f"over {LENGTHS[-1]}"]
    return [
        {"words": name, "rows": int((group_of == i).sum()), "accuracy": float(correct[group_of == i].mean())}
        for i, name in enumerate(names)
        if (group_of == i).any()
    ]
