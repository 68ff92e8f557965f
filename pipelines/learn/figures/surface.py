"""Figure 5.11: a gate as a surface over its two inputs."""

import keras
import numpy as np
import pandas as pd

from pipelines.inspect.figure import Figure
from pipelines.learn.steps import Lesson, Step, Values

W, U, B = 2.0, -1.5, 0.5
_EDGE = 3
_FINE = 49


def gate(x, h) -> np.ndarray:
    """Returns sigmoid(w x + u h + b) for every x and h by `keras.layers.Dense`: float [len(h), len(x)]."""
    layer = keras.layers.Dense(1, activation="sigmoid", dtype="float64")
    layer.build((None, 2))
    layer.set_weights([np.array([[W], [U]]), np.array([B])])
    pairs = np.stack(np.meshgrid(x, h), -1).reshape(-1, 2)  # [h * x, 2]
    return keras.ops.convert_to_numpy(layer(pairs)).reshape(len(h), len(x))


def gate_surface() -> Lesson:
    """Returns the surface as a table and as a heat map."""
    points = np.linspace(-_EDGE, _EDGE, 2 * _EDGE + 1)
    rows, columns = (tuple(f"{name}={point:g}" for point in points) for name in "hx")
    return Lesson(
        "figures gate-surface: a gate over its two inputs",
        "How does a gate follow the input x and the state h? One unit, so that both are one number.",
        (
            Step(
                "The surface",
                f"gate = sigmoid(w x + u h + b)     w = {W:g}, u = {U:g}, b = {B:g}",
                (Values("gate", gate(points, points), rows, columns),),
                "keras.layers.Dense",
                text="It is 1/2 on the line w x + u h + b = 0 and steepest there; far from it the gate is open or "
                "closed, and its gradient vanishes. The weights turn and sharpen the line, b moves it.",
                figures=(_figure(),),
            ),
        ),
        sources=("pipelines/learn/figures/surface.py:gate",),
    )


def _figure() -> Figure:
    import altair as alt

    fine = np.linspace(-_EDGE, _EDGE, _FINE).round(4)
    half = round(_EDGE / (_FINE - 1), 4)
    x, h = np.meshgrid(fine, fine)
    cells = {"x": x, "h": h, "gate": gate(fine, fine), "x2": x + 2 * half, "h2": h + 2 * half}
    data = pd.DataFrame({name: value.ravel() for name, value in cells.items()})
    chart = (
        alt.Chart(alt.NamedData("surface"))
        .mark_rect()
        .encode(
            alt.X("x:Q", title="input x", scale=alt.Scale(nice=False)),
            alt.X2("x2"),
            alt.Y("h:Q", title="state h", scale=alt.Scale(nice=False)),
            alt.Y2("h2"),
            alt.Color("gate:Q", scale=alt.Scale(scheme="viridis", domain=[0, 1])),
            [alt.Tooltip(f"{name}:Q", format=".3f") for name in ("x", "h", "gate")],
        )
        .properties(width=260, height=260)
    )
    return Figure(
        "gate-surface",
        "A gate over its inputs",
        f"sigmoid({W:g} x + ({U:g}) h + {B:g}): closed where x is small and h large, open where x is large and h "
        "small, with a slope between.",
        chart,
        {"surface": data},
        data[(data["x"] % 1 == 0) & (data["h"] % 1 == 0)][["x", "h", "gate"]],
    )
