import pickle

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import unroll
from tests.pipelines.pretrained.checkpoints import TEXTS, write_bert


@pytest.mark.long
def test_a_checkpoint_is_a_function_of_texts_and_a_step_of_a_pipeline(tmp_path):
    encoder = unroll.load_encoder(str(write_bert(tmp_path)))
    vectors = encoder(TEXTS)
    assert vectors.shape == (len(TEXTS), 8) and vectors.dtype == np.float32
    np.testing.assert_allclose(encoder.encode(TEXTS[:1])[0], vectors[0], atol=1e-6)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(encoder)).handle, encoder.handle)
    pipeline = make_pipeline(encoder, LogisticRegression(C=100))
    assert pipeline.fit(TEXTS * 2, [0, 1, 1, 0] * 2).predict(TEXTS[:2]).tolist() == [0, 1]


def test_mistakes_are_user_errors():
    with pytest.raises(unroll.UserError, match="there is no such folder"):
        unroll.load_encoder("nowhere").encode(["a"])
    with pytest.raises(unroll.UserError, match="hf://ORG/NAME"):
        unroll.load_encoder("hf://x").encode(["a"])
