import numpy as np

from pipelines.learn.figures.encoder_decoder import SOURCE, TARGET, compute, encoder_decoder


def test_the_decoders_begin_with_the_last_state_and_differ():
    found = compute()
    assert found.encoder.shape == (len(SOURCE), 2) and found.weights.shape == (len(TARGET), len(SOURCE))
    np.testing.assert_allclose(found.weights.sum(1), 1, atol=1e-6)
    states = (found.first, found.every, found.attention)
    assert all(abs(a - b).max() > 0.01 for a, b in zip(states, states[1:]))


def test_the_drawings_have_the_numbers_and_the_lines():
    found, steps = compute(), encoder_decoder().steps
    assert [step.drawing.count("<polyline") for step in steps] == [15, 15, 18, 30]
    assert f"{found.every[3, 0]:.3f}" in steps[2].drawing and f"{found.weights[1, 2]:.2f}" in steps[3].drawing
    assert "Lleg\u00f3" in steps[1].drawing and "&lt;start&gt;" in steps[1].drawing
