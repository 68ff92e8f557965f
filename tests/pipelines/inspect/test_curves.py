import math

import numpy as np
import pandas as pd
import pytest

from pipelines.inspect import curves
from tests.pipelines.inspect.marks import empty_panels, marks_of


def test_word_by_word():
    rows = pd.DataFrame(
        {
            "model": "a/1",
            "position": [0, 1, 0, 1],
            "candidate": ["was", "was", "were", "were"],
            "probability": [0.1, 0.2, 0.01, 0.3],
        }
    )
    assert curves.word_by_word(rows, ["the", "cats"], ["was", "were"]).png().startswith(b"\x89PNG")


@pytest.mark.parametrize("by", ["distance", "attractors"])
def test_accuracy(by):
    rows = pd.DataFrame(
        {by: [0, 1], "label": ["0", "1"], "accuracy": [1.0, 0.5], "low": [0.8, 0.2], "high": [1.0, 0.8], "sentences": 9}
    )
    figure = curves.accuracy(rows.assign(model="a/1"), by, "sentences")
    assert figure.name == f"agreement-{by}" and figure.png().startswith(b"\x89PNG")


def test_gradients_and_memory():
    rows = pd.DataFrame({"model": "a/1", "state": "layer_1_cell", "distance": range(4)})
    rows = rows.assign(lower=[1, 0.1, 0.01, 0.0], median=[2, 0.2, 0.02, 0.0], upper=3.0, relative=[1, 0.1, 0.01, 0.0])
    steps = pd.DataFrame([{"model": "a/1", "state": "layer_1_cell", "steps": 1.0}])
    assert curves.gradients(rows, steps).png().startswith(b"\x89PNG")
    probes = pd.DataFrame({"model": "a/1", "state": "layer_1_cell", "weights": "trained", "k": [1, 2]})
    probes = probes.assign(accuracy=[0.9, 0.5], low=0.4, high=1.0, floor=0.2)
    for of_subject in (False, True):
        assert curves.memory(probes, of_subject).png().startswith(b"\x89PNG")
    assert curves.memory(probes, True).title == "The number of the subject, k words after it"


def test_gradients_that_vanish_are_drawn_to_the_last_one_above_zero():
    norms = np.array([5e-11, 3e-14, 2e-30, 1e-44])
    rows = pd.DataFrame({"model": "a/1", "state": "layer_1_hidden", "distance": range(4)})
    rows = rows.assign(lower=[*norms[:3] / 2, 0], median=norms, upper=norms * 2, relative=norms / norms[0])
    figure = curves.gradients(rows, pd.DataFrame([{"model": "a/1", "state": "layer_1_hidden", "steps": 1.0}]))
    assert empty_panels(figure) == []
    assert marks_of(figure) == {"line": 4, "area": 3, "rect": 4}


def test_a_probability_of_zero_leaves_the_others():
    rows = pd.DataFrame({"model": "a/1", "position": [0, 1, 2], "candidate": "was", "probability": [1e-30, 0.0, 1e-12]})
    figure = curves.word_by_word(rows, ["the", "cats", "who"], ["was"])
    assert empty_panels(figure) == [] and marks_of(figure)["line"] == 2


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (4.66, "90 % is lost every 4.7 steps"),
        (math.inf, "90 % is lost in no measured distance"),
        (math.nan, "nothing is left to measure"),
    ],
)
def test_the_steps_in_words(value, expected):
    assert curves.steps_text(value) == expected
