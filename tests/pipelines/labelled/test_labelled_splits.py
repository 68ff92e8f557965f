import types

import numpy as np
import pytest

from pipelines.labelled.labelled_splits import Labelled, LabelledSplits, ShardedTexts


def labelled(texts, labels, num_generated=0, weights=None):
    return Labelled(np.array(texts, object), np.array(labels, np.int32), num_generated, weights)


def test_other_texts_come_before_the_generated_ones():
    train = labelled(["a", "b", "generated"], [0, 1, 1], num_generated=1)
    joined = train.with_texts(labelled(["c"], [0]))
    assert joined.texts.tolist() == ["a", "b", "c", "generated"] and joined.labels.tolist() == [0, 1, 0, 1]
    assert (joined.num_real, joined.num_generated, joined.weights) == (3, 1, None)


@pytest.mark.parametrize(("others", "expected"), [(None, [2, 3, 1, 4]), ([5.0], [2, 3, 5, 4])])
def test_texts_without_weights_weigh_one(others, expected):
    train = labelled(["a", "b", "generated"], [0, 1, 1], 1, np.array([2.0, 3.0, 4.0]))
    weights = None if others is None else np.array(others)
    assert train.with_texts(labelled(["c"], [0], weights=weights)).weights.tolist() == expected


def test_several_labels_per_text_are_seen_in_the_labels():
    one, several = labelled(["a"], [1]), labelled(["a"], [[0, 1]])
    assert not LabelledSplits(one, one, None, ("x", "y"), {}).multi_label
    assert LabelledSplits(several, several, None, ("x", "y"), {}).multi_label


def test_training_texts_are_in_memory_or_in_shards():
    valid = labelled(["a", "b"], [0, 1])
    prepared = types.SimpleNamespace(rows={"train": 7}, details={"class_rows": [3, 4]})
    assert LabelledSplits(valid, valid, None, ("x", "y"), {}).sharded is None
    splits = LabelledSplits(ShardedTexts(prepared), valid, None, ("x", "y"), {})
    assert splits.sharded is prepared and len(splits.train) == 7
    assert splits.train.rows_of_classes(2) == [3, 4] and valid.rows_of_classes(2) == [1, 1]
