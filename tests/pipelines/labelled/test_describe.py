import numpy as np
import pytest

from pipelines.classification.config import ClassificationConfig
from pipelines.labelled.describe import class_weight, describe_splits
from pipelines.labelled.labelled_splits import Labelled, LabelledSplits


def test_class_weights_give_all_classes_the_same_weight():
    data = Labelled(np.array(["text"] * 40, dtype=object), np.array([0] * 30 + [1] * 10, np.int32))
    splits = LabelledSplits(data, data, None, ("no", "yes"), {})
    assert class_weight(ClassificationConfig(), splits) is None
    assert class_weight(ClassificationConfig(class_weights=True), splits) == {
        0: pytest.approx(40 / 60),
        1: pytest.approx(2.0),
    }
    assert describe_splits(splits) == {
        "example": '"text"',
        "classes": ["no", "yes"],
        "rows": {"train": 40, "valid": 40},
        "class_rows": {"no": 30, "yes": 10},
        "notes": {},
        "findings": {},
        "prepared": False,
    }
