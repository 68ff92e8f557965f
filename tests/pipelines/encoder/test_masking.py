import numpy as np

from pipelines.encoder.config import EncoderConfig
from pipelines.encoder.masking import masked_batches
from pipelines.text.special_tokens import MASK

CONFIG = EncoderConfig(direction="bidirectional", window=20, batch_size=4, mask_rate=0.25, seed=3).resolve()
IDS = np.random.default_rng(0).integers(4, 100, 4000).astype("int32")


def read(epoch=0, skip=0):
    return list(masked_batches(CONFIG, 100, IDS, epoch, skip).as_numpy_iterator())


def test_a_fixed_share_of_each_window_is_to_predict():
    batches = read()
    for inputs, targets in batches:
        assert inputs["ids"].shape == (4, 20) and inputs["positions"].shape == targets.shape == (4, 5)
        assert all(len(set(row)) == 5 for row in inputs["positions"].tolist())
    assert len(batches) == (4000 - 20) // 4 // 20


def test_of_the_tokens_to_predict_80_percent_are_masked_10_replaced_and_10_unchanged():
    pairs = [(np.take_along_axis(x["ids"], x["positions"], 1), y) for epoch in range(4) for x, y in read(epoch)]
    inputs, targets = (np.concatenate(part).ravel() for part in zip(*pairs, strict=True))
    n = len(targets)
    for share, expected in (((inputs == MASK).mean(), 0.8), ((inputs == targets).mean(), 0.1 + 0.1 / 96)):
        assert abs(share - expected) < 4 * np.sqrt(expected * (1 - expected) / n)


def test_the_other_tokens_are_those_of_the_text():
    windows = np.lib.stride_tricks.sliding_window_view(IDS, 20)
    inputs, targets = read()[0]
    text = inputs["ids"].copy()
    np.put_along_axis(text, inputs["positions"], targets, axis=1)
    assert all((windows == row).all(axis=1).any() for row in text)


def test_an_epoch_is_a_pure_function_of_seed_epoch_and_step():
    for (x, y), (x_again, y_again) in zip(read(epoch=2, skip=3), read(epoch=2)[3:], strict=True):
        np.testing.assert_array_equal(x["ids"], x_again["ids"])
        np.testing.assert_array_equal(x["positions"], x_again["positions"])
        np.testing.assert_array_equal(y, y_again)
    assert (read(epoch=1)[0][0]["ids"] != read(epoch=2)[0][0]["ids"]).any()
