from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from pipelines.classification import encoded
from pipelines.classification.config import ClassificationConfig
from pipelines.classification.linear_start import SparseStart, Start
from pipelines.classification.sizes import Sizes
from pipelines.labelled.labelled_splits import Labelled, LabelledSplits

CONFIG = ClassificationConfig(
    data="a.csv", preset="quick", max_ngrams=30, max_characters=0, start_weights="x"
).resolve()


@pytest.fixture
def found(monkeypatch):
    """Returns what is found of texts by a training that continues from a model with these n-grams."""

    def find(known, sizes=None, is_sparse=False):
        start = SimpleNamespace(hashes=np.array(known, np.int32))
        of_run = Sizes(num_ngrams=10, num_weights=5, num_telling=1, num_classes=101 if is_sparse else 2)
        monkeypatch.setattr(Sizes, "of_run", lambda config: of_run)
        for kind in (Start, SparseStart):
            monkeypatch.setattr(kind, "of_run", lambda config, num_classes: start)
        ids = tf.RaggedTensor.from_tensor(np.arange(4, 44, dtype=np.int32).reshape(10, 4))
        labels = np.arange(10, dtype=np.int32) % 2
        data = Labelled(np.array(["text"] * 10, object), labels)
        splits = LabelledSplits(data, data, None, ("a", "b"), {})
        result = encoded.Encoded(splits, {"ids": ids}, {"ids": ids}, {}, sizes=sizes)
        encoded.find_continued(CONFIG, result)
        return result

    return find


def test_known_ngrams_stay_and_those_of_the_new_texts_follow(found):
    result = found([3, 5, 7])
    hashes = result.counted.hashes
    assert {3, 5, 7} <= set(hashes) and len(hashes) == 33 and (np.diff(hashes) > 0).all()
    assert result.sizes.num_ngrams == 33 and len(result.hashed) == len(result.hashed_valid) == 10
    again = result.counted
    encoded.find_continued(CONFIG, result)
    assert result.counted is again


def test_the_number_of_ngrams_has_a_limit(found):
    assert found(range(55)).sizes.num_ngrams == 60  # twice --max-ngrams
    assert found(range(70)).sizes.num_ngrams == 70
    assert len(found(range(20), Sizes(25, 1, 1, 2)).counted.hashes) == 25  # of a training that is repeated


def test_a_model_whose_weights_are_not_all_stored_has_room_for_more(found):
    result = found([3], is_sparse=True)
    assert 3 in result.counted.hashes and result.sizes.num_ngrams == len(result.counted.hashes) == 31
    assert result.sizes.num_weights == 5 + 60  # of two labels and 30 n-grams
