import numpy as np
import pytest

from pipelines.inspect import embeddings
from tests.pipelines.inspect.exports import assert_page, picture


def test_the_nearest_neighbours():
    vectors = np.array([[9.0, 0]] * 4 + [[1, 0], [2, 0.1], [0, 1], [-1, 0]])
    names = ["<pad>", "<unknown>", "<start>", "<end>", "a", "b", "c", "d"]
    rows = embeddings.nearest(vectors, names, ["a"], 2)
    assert rows["neighbour"].tolist() == ["b", "c"] and rows["cosine"][0] == pytest.approx(2 / np.hypot(2, 0.1))
    (figure,) = embeddings.figures("small/1", vectors, names, ["a", "c"], 2)
    assert picture(figure).width > 300


@pytest.mark.long
def test_white_space_is_shown(exports, capsys, tmp_path):
    vectors = np.array([[9.0, 0]] * 4 + [[1, 0], [2, 0.1], [0, 1]])
    names = ["<pad>", "<unknown>", "<start>", "<end>", "a", "\n", "\u00a0"]
    (figure,) = embeddings.figures("small/1", vectors, names, ["a", "\n"], 2)
    tokens = [*figure.data["neighbours"]["neighbour"], *figure.data["points"]["token"]]
    assert "\N{RETURN SYMBOL}" in tokens and "\\xa0" in tokens
    assert not any(token.isspace() for token in tokens)
    assert picture(figure).width > 300
    arguments = ("embeddings", "--models", "small", "--saved-models", exports, "--words", "e", " ")
    printed = assert_page(capsys, tmp_path / "x.html", *arguments, "--neighbours", 50)
    assert printed.count("\n") == 3 and "\N{OPEN BOX}: " in printed
