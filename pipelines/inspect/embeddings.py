"""`inspect embeddings`: the nearest neighbours of tokens, and a map of them."""

import altair as alt
import numpy as np
import pandas as pd

from pipelines.inspect.axes import labels_that_fit, shown
from pipelines.inspect.figure import Figure
from pipelines.inspect.states import Plane

_PLANE = 760, 480  # width and height of the map in pixels
_SPECIAL = 4  # the special tokens come first in every vocabulary


def unit_vectors(vectors: np.ndarray) -> np.ndarray:
    """Returns float [n, size], each divided by its length; zeros remain zeros."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def nearest(vectors: np.ndarray, names: list[str], words: list[str], count: int) -> pd.DataFrame:
    """Returns word, rank, neighbour and cosine: for each word the tokens whose vectors are most similar to its own.

    Args:
        vectors: float [vocabulary, size].
        names: the tokens in the order of the rows.
        words: tokens of the vocabulary.
        count: number of neighbours of each.
    """
    unit = unit_vectors(vectors)
    index = {name: row for row, name in enumerate(names)}
    rows = []
    for word in words:
        cosines = unit @ unit[index[word]]
        cosines[: min(_SPECIAL, len(names))] = -np.inf
        cosines[index[word]] = -np.inf
        best = np.argsort(-cosines, kind="stable")[:count]
        rows += [
            {"word": word, "rank": rank, "neighbour": names[row], "cosine": float(cosines[row])}
            for rank, row in enumerate(best, start=1)
            if np.isfinite(cosines[row])
        ]
    return pd.DataFrame(rows)


def figures(title: str, vectors: np.ndarray, names: list[str], words: list[str], count: int) -> list[Figure]:
    """Returns the figure of one model. For the arguments see `nearest`."""
    neighbours = nearest(vectors, names, words, count)
    index = {name: row for row, name in enumerate(names)}
    points = pd.concat(
        [
            pd.DataFrame({"token": words, "of": words, "kind": "asked"}),
            pd.DataFrame({"token": neighbours["neighbour"], "of": neighbours["word"], "kind": "neighbour"}),
        ],
        ignore_index=True,
    )
    selected = vectors[[index[token] for token in points["token"]]]
    plane = Plane(selected)
    places = plane.project(selected)
    points = points.assign(x=places[:, 0], y=places[:, -1])
    neighbours = neighbours.assign(**{name: neighbours[name].map(shown) for name in ("word", "neighbour")})
    points = points.assign(**{name: points[name].map(shown) for name in ("token", "of")})
    first = ~points["token"].duplicated()  # a neighbour of several words is one point
    points = points[first].reset_index(drop=True)
    points["label"] = labels_that_fit(*points[["x", "y"]].to_numpy().T, points["token"].tolist(), *_PLANE)
    data = {"neighbours": neighbours, "points": points}
    bars = (
        alt.Chart(alt.NamedData("neighbours"))
        .transform_calculate(label="datum.neighbour + '  ' + format(datum.cosine, '.2f')")
        .encode(y=alt.Y("rank:O", axis=None), x=alt.X("cosine:Q", scale=alt.Scale(domain=[0, 1])))
    )
    bar = bars.mark_bar(color="#5c7cfa", opacity=0.45)  # so that the labels are legible on light and dark pages
    label = bars.mark_text(align="left", dx=4).encode(x=alt.value(2), text="label:N")
    lists = (bar + label).properties(width=200, height=14 * count).facet("word:N", columns=4)
    rows = alt.Chart(alt.NamedData("points"))
    x, y = alt.X("x:Q", title="first component"), alt.Y("y:Q", title="second component")
    dots = rows.mark_circle(size=50).encode(
        x=x, y=y, color=alt.Color("of:N", title="word"), tooltip=["token:N", "of:N"]
    )
    texts = rows.mark_text(dx=6, align="left", fontSize=11).encode(x=x, y=y, text="label:N")
    large = (dots + texts).properties(
        width=_PLANE[0], height=_PLANE[1], title="the words and their neighbours in one plane"
    )
    chart = alt.vconcat(lists, large).resolve_scale(x="independent", y="independent", color="independent")
    return [
        Figure(
            "embeddings",
            f"Embeddings of {title}",
            "For each word the tokens whose embeddings point in the most similar direction (cosine), and all of them "
            "in the plane of their two largest principal components.",
            chart,
            data,
            table=neighbours,
        )
    ]
