import numpy as np
import pytest

from pipelines.language_model.metrics import language_model_measures


def test_measures_by_hand():
    losses = np.full((1, 10), np.log(4), np.float32)
    measures = language_model_measures(losses, characters=20, unknown_tokens=3)
    assert measures["perplexity"] == pytest.approx(4) and measures["loss"] == pytest.approx(np.log(4))
    assert measures["bits_per_character"] == pytest.approx(1)  # 10 tokens of 2 bits each for 20 characters
    assert (measures["tokens"], measures["characters"], measures["unknown_tokens"]) == (10, 20, 3)
