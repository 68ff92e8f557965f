import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import unroll
from pipelines.data import sample_reviews

SMALL = {"preset": "quick", "size": "tiny", "vocabulary_size": 200, "hidden_size": 16, "verbose": False}


@pytest.mark.long
def test_it_learns_from_texts_and_encodes_them():
    texts = sample_reviews.generate(300)[0]
    encoder = unroll.TextEncoder(**SMALL).fit(texts)
    vectors = encoder.encode(texts[:3])
    assert vectors.shape[0] == 3 and vectors.dtype == np.float32
    np.testing.assert_array_equal(encoder.transform(texts[:3]), vectors)
    assert encoder.card_["rows"]["train"] + encoder.card_["rows"]["valid"] == 300


@pytest.mark.parametrize(("X", "part"), [([], "no texts"), ("nowhere.csv", "no such file"), ([None], "position 0")])
def test_texts_that_cannot_be_learned_from_are_refused(X, part):
    with pytest.raises(unroll.UserError, match=part):
        unroll.TextEncoder(**SMALL).fit(X)


def test_before_fit_it_encodes_nothing():
    with pytest.raises(NotFittedError):
        unroll.TextEncoder().encode(["a"])
