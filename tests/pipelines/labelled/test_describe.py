import numpy as np
import pytest
import tensorflow as tf

from pipelines.classification.config import ClassificationConfig
from pipelines.data.fields import BETWEEN, NUMBER, Field
from pipelines.labelled.describe import class_weight, describe_outputs, describe_splits
from pipelines.labelled.labelled_splits import Labelled, LabelledSplits
from pipelines.labelled.outputs import Decision, label_outputs, with_top_classes


def test_class_weights_give_all_classes_the_same_weight():
    data = Labelled(np.array(["text"] * 40, dtype=object), np.array([0] * 30 + [1] * 10, np.int32))
    splits = LabelledSplits(data, data, None, ("no", "yes"), {})
    assert class_weight(ClassificationConfig(), splits) is None
    assert class_weight(ClassificationConfig(class_weights=True), splits) == {
        0: pytest.approx(40 / 60),
        1: pytest.approx(2.0),
    }
    with_kept = LabelledSplits(data, data, None, ("no", "yes", "kept"), {})  # no text has the last one
    weights = class_weight(ClassificationConfig(class_weights=True), with_kept)
    assert weights == class_weight(ClassificationConfig(class_weights=True), splits) | {2: pytest.approx(20.0)}
    described = describe_splits(ClassificationConfig(), splits)
    assert described == {
        "example": '"text"',
        "example_text": "text",
        "classes": ["no", "yes"],
        "outputs": describe_outputs(ClassificationConfig(), 2),
        "rows": {"train": 40, "valid": 40},
        "class_rows": {"no": 30, "yes": 10},
        "notes": {},
        "findings": {},
        "prepared": False,
    }


def test_a_model_of_several_columns_has_an_example_of_each():
    texts = np.array([BETWEEN.join(("a title", "na nb"))] * 4, dtype=object)
    data = Labelled(texts, np.array([0, 1, 0, 1], np.int32))
    columns = (Field("title"), Field("price", NUMBER, (1.0, 2.0)))
    described = describe_splits(
        ClassificationConfig(), LabelledSplits(data, data, None, ("no", "yes"), {}, fields=columns)
    )
    assert described["example_row"] == {"title": "a title", "price": 2.0} and "example_text" not in described


@pytest.mark.parametrize(
    ("settings", "decision"),
    [
        ({}, Decision()),
        ({"label_type": "ordinal"}, Decision(ordinal=True)),
        ({"label_type": "number"}, Decision(number=(0.0, 1.0))),
        ({"labels_separator": "|"}, Decision(multi_label=True)),
        ({"labels_separator": "|", "threshold": "0.4"}, Decision(multi_label=True, thresholds=(0.4,) * 3)),
        ({"threshold": "precision=0.9"}, Decision(thresholds=(0.4,))),
    ],
)
@pytest.mark.parametrize("num_classes", [2, 3])
def test_every_output_is_described(settings, decision, num_classes):
    classes = tf.constant(["1", "2", "3"][:num_classes])
    if decision.multi_label and decision.thresholds:
        decision = decision._replace(thresholds=decision.thresholds[:num_classes])
    outputs = with_top_classes(label_outputs(tf.zeros([1, num_classes]), classes, decision), classes)
    described = describe_outputs(ClassificationConfig(data="a.csv", **settings), num_classes)
    assert set(described) == set(outputs) and all(described.values())
