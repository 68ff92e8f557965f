"""`inspect states`: the path of the state through a text, in the plane of its largest variance."""

import altair as alt
import numpy as np
import pandas as pd

from pipelines.inspect.axes import IS_MARKED, MARKED, choice, labels_that_fit, shown
from pipelines.inspect.figure import Figure
from pipelines.inspect.trace import Trace
from pipelines.support.errors import UserError

_GRID = 40  # points of the surface, per axis
_PATH = 430, 330  # width and height of a path in pixels


class Plane:
    """The plane of the first two principal components of states.

        z = (h - mean) V,    V the first two right singular vectors of the centred states

    Args:
        states: float [n, units], n at least 2.
    """

    def __init__(self, states: np.ndarray):
        self.mean = states.mean(0)
        _, sizes, vectors = np.linalg.svd(states - self.mean, full_matrices=False)
        self.vectors = vectors[:2].T  # [units, 2]
        # The sign of a component is arbitrary: make its largest weight positive, so that pictures can be repeated.
        self.vectors *= np.sign(self.vectors[np.abs(self.vectors).argmax(0), [0, 1][: self.vectors.shape[1]]])
        missing = 2 - self.vectors.shape[1]  # the states of one unit are on a line: the second coordinate is 0
        self.vectors = np.pad(self.vectors, ((0, 0), (0, missing)))
        variances = np.pad(sizes**2, (0, missing))
        self.explained = variances[:2] / max(variances.sum(), 1e-12)

    def project(self, states: np.ndarray) -> np.ndarray:
        """Returns the coordinates of states [n, units]: float [n, 2]."""
        return (states - self.mean) @ self.vectors

    def lift(self, points: np.ndarray) -> np.ndarray:
        """Returns the states of points [n, 2] in the plane: float [n, units]."""
        return self.mean + points @ self.vectors.T


def figures(trace: Trace, references: list[Trace], surface=None, word: str | None = None) -> list[Figure]:
    """Returns the figure of the paths.

    Args:
        references: traces of other texts of the same model, whose states give the plane; with none, the text's own
            states do.
        surface: function of features float [n, units] -> probability of `word` [n]; None draws no surface.
        word: the token whose probability is drawn.

    Raises:
        UserError: the model has no recurrent layer, or the text is too short for a plane.
    """
    layers = trace.layers()
    if not layers:
        raise UserError(f"{trace.model} has no recurrent layer, so it has no states: use `inspect attention`")
    paths, grid = [], pd.DataFrame()
    for layer in layers:
        for name in ("hidden", "cell"):
            if name not in trace.recurrent[layer]:
                continue
            states = trace.recurrent[layer][name]
            fitted = np.concatenate([each.recurrent[layer][name] for each in references] or [states])
            if len(fitted) < 3:
                raise UserError("the text has fewer than three tokens: a path needs more")
            plane = Plane(fitted)
            paths.append(path_rows(trace, layer, name, plane))
            if surface and name == "hidden" and layer == layers[-1]:
                grid = surface_rows(plane, fitted, surface)
    data = {"path": pd.concat(paths, ignore_index=True)}
    data["steps"] = step_rows(data["path"])
    charts = []
    if len(grid):
        data["surface"] = grid
        charts.append(_surface_chart(layers[-1], word))
    charts.append(_path_chart())
    charts.append(_step_chart())
    chart = alt.vconcat(*charts, spacing=18).resolve_scale(color="independent")
    chart = chart.add_params(MARKED, choice("layer", layers))
    explained = "fitted on other texts" if references else "fitted on this text"
    return [
        Figure(
            "states",
            f"States of {trace.model}",
            "The path of the hidden state and of the cell through the text, in the plane of their two largest "
            f"principal components ({explained}). Below: the length of each step, in the full space, relative to the "
            "length of the state.",
            chart,
            data,
            table=data["steps"],
        )
    ]


def path_rows(trace: Trace, layer: str, name: str, plane: Plane) -> pd.DataFrame:
    """Returns layer, state, position, token and its label in the plane, x, y, `step`: |s_t - s_(t-1)| / mean of |s|."""
    states = trace.recurrent[layer][name]
    points = plane.project(states)
    before = np.concatenate([np.zeros_like(states[:1]), states[:-1]])
    size = np.linalg.norm(states, axis=1).mean()
    tokens = [shown(token) for token in trace.tokens_of(layer)]
    return pd.DataFrame(
        {
            "layer": layer,
            "state": name,
            "position": np.arange(len(states)),
            "token": tokens,
            "label": labels_that_fit(points[:, 0], points[:, 1], tokens, *_PATH),
            "x": points[:, 0],
            "y": points[:, 1],
            "step": np.linalg.norm(states - before, axis=1) / max(size, 1e-12),
        }
    )


