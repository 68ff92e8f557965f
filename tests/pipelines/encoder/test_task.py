import numpy as np
import pytest

from pipelines.encoder import task
from pipelines.encoder.config import EncoderConfig
from pipelines.support.errors import UserError

LINES = [f"text number {i} of the cat and the dog" for i in range(100)]


def resolve(**flags):
    return EncoderConfig(**({"vocabulary_size": 60, "window": 8, "batch_size": 4} | flags)).resolve()


def test_texts_that_are_too_few_are_refused(tmp_path):
    (tmp_path / "a.txt").write_text("\n".join(LINES))
    config = resolve(data=str(tmp_path / "a.txt"), batch_size=4000)
    splits = task.load(config)
    with pytest.raises(UserError, match="too few to train on with 4000 streams of 8 tokens"):
        task.encode(config, splits, task.make_tokenizer(config, splits), tmp_path)


def test_the_measures_are_the_loss_and_perplexity_of_the_best_epoch():
    encoded = task.Encoded(np.zeros(50, np.int32), np.zeros(7, np.int32), 60)
    scores, _ = task.measure(resolve(), None, encoded, None, {"epoch": 3, "loss": 9.0, "val_loss": 1.5})
    assert scores == {"validation": {"tokens": 7, "loss": 1.5, "perplexity": pytest.approx(np.exp(1.5))}}


def test_a_causal_model_for_training_carries_states_and_a_bidirectional_one_does_not():
    assert task.needs_inference_model(resolve(direction="causal"))
    assert not task.needs_inference_model(resolve(direction="bidirectional"))
