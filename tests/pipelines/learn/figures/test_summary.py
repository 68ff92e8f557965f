import pytest

from pipelines.learn.figures.summary import parameters, summary


@pytest.mark.parametrize(("name", "products"), [("cell-simple", 1), ("cell-lstm", 4), ("cell-gru", 3)])
def test_the_weights_are_counted(name, products):
    assert parameters(name) == products * (128 * 128 + 128 * 128 + 128)


def test_the_cells_stand_below_each_other():
    (step,) = summary().steps
    assert step.drawing.count("<g transform") == 3 and step.values[0].numbers[:, 0].tolist() == [1, 4, 3]
    assert "h = o * tanh(c)" in step.drawing
