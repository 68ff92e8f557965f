import numpy as np
import pytest

from pipelines.support.errors import UserError
from pipelines.transfer import data
from pipelines.transfer.config import TransferConfig


def test_balanced_rows_have_as_many_of_each_class_as_possible():
    labels = np.array([0] * 50 + [1] * 10 + [2] * 2)
    rows = data.balanced_rows(labels, 30, seed=1)
    assert np.bincount(labels[rows]).tolist() == [18, 10, 2] and len(set(rows)) == 30
    assert set(data.balanced_rows(labels, 12, seed=1)) <= set(rows)


def test_at_most_max_labels_texts_are_left_to_train_on():
    config = TransferConfig(encoder="unused", max_labels=20)
    assert len(data.load(config).train) == 20
    with pytest.raises(UserError, match="--max-labels 1: it must be 0, for all, or at least 2"):
        data.load(TransferConfig(encoder="unused", max_labels=1))
