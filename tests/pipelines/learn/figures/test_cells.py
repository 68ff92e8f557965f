"""The drawn cells against the equations in NumPy."""

import re

import numpy as np
import pytest

from pipelines.learn.figures import cells


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def simple(w, u, b, x, h, c):
    return {"h": np.tanh(x @ w + h @ u + b)}


def lstm(w, u, b, x, h, c):
    i, f, g, o = np.split(x @ w + h @ u + b, 4)
    new = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return {
        "f": sigmoid(f),
        "i": sigmoid(i),
        "o": sigmoid(o),
        "g": np.tanh(g),
        "c": new,
        "h": sigmoid(o) * np.tanh(new),
    }


def gru(w, u, b, x, h, c):
    (xz, xr, xg), (hz, hr, _), (_, _, ug) = np.split(x @ w + b, 3), np.split(h @ u, 3), np.split(u, 3, axis=1)
    z, r = sigmoid(xz + hz), sigmoid(xr + hr)
    g = np.tanh(xg + (r * h) @ ug)
    return {"z": z, "r": r, "g": g, "h": z * h + (1 - z) * g}


@pytest.mark.parametrize(("name", "equations"), [("cell-simple", simple), ("cell-lstm", lstm), ("cell-gru", gru)])
def test_the_numbers_are_those_of_the_equations(name, equations):
    layer = cells.layer_of(name)
    found = cells.compute(layer)
    for key, expected in equations(*layer.get_weights(), cells.X, cells.H, cells.C).items():
        np.testing.assert_allclose(found[key], expected, atol=1e-12, err_msg=key)


@pytest.mark.parametrize("name", list(cells.CELLS))
def test_a_drawing_is_built_up(name):
    steps = cells.lesson(name).steps
    shown = [len(re.findall(r"-?\d\.\d{3}", step.drawing)) for step in steps if step.drawing]
    assert shown == sorted(set(shown)), "each step adds numbers"
    assert len(shown) == len(steps) - 1, "the last step has the weights"
    state = next(value for value in steps[-2].values if value.name == "h")
    assert all(f"{number:.3f}" in steps[-2].drawing for number in state.numbers)
    assert all(f"{number:.3f}" not in steps[-3].drawing for number in state.numbers)
