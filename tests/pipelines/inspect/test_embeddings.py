import numpy as np
import pytest

from pipelines.inspect import embeddings
from tests.pipelines.inspect.exports import picture


def test_the_nearest_neighbours():
    vectors = np.array([[9.0, 0]] * 4 + [[1, 0], [2, 0.1], [0, 1], [-1, 0]])
    names = ["<pad>", "<unknown>", "<start>", "<end>", "a", "b", "c", "d"]
    rows = embeddings.nearest(vectors, names, ["a"], 2)
    assert rows["neighbour"].tolist() == ["b", "c"] and rows["cosine"][0] == pytest.approx(2 / np.hypot(2, 0.1))
    (figure,) = embeddings.figures("small/1", vectors, names, ["a", "c"], 2)
    assert picture(figure).width > 300