def step_rows(path: pd.DataFrame) -> pd.DataFrame:
    """Returns layer, state and the mean relative length of its steps: how smooth the path is."""
    means = path.groupby(["layer", "state"], sort=False)["step"].mean()
    return means.rename("mean_step").reset_index()


def surface_rows(plane: Plane, states: np.ndarray, probability_of) -> pd.DataFrame:
    """Returns x, y, x2, y2 and the probability at the middle of each cell of a grid over the plane."""
    points = plane.project(states)
    low, high = points.min(0), points.max(0)
    edges = [np.linspace(low[i], high[i], _GRID + 1) for i in range(2)]
    middles = np.stack(np.meshgrid(*[(edge[:-1] + edge[1:]) / 2 for edge in edges], indexing="ij"), -1).reshape(-1, 2)
    index = np.stack(np.meshgrid(np.arange(_GRID), np.arange(_GRID), indexing="ij"), -1).reshape(-1, 2)
    return pd.DataFrame(
        {
            "x": edges[0][index[:, 0]],
            "x2": edges[0][index[:, 0] + 1],
            "y": edges[1][index[:, 1]],
            "y2": edges[1][index[:, 1] + 1],
            "probability": probability_of(plane.lift(middles)),
        }
    )


def _path(filter_expression: str) -> alt.LayerChart:
    rows = alt.Chart(alt.NamedData("path")).transform_filter(filter_expression)
    x, y = alt.X("x:Q", title="first component"), alt.Y("y:Q", title="second component")
    tooltip = ["token:N", "position:Q", alt.Tooltip("step:Q", format=".3f", title="relative step")]
    line = rows.mark_line(color="#adb5bd").encode(x=x, y=y, order="position:Q")
    points = rows.mark_circle(size=60).encode(
        x=x, y=y, color=alt.Color("position:Q", scale=alt.Scale(scheme="viridis"), title="position"), tooltip=tooltip
    )
    marked = rows.transform_filter(IS_MARKED).mark_point(size=240, color="#e8590c", strokeWidth=2).encode(x=x, y=y)
    labels = rows.mark_text(dx=7, dy=-6, align="left", fontSize=11).encode(x=x, y=y, text="label:N")
    return line + points + marked + labels


def _path_chart() -> alt.HConcatChart:
    charts = [
        _path(f"datum.layer == layer && datum.state == '{name}'").properties(
            width=_PATH[0], height=_PATH[1], title={"hidden": "hidden state h", "cell": "cell c"}[name]
        )
        for name in ("hidden", "cell")
    ]
    return alt.hconcat(*charts)


def _surface_chart(layer: str, word: str | None) -> alt.LayerChart:
    surface = (
        alt.Chart(alt.NamedData("surface"))
        .mark_rect()
        .encode(
            x=alt.X("x:Q", title="first component"),
            x2="x2",
            y=alt.Y("y:Q", title="second component"),
            y2="y2",
            color=alt.Color("probability:Q", scale=alt.Scale(scheme="blues"), title=f"P({shown(word)})"),
            tooltip=[alt.Tooltip("probability:Q", format=".4f")],
        )
    )
    chart = alt.layer(surface, _path(f"datum.layer == '{layer}' && datum.state == 'hidden'"))
    return chart.resolve_scale(color="independent").properties(
        width=620,
        height=420,
        title=f"probability that {shown(word)} comes next, over the plane of the highest hidden state",
    )


def _step_chart() -> alt.Chart:
    return (
        alt.Chart(alt.NamedData("path"))
        .transform_filter("datum.layer == layer")
        .mark_line(point=True)
        .encode(
            x=alt.X("position:Q", title="position", axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("step:Q", title="relative step"),
            color=alt.Color("state:N", title="state"),
            tooltip=["token:N", "state:N", alt.Tooltip("step:Q", format=".3f")],
        )
        .properties(width=900, height=130, title="length of each step, relative to the mean length of the state")
    )
