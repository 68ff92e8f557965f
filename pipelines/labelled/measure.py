"""Scores the servable of a classifier."""

from typing import Any

import numpy as np

from pipelines.labelled import abstention, metrics, multi_label_metrics, number_labels, number_scores, ratings
from pipelines.labelled.baseline import add_baselines
from pipelines.labelled.labelled_splits import Labelled, LabelledSplits

ANY_LABEL = ""  # whose threshold is that of all labels


def measure(config, splits: LabelledSplits, encoded, servable, best_row: dict) -> tuple[dict[str, dict], dict]:
    """Scores the servable of a classifier; the `measure` of tasks on labelled texts.

    The probabilities of the validation texts are by factors that were fitted to others of them (see calibration.py).

    Returns:
        ({"validation": scores, "test": scores where there is a test set}, {"valid", "probabilities", "predicted"} for
        the report: of the validation texts). The scores have "temperature", which divides the logits, and "thresholds"
        (label -> probability) if the servable has thresholds; those of the validation texts "members" (see Calibration)
        if several models answer together.
    """
    if config.label_type == "number":
        return _measure_numbers(config, splits, servable)
    # This imports TensorFlow, which `evaluate` does later and without its messages.
    from pipelines.export.signatures import BatchedSignature, of_texts

    parts = {"validation": splits.valid} | ({"test": splits.test} if splits.test else {})
    scores, results = {}, {}
    for name, part in parts.items():
        if name == "validation":
            outputs = _by_factors_of_others(servable, splits.classes)
        else:
            outputs = BatchedSignature(of_texts(servable.signatures()))(part.texts)
        results[name] = {"probabilities": outputs["probabilities"], "predicted": predicted(outputs, splits.classes)}
        scores[name] = compute_scores(part, outputs, splits.classes, servable.decision.ordinal)
        scores[name] |= _decision(servable.decision, splits.classes)
        if name == "validation" and servable.calibration.members:
            # TensorFlow wraps the dicts of what a servable keeps.
            scores[name]["members"] = [dict(each) for each in servable.calibration.members]
    if not config.no_baseline and not splits.sharded:
        # A threshold trades accuracy for something else: the baselines are compared without it.
        labels = {
            name: each["predicted"] if splits.multi_label else each["probabilities"].argmax(axis=1)
            for name, each in results.items()
        }
        add_baselines(scores, splits, labels, config.class_weights)
    return scores, {"valid": splits.valid, **results["validation"]}


def _measure_numbers(config, splits: LabelledSplits, servable) -> tuple[dict[str, dict], dict]:
    """As `measure`, of a model of numbers; the details are "valid" and the predicted "numbers" of its texts."""
    from pipelines.export.signatures import BatchedSignature, of_texts

    expected = number_labels.expected(servable.calibration.probabilities, splits.classes)
    limits = float(splits.classes[0]), float(splits.classes[-1])
    predicted = {"validation": number_labels.by_line_of_others(expected, splits.valid.numbers, limits)}
    if splits.test:
        predicted["test"] = BatchedSignature(of_texts(servable.signatures()))(splits.test.texts)["value"]
    parts = {"validation": splits.valid, "test": splits.test}
    scores = {name: number_scores.compute_scores(parts[name].numbers, each) for name, each in predicted.items()}
    if not config.no_baseline:
        number_scores.add_baselines(scores, splits, predicted)
    return scores, {"valid": splits.valid, "numbers": predicted["validation"]}


def _by_factors_of_others(servable, classes: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Returns the outputs for the validation texts by factors that were fitted to other texts; see calibration.py."""
    probabilities = servable.calibration.probabilities
    ids = servable.decision.label_ids(probabilities)
    names = np.array([*classes, ""], dtype=object)  # -1 is the last one
    if servable.decision.multi_label:
        labels = {"labels": np.where(ids == 1, names[:-1], "")}
    else:
        of_labels = np.where(ids < 0, probabilities.argmax(axis=1), ids)  # a text without a label has its highest score
        score = np.take_along_axis(probabilities, of_labels[:, None], axis=1)[:, 0]
        labels = {"label": names[ids], "score": score}
    if servable.decision.abstains(len(classes)):
        labels["abstained"] = ids < 0
    return {"probabilities": probabilities, **labels}


def compute_scores(
    data: Labelled, outputs: dict[str, np.ndarray], classes: tuple[str, ...], ordinal: bool = False
) -> dict[str, Any]:
    """Returns the scores of `metrics.compute_scores`, or of `multi_label_metrics.compute_scores`.

    Where texts may have no label, they are the scores of the most probable labels, and "abstention" has those of the
    labels that are given (see abstention.py). Few labels that are numbers also have "ratings".

    Args:
        outputs: of the classifier's default signature for the texts.
        classes: names of the classes.
        ordinal: whether they are in order, whatever their number.
    """
    labels, probabilities = predicted(outputs, classes), outputs["probabilities"]
    if "labels" in outputs:
        return multi_label_metrics.compute_scores(data.labels, labels, probabilities, classes)
    scores = metrics.compute_scores(data.labels, probabilities, classes, data.texts, labels)
    if ordinal or ratings.may_be_ratings(classes):
        scores["ratings"] = ratings.compute_scores(data.labels, labels, classes)
    if "abstained" in outputs:
        scores["abstention"] = abstention.compute_scores(~outputs["abstained"], data.labels, probabilities)
    return scores


def predicted(outputs: dict[str, np.ndarray], classes: tuple[str, ...]) -> np.ndarray:
    """Returns the ids of the labels in the outputs of a classifier.

    Returns:
        Int [n], of a text without label the id of its most probable one; with several labels per text, int [n, classes]
        of 0 and 1.
    """
    if "labels" in outputs:
        return np.stack([(outputs["labels"] == name).any(axis=1) for name in classes], axis=1).astype(np.int32)
    if "abstained" in outputs:
        return outputs["probabilities"].argmax(axis=1)
    index = {name: i for i, name in enumerate(classes)}
    return np.array([index[label] for label in outputs["label"]])


def _decision(decision, classes: tuple[str, ...]) -> dict[str, Any]:
    temperature = {"temperature": 1 / decision.scale}
    if not decision.thresholds:
        return temperature
    if decision.abstains(len(classes)):
        return temperature | {"thresholds": {ANY_LABEL: decision.thresholds[0]}}
    labels = classes if decision.multi_label else classes[1:]
    return temperature | {"thresholds": dict(zip(labels, decision.thresholds, strict=True))}
