"""`inspect positions`: the sinusoidal positional encoding, and how similar two positions are."""

import altair as alt
import numpy as np
import pandas as pd

from pipelines.inspect.figure import Figure

_SIGNED = alt.Scale(domain=[-1, 1], scheme="redblue", reverse=True)


def encoding(length: int, size: int) -> np.ndarray:
    """Returns the encoding of the positions, float [length, size], from the layer that the transformers use."""
    from layers import SinusoidalPositionalEncoding

    zeros = np.zeros((1, length, size), "float32")
    return np.array(SinusoidalPositionalEncoding()(zeros))[0]


def figures(length: int, size: int) -> list[Figure]:
    """Returns the figure of `length` positions of `size` features."""
    vectors = encoding(length, size)
    data = {"encoding": encoding_rows(vectors), "products": product_rows(vectors)}
    heat = (
        alt.Chart(alt.NamedData("encoding"))
        .mark_rect()
        .encode(
            x=alt.X("feature:O", axis=alt.Axis(labelOverlap=True), title="feature"),
            y=alt.Y("place:O", axis=alt.Axis(labelOverlap=True), title="position"),
            color=alt.Color("value:Q", scale=_SIGNED),
            tooltip=["place:O", "feature:O", alt.Tooltip("value:Q", format=".3f")],
        )
        .properties(width=520, height=360, title="the encoding: sine and cosine of falling frequencies")
    )
    lines = (
        alt.Chart(alt.NamedData("products"))
        .mark_line()
        .encode(
            x=alt.X("distance:Q", title="distance between two positions"),
            y=alt.Y("cosine:Q", title="cosine"),
            tooltip=["distance:Q", alt.Tooltip("cosine:Q", format=".3f")],
        )
        .properties(width=520, height=180, title="the product of two positions depends on their distance alone")
    )
    return [
        Figure(
            "positions",
            f"Sinusoidal positions: {length} positions, {size} features",
            "Each row is a position, each column a feature. The sine and the cosine of one frequency are neighbours. "
            "The product of the vectors of two positions depends on their distance alone; near positions are similar.",
            alt.vconcat(heat, lines).resolve_scale(color="independent"),
            data,
            table=data["products"],
        )
    ]


def encoding_rows(vectors: np.ndarray) -> pd.DataFrame:
    """Returns place, feature and value."""
    length, size = vectors.shape
    return pd.DataFrame(
        {
            "place": np.repeat(np.arange(length), size),
            "feature": np.tile(np.arange(size), length),
            "value": vectors.ravel(),
        }
    )


def product_rows(vectors: np.ndarray) -> pd.DataFrame:
    """Returns distance and the cosine between the first position and the one at that distance."""
    sizes = np.linalg.norm(vectors, axis=1)
    return pd.DataFrame({"distance": np.arange(len(vectors)), "cosine": vectors @ vectors[0] / (sizes * sizes[0])})
