"""Measures of a classifier, computed from its probabilities."""

import numpy as np

from pipelines.labelled.splits import LabelledSplits

LENGTHS = (50, 100, 200, 400)  # upper limits, in words, of the groups of lengths; longer texts are the last group
NUM_CALIBRATION_BINS = 15


def measure(config, splits: LabelledSplits, encoded, servable, best_row: dict) -> tuple[dict[str, dict], dict]:
    """Scores the servable of a classifier; the `measure` of tasks on labelled texts.

    Returns:
        ({"validation": scores, "test": scores where there is a test set}, {"valid", "probabilities"} for the report).
    """
    from pipelines.export.signatures import (
        BatchedSignature,
    )  # imports TensorFlow, which `evaluate` does later and without its messages

    classify = BatchedSignature(servable.signatures()["serving_default"])
    parts = {"validation": splits.valid} | ({"test": splits.test} if splits.test else {})
    scores, probabilities = {}, {}
    for name, part in parts.items():
        probabilities[name] = classify(part.texts)["probabilities"]
        scores[name] = compute_scores(part.labels, probabilities[name], splits.classes, part.texts)
    return scores, {"valid": splits.valid, "probabilities": probabilities["validation"]}


def compute_scores(labels: np.ndarray, probabilities: np.ndarray, classes: tuple[str, ...], texts: np.ndarray) -> dict:
    """Returns all measures of a classifier on one set of texts.

    Args:
        labels: int [n], ids of the true classes.
        probabilities: float [n, classes].
        classes: names of the classes.
        texts: object [n] of str, for the accuracy by length.

    Returns:
        "rows", "accuracy", "f1" (of the last of two classes, else the mean over classes), "roc_auc" (one class against
        the others, mean over classes; None if a class does not occur), "log_loss" in nats, "calibration_error",
        "confusion_matrix" (row: true label, column: predicted label), "accuracy_by_length" (a list of dicts).
    """
    from sklearn import metrics  # takes two seconds, which no other command should wait for

    probabilities = probabilities.astype(np.float64)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    predicted = probabilities.argmax(axis=1)
    ids = list(range(len(classes)))
    is_binary = len(classes) == 2
    if set(labels.tolist()) != set(ids):
        roc_auc = None
    elif is_binary:
        roc_auc = metrics.roc_auc_score(labels, probabilities[:, 1])
    else:
        roc_auc = metrics.roc_auc_score(labels, probabilities, multi_class="ovr", labels=ids)
    f1 = metrics.f1_score(labels, predicted, labels=[1] if is_binary else ids, average="macro", zero_division=0.0)
    return {
        "rows": len(labels),
        "accuracy": float((predicted == labels).mean()),
        "f1": float(f1),
        "roc_auc": None if roc_auc is None else float(roc_auc),
        "log_loss": float(metrics.log_loss(labels, probabilities, labels=ids)),
        "calibration_error": calibration_error(labels, probabilities),
        "confusion_matrix": metrics.confusion_matrix(labels, predicted, labels=ids).tolist(),
        "accuracy_by_length": accuracy_by_length(predicted == labels, texts),
    }


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
