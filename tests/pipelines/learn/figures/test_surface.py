import numpy as np

from pipelines.learn.figures.surface import B, U, W, gate, gate_surface


def test_the_surface_is_the_sigmoid():
    x, h = np.array([-1.0, 0.5]), np.array([0.0, 2.0, 3.0])
    expected = 1 / (1 + np.exp(-(W * x[None, :] + U * h[:, None] + B)))
    np.testing.assert_allclose(gate(x, h), expected, atol=1e-12)


def test_the_figure_has_the_numbers_of_the_table():
    (step,) = gate_surface().steps
    rows = step.figures[0].data["surface"].set_index(["h", "x"])["gate"]
    assert rows[(-3, 2)] == step.values[0].numbers[0, 5] and step.figures[0].png()
