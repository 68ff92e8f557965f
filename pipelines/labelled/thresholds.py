"""Calibrates a classifier, and chooses the probabilities from which a text has a label, on validation texts."""

from collections.abc import Callable

import numpy as np

from pipelines.labelled import abstention, number_labels, precision_recall
from pipelines.labelled.calibration import Calibration, calibrate, logits_of
from pipelines.labelled.config import LabelledConfig, ThresholdChoice, parse_threshold
from pipelines.labelled.labelled_splits import LabelledSplits
from pipelines.labelled.outputs import Decision
from pipelines.support import console

MIN_ROWS = 10  # validation texts with a label, for a threshold of its own
_DEFAULT = 0.5


def decide(
    config: LabelledConfig, splits: LabelledSplits, make_servable: Callable, calibration: Calibration | None = None
):
    """Returns the servable with calibrated probabilities and the thresholds of `config`.

    Its attribute `calibration` has the probabilities of the validation texts that scores are computed from.

    Args:
        make_servable: `Decision` -> servable with a function `classify`.
        calibration: of its logits; None: it is fitted here.
    """
    multi_label = splits.multi_label
    if calibration is None:
        logits = logits_of(_probabilities(make_servable(Decision(multi_label)), splits), multi_label)
        calibration = calibrate([logits], splits.valid.labels)
    decision = Decision(multi_label, scale=sum(calibration.factors), ordinal=config.label_type == "ordinal")
    if config.label_type == "number":
        expected = number_labels.expected(calibration.probabilities, splits.classes)
        decision = decision._replace(number=number_labels.line(expected, splits.valid.numbers))
    if config.threshold is not None or multi_label:
        choice = parse_threshold(config.threshold) if config.threshold else ThresholdChoice()
        decision = decision._replace(thresholds=_thresholds(config, splits, choice, calibration.probabilities))
    servable = make_servable(decision)
    servable.calibration = calibration
    return servable


def _thresholds(
    config: LabelledConfig, splits: LabelledSplits, choice: ThresholdChoice, probabilities: np.ndarray
) -> tuple[float, ...]:
    if choice.value is not None:
        return (choice.value,) * (len(splits.classes) if splits.multi_label else 1)
    if splits.multi_label:
        thresholds = choose_for_labels(choice, splits.valid.labels, probabilities)
    elif len(splits.classes) == 2:
        thresholds = (choose(choice, splits.valid.labels == 1, probabilities[:, 1]),)
    else:
        thresholds = (abstention.choose(choice.precision, splits.valid.labels, probabilities),)
    if config.threshold is not None:
        splits.notes.update(dict.fromkeys(_not_chosen(choice, splits, probabilities), 0))
    return thresholds


def _probabilities(servable, splits: LabelledSplits) -> np.ndarray:
    """Returns the probabilities of the validation texts, float64 [n, classes]."""
    from pipelines.export.signatures import BatchedSignature  # imports TensorFlow

    classify = BatchedSignature(servable.classify.get_concrete_function())
    return classify(splits.valid.texts)["probabilities"].astype(np.float64)


def _not_chosen(choice: ThresholdChoice, splits: LabelledSplits, probabilities: np.ndarray) -> list[str]:
    """Says, and returns, which thresholds of --threshold are not what was asked for."""
    if not splits.multi_label and len(splits.classes) > 2:
        lines = abstention.not_reached(choice.precision, splits.valid.labels, probabilities)
        for line in lines:
            console.say(f"note: {line}")
        return lines
    has_label = splits.valid.labels if splits.multi_label else splits.valid.labels[:, None]  # [n, labels]
    probabilities = probabilities if splits.multi_label else probabilities[:, 1:]
    names = splits.classes if splits.multi_label else splits.classes[1:]
    lines = []
    for name, labels, of_label in zip(names, has_label.T, probabilities.T, strict=True):
        if not labels.any():
            lines.append(f"no validation text has the label {name!r}: its threshold is not chosen by its texts")
        elif choice.precision is not None:
            curve = precision_recall.curve(labels == 1, of_label)
            if precision_recall.highest_recall(curve, choice.precision) is None:
                highest = float(curve.precision[precision_recall.highest_precision(curve)])
                lines.append(
                    f"no threshold of {name!r} has a precision of {choice.precision:g}: the highest is {highest:.3f}"
                )
    for line in lines:
        console.say(f"note: {line}")
    return lines


def choose_for_labels(choice: ThresholdChoice, labels: np.ndarray, probabilities: np.ndarray) -> tuple[float, ...]:
    """Returns one threshold per class.

    A class with fewer than MIN_ROWS texts says too little: it gets the threshold that is best for the decisions on all
    classes together.

    Args:
        labels: int [n, classes] of 0 and 1.
        probabilities: float [n, classes].
    """
    shared = choose(choice, labels.ravel() == 1, probabilities.ravel())
    return tuple(
        choose(choice, has_label == 1, of_class) if has_label.sum() >= MIN_ROWS else shared
        for has_label, of_class in zip(labels.T, probabilities.T, strict=True)
    )


def choose(choice: ThresholdChoice, has_label: np.ndarray, probabilities: np.ndarray) -> float:
    """Chooses the threshold of one class.

    With a minimum precision, it is the threshold with the highest recall; if none has this precision, that with the
    highest precision. Else it is that with the highest F1.

    Args:
        has_label: bool [n].
        probabilities: float [n].

    Returns:
        The threshold; 0.5 if no text has the label.
    """
    if not has_label.any():
        return _DEFAULT
    curve = precision_recall.curve(has_label, probabilities)
    if choice.precision is None:
        best = precision_recall.best_f1(curve)
    else:
        best = precision_recall.highest_recall(curve, choice.precision)
        best = precision_recall.highest_precision(curve) if best is None else best
    return float(curve.threshold[best])
