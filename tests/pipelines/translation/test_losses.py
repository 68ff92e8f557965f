import numpy as np
import pytest
import tensorflow as tf

from pipelines.translation.losses import SmoothedCrossentropy


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_and_its_gradient_are_those_of_the_equation(smoothing):
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(size=(2, 3, 5)), np.array([[1, 2, 3], [4, 0, 0]])
    weights = np.array([[1.0, 1, 1], [1, 0, 0]])
    log_p = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    q = np.full(logits.shape, smoothing / 5)
    np.put_along_axis(q, labels[..., None], 1 - smoothing + smoothing / 5, axis=-1)
    expected = (-(q * log_p).sum(-1) * weights).sum() / weights.sum()
    logits = tf.constant(logits, tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(logits)
        loss = SmoothedCrossentropy(smoothing)(labels, logits, sample_weight=weights)
    np.testing.assert_allclose(loss, expected, rtol=1e-5)
    gradient = (np.exp(log_p) - q) * weights[..., None] / weights.sum()
    np.testing.assert_allclose(tape.gradient(loss, logits), gradient, atol=1e-6)
