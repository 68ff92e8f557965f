"""Scores the servable of a classifier."""

from typing import Any

import numpy as np

from pipelines.labelled import metrics, multi_label_metrics
from pipelines.labelled.baseline import add_baselines
from pipelines.labelled.splits import Labelled, LabelledSplits


def measure(config, splits: LabelledSplits, encoded, servable, best_row: dict) -> tuple[dict[str, dict], dict]:
    """Scores the servable of a classifier; the `measure` of tasks on labelled texts.

    Returns:
        ({"validation": scores, "test": scores where there is a test set}, {"valid", "probabilities", "predicted"} for
        the report: of the validation texts). The scores have "thresholds" (label -> probability) if the servable has
        thresholds.
    """
    # This imports TensorFlow, which `evaluate` does later and without its messages.
    from pipelines.export.signatures import BatchedSignature

    classify = BatchedSignature(servable.signatures()["serving_default"])
    parts = {"validation": splits.valid} | ({"test": splits.test} if splits.test else {})
    scores, results = {}, {}
    for name, part in parts.items():
        outputs = classify(part.texts)
        results[name] = {"probabilities": outputs["probabilities"], "predicted": predicted(outputs, splits.classes)}
        scores[name] = compute_scores(part, outputs, splits.classes) | _thresholds(servable.decision, splits.classes)
    if not config.no_baseline and not splits.sharded:
        labels = {name: each["predicted"] for name, each in results.items()}
        add_baselines(scores, splits, labels, config.class_weights)
    return scores, {"valid": splits.valid, **results["validation"]}


def compute_scores(data: Labelled, outputs: dict[str, np.ndarray], classes: tuple[str, ...]) -> dict[str, Any]:
    """Returns the scores of `metrics.compute_scores`, or of `multi_label_metrics.compute_scores`.

    Args:
        outputs: of the classifier's default signature for the texts.
        classes: names of the classes.
    """
    labels, probabilities = predicted(outputs, classes), outputs["probabilities"]
    if "labels" in outputs:
        return multi_label_metrics.compute_scores(data.labels, labels, probabilities, classes)
    return metrics.compute_scores(data.labels, probabilities, classes, data.texts, labels)


def predicted(outputs: dict[str, np.ndarray], classes: tuple[str, ...]) -> np.ndarray:
    """Returns the ids of the labels in the outputs of a classifier.

    Returns:
        Int [n]; with several labels per text, int [n, classes] of 0 and 1.
    """
    if "labels" in outputs:
        return np.stack([(outputs["labels"] == name).any(axis=1) for name in classes], axis=1).astype(np.int32)
    index = {name: i for i, name in enumerate(classes)}
    return np.array([index[label] for label in outputs["label"]])


def _thresholds(decision, classes: tuple[str, ...]) -> dict[str, dict[str, float]]:
    if not decision.thresholds:
        return {}
    labels = classes if decision.multi_label else classes[1:]
    return {"thresholds": dict(zip(labels, decision.thresholds, strict=True))}
