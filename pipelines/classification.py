"""Measures of a classifier, from its probabilities."""

import numpy as np

LENGTHS = (50, 100, 200, 400)  # upper ends, in words, of the classes of length; longer texts are the last one
CALIBRATION_BINS = 15


def measures(labels: np.ndarray, probabilities: np.ndarray, classes: tuple[str, ...], texts: np.ndarray) -> dict:
    """All of a classifier's measures on one set of texts.

    Args:
        labels: int [n], ids of the true classes.
        probabilities: float [n, classes].
        classes: their names.
        texts: object [n] of str, for the accuracy by length.

    Returns:
        "rows", "accuracy", "f1" (of the last class where there are two, else the mean over classes), "roc_auc" (one class
        against the rest, mean over classes; None where a class does not occur), "log_loss" in nats, "calibration_error",
        "confusion_matrix" (rows: truth, columns: answer), "accuracy_by_length" (a list of dicts).
    """
    from sklearn import metrics  # here: two seconds that no other command should wait for

    probabilities = probabilities.astype(np.float64)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    answers = probabilities.argmax(axis=1)
    ids = list(range(len(classes)))
    two = len(classes) == 2
    if set(labels.tolist()) != set(ids):
        roc_auc = None
    elif two:
        roc_auc = metrics.roc_auc_score(labels, probabilities[:, 1])
    else:
        roc_auc = metrics.roc_auc_score(labels, probabilities, multi_class="ovr", labels=ids)
    f1 = metrics.f1_score(labels, answers, labels=[1] if two else ids, average="macro", zero_division=0.0)
    return {
        "rows": len(labels),
        "accuracy": float((answers == labels).mean()),
        "f1": float(f1),
        "roc_auc": None if roc_auc is None else float(roc_auc),
        "log_loss": float(metrics.log_loss(labels, probabilities, labels=ids)),
        "calibration_error": calibration_error(labels, probabilities),
        "confusion_matrix": metrics.confusion_matrix(labels, answers, labels=ids).tolist(),
        "accuracy_by_length": accuracy_by_length(answers == labels, texts),
    }


def reliability(labels: np.ndarray, probabilities: np.ndarray) -> list[dict]:
    """What a reliability diagram shows: for each bin of the answer's probability its rows, mean probability and accuracy."""
    score = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == labels
    which = np.minimum((score * CALIBRATION_BINS).astype(int), CALIBRATION_BINS - 1)
    return [
        {"rows": int((which == i).sum()), "score": float(score[which == i].mean()), "accuracy": float(right[which == i].mean())}
        for i in np.unique(which)
    ]


def calibration_error(labels: np.ndarray, probabilities: np.ndarray) -> float:
    """Expected calibration error: sum over bins of (rows / n) |accuracy - mean probability| (Guo et al. 2017, eq. 3)."""
    bins = reliability(labels, probabilities)
    return sum(b["rows"] * abs(b["accuracy"] - b["score"]) for b in bins) / len(labels)


def accuracy_by_length(right: np.ndarray, texts: np.ndarray) -> list[dict]:
    """Accuracy in classes of length, counted in words between spaces; classes without texts are left out."""
    words = np.array([len(text.split()) for text in texts])
    which = np.searchsorted(LENGTHS, words)
    names = [f"{low + 1} to {high}" for low, high in zip((-1, *LENGTHS), LENGTHS)] + [f"over {LENGTHS[-1]}"]
    names[0] = f"up to {LENGTHS[0]}"
    return [
        {"words": names[i], "rows": int((which == i).sum()), "accuracy": float(right[which == i].mean())}
        for i in range(len(names))
        if (which == i).any()
    ]
