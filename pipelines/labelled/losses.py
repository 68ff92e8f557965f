"""Loss and metric of classifiers: arguments of `keras.Model.compile`. Models return logits [batch, classes]."""

from typing import Any

import keras
from keras import ops


def one_label() -> dict[str, Any]:
    """Cross-entropy, in nats, and accuracy; labels are ids int32 [batch]."""
    return {
        "loss": keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        "metrics": [keras.metrics.SparseCategoricalAccuracy("accuracy")],
    }


def several_labels() -> dict[str, Any]:
    """Mean cross-entropy of the decisions on each label, in nats, and the fraction of these decisions that are correct
    with thresholds of 0.5; labels are int32 [batch, classes] of 0 and 1.
    """
    return {
        "loss": keras.losses.BinaryCrossentropy(from_logits=True),
        "metrics": [keras.metrics.MeanMetricWrapper(_correct_decisions, name="accuracy")],
    }


def _correct_decisions(labels, logits):
    correct = ops.equal(ops.cast(labels, "bool"), logits > 0)  # [batch, classes]
    return ops.mean(ops.cast(correct, "float32"), axis=-1)
