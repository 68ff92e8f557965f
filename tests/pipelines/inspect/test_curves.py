import math

import pandas as pd
import pytest

from pipelines.inspect import curves


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
