"""`inspect gates`: the gates of a recurrent network through a text, and what they do to its state."""

import altair as alt
import numpy as np
import pandas as pd

from pipelines.inspect.axes import MARKED, above_zero, choice, marker, shown, step, token_axis, tokens_parameter
from pipelines.inspect.figure import Figure
from pipelines.inspect.trace import GATES, Trace, require_gates
from pipelines.support.errors import UserError

_ROW = 26  # height of a gate in pixels
_IS_GATE = "test(/_gate$/, quantity)"
# Gates are between 0 and 1, states on both sides of 0.
_UNITS = alt.Scale(
    domain=alt.expr(f"{_IS_GATE} ? [0, 1] : [-1, 1]"),
    scheme=alt.expr(f"{_IS_GATE} ? 'viridis' : 'redblue'"),
    reverse=alt.expr(f"!{_IS_GATE}"),
    clamp=True,
)
_STATES = ("hidden", "cell", "candidate")


def figures(
    trace: Trace,
    top: int = 24,
    unit: int | None = None,
    activation: str = "tanh",
    like: Trace | None = None,
) -> list[Figure]:
    """Returns the figure of each part of a model: of a text, or of a source and its translation.

    Args:
        top: number of units to show: those whose forget or update gate varies most.
        unit: the only unit to show.
        activation: of the candidate, for the formula.
        like: the trace from which the units are chosen; `trace` itself if not given.

    Raises:
        UserError: the model has no gates, or not this unit.
    """
    require_gates(trace)
    units = min(values["hidden"].shape[1] for values in trace.recurrent.values())
    if unit is not None and not 0 <= unit < units:
        raise UserError(f"--unit {unit}: the layers of {trace.model} have the units 0 to {units - 1}")
    parts = list(dict.fromkeys(layer.split("_")[0] for layer in trace.layers(GATES)))
    return [_figure(trace, part, top, unit, activation, like or trace) for part in parts]


def _figure(trace: Trace, part: str, top: int, unit: int | None, activation: str, like: Trace) -> Figure:
    layers = [layer for layer in trace.layers(GATES) if layer.startswith(part)]
    tokens = trace.tokens[part]
    gates = [gate for gate in GATES if gate in trace.recurrent[layers[0]]]
    is_lstm = "cell" in trace.recurrent[layers[0]]
    data = {
        "means": mean_rows(trace, layers, gates),
        "norms": norm_rows(trace, layers),
        "units": unit_rows(trace, layers, top, unit, like),
        "tokens": token_rows(trace, part),
    }
    layer = choice("layer", layers)
    charts = [
        mean_chart(tokens),
        norm_chart(tokens),
    ]
    if "probability" in data["tokens"]:
        charts.append(_probability_chart(tokens))
        data["next"] = next_rows(trace)
        charts.append(next_chart())
    quantities = [*gates, *(name for name in _STATES if name in trace.recurrent[layers[0]])]
    charts += [_unit_chart(tokens, data["units"]["unit"].nunique()), _formula_chart(is_lstm, activation)]
    chart = alt.vconcat(*charts, spacing=18).resolve_scale(color="independent", x="independent", y="independent")
    chart = chart.add_params(
        MARKED,
        tokens_parameter(tokens),
        layer,
        choice("quantity", quantities, [name.replace("_", " ") for name in quantities], "units "),
        alt.param(name="pinned", value=-1),
        alt.param(name="unit", value=int(data["units"]["unit"].iloc[0])),
    )
    name = "gates" if part == "layer" else f"gates-{part}"
    of = {"layer": "", "encoder": ", source", "decoder": ", translation"}[part]
    return Figure(
        name,
        f"Gates of {trace.model}{of}",
        "Each column is a token. Above: the mean of each gate over all units, from 0 (closed) to 1 (open). Then the "
        "length of the state, the probability that the model gave to each token, and single units. A forget gate near "
        "1 keeps the cell; an update gate near 1 keeps the state.",
        chart,
        data,
        table=data["means"],
    )


def mean_rows(trace: Trace, layers: list[str], gates: list[str]) -> pd.DataFrame:
    """Returns layer, gate, position, token, mean over the units and their standard deviation."""
    frames = [
        pd.DataFrame(
            {
                "layer": layer,
                "gate": gate.replace("_", " "),
                "position": np.arange(len(values[gate])),
                "token": [shown(token) for token in trace.tokens_of(layer)],
                "mean": values[gate].mean(1),
                "deviation": values[gate].std(1),
            }
        )
        for layer in layers
        for values in [trace.recurrent[layer]]
        for gate in gates
    ]
    return pd.concat(frames, ignore_index=True)


def norm_rows(trace: Trace, layers: list[str]) -> pd.DataFrame:
    """Returns layer, state ("hidden" or "cell"), position and the Euclidean norm of the state."""
    frames = [
        pd.DataFrame(
            {
                "layer": layer,
                "state": name,
                "position": np.arange(len(states)),
                "norm": np.linalg.norm(states, axis=1),
            }
        )
        for layer in layers
        for name, states in trace.recurrent[layer].items()
        if name in ("hidden", "cell")
    ]
    return pd.concat(frames, ignore_index=True)


def unit_rows(trace: Trace, layers: list[str], top: int, unit: int | None, like: Trace | None = None) -> pd.DataFrame:
    """Returns layer, unit, position and all quantities of the unit."""
    frames = []
    for layer in layers:
        values = trace.recurrent[layer]
        units = [unit] if unit is not None else most_varying((like or trace).recurrent[layer], top)
        for each in units:
            columns = {name: array[:, each] for name, array in values.items()}
            positions = np.arange(len(values["hidden"]))
            frames.append(pd.DataFrame({"layer": layer, "unit": int(each), "position": positions, **columns}))
    return pd.concat(frames, ignore_index=True)


def most_varying(values: dict, top: int) -> list[int]:
    """Returns the units whose forget or update gate, else whose state, varies most over the text."""
    name = next((name for name in ("forget_gate", "update_gate") if name in values), "hidden")
    order = np.argsort(-values[name].std(0), kind="stable")
    return [int(each) for each in order[:top]]


def token_rows(trace: Trace, part: str) -> pd.DataFrame:
    """Returns position, token and, for the part that the model writes, the probability that it gave to the token."""
    tokens = trace.tokens[part]
    rows = pd.DataFrame({"position": np.arange(len(tokens)), "token": [shown(token) for token in tokens]})
    if part != "encoder" and "log_probabilities" in trace.outputs:
        rows["probability"] = np.exp(trace.outputs["log_probabilities"])
        if part == "layer":
            rows.loc[0, "probability"] = 0.0  # <start> is given
    return rows


def next_rows(trace: Trace) -> pd.DataFrame:
    """Returns position, rank, token and probability of what may come next."""
    names, probabilities = trace.outputs["next_tokens"], trace.outputs["next_probabilities"]
    time, count = probabilities.shape
    texts = [each.decode("utf-8", "replace") if isinstance(each, bytes) else str(each) for each in names.ravel()]
    return pd.DataFrame(
        {
            "position": np.repeat(np.arange(time), count),
            "rank": np.tile(np.arange(1, count + 1), time),
            "token": [shown(text) for text in texts],
            "probability": probabilities.ravel(),
        }
    )


def mean_chart(tokens: list[str] | None) -> alt.LayerChart:
    """Returns the heat map of `mean_rows` ("means").

    Args:
        tokens: those of the text; None for those of the parameter "tokens", which the page sets.
    """
    x = token_axis(alt.X, tokens)
    heat = (
        alt.Chart(alt.NamedData("means"))
        .transform_filter("datum.layer == layer")
        .mark_rect()
        .encode(
            x=x,
            y=alt.Y("gate:N", title=None, sort=None),
            color=alt.Color("mean:Q", scale=alt.Scale(domain=[0, 1], scheme="viridis"), title="mean"),
            tooltip=[
                "token:N",
                "gate:N",
                alt.Tooltip("mean:Q", format=".3f"),
                alt.Tooltip("deviation:Q", format=".3f"),
            ],
        )
    )
    layers = heat + marker(tokens)
    return layers.properties(width=alt.Step(step(tokens)), height=alt.Step(_ROW), title="gates, mean over the units")


def norm_chart(tokens: list[str] | None) -> alt.LayerChart:
    """Returns the lines of `norm_rows` ("norms"). tokens: as for `mean_chart`."""
    line = (
        alt.Chart(alt.NamedData("norms"))
        .transform_filter("datum.layer == layer")
        .mark_line(point=True)
        .encode(
            x=token_axis(alt.X, tokens),
            y=alt.Y("norm:Q", title="length of the state"),
            color=alt.Color("state:N", title="state"),
            tooltip=["state:N", alt.Tooltip("norm:Q", format=".3f")],
        )
    )
    layers = line + marker(tokens)
    return layers.properties(width=alt.Step(step(tokens)), height=110)


def _probability_chart(tokens: list[str]) -> alt.LayerChart:
    scale = alt.Scale(type="log", domain=[1e-5, 1], clamp=True)
    points = (
        above_zero(alt.Chart(alt.NamedData("tokens")), "probability")  # <start> has none
        .mark_line(color="#5c7cfa", point=True)
        .encode(
            x=token_axis(alt.X, tokens),
            y=alt.Y("probability:Q", scale=scale, title="P(token)", axis=alt.Axis(values=[1, 0.1, 0.01, 1e-3, 1e-4])),
            tooltip=["token:N", alt.Tooltip("probability:Q", format=".3g")],
        )
    )
    layers = points + marker(tokens)
    return layers.properties(
        width=alt.Step(step(tokens)), height=80, title="probability of the token after those before it"
    )


def next_chart() -> alt.LayerChart:
    """Returns the bars of `next_rows` ("next")."""
    # Without a marked token: what comes after the whole text.
    return (
        alt.Chart(alt.NamedData("next"))
        .transform_joinaggregate(last="max(position)")
        .transform_filter("datum.position == (length(marked) ? marked[0] : datum.last)")
        .mark_bar(color="#5c7cfa")
        .encode(
            y=alt.Y("rank:O", title=None, axis=None),
            x=alt.X("probability:Q", scale=alt.Scale(domain=[0, 1]), title="P(next token)"),
            tooltip=["token:N", alt.Tooltip("probability:Q", format=".4f")],
        )
        + alt.Chart(alt.NamedData("next"))
        .transform_joinaggregate(last="max(position)")
        .transform_filter("datum.position == (length(marked) ? marked[0] : datum.last)")
        .transform_calculate(label="datum.token + '  ' + format(datum.probability, '.3f')")
        .mark_text(align="left", dx=4)
        .encode(y=alt.Y("rank:O", axis=None), x="probability:Q", text="label:N")
    ).properties(width=320, height=150, title="what may come after the marked token (else after the text)")


def _unit_chart(tokens: list[str], num_units: int) -> alt.LayerChart:
    height = max(12, min(16 * num_units, 640))
    heat = (
        alt.Chart(alt.NamedData("units"))
        .transform_filter("datum.layer == layer")
        .transform_calculate(value="datum[quantity]")
        .mark_rect()
        .encode(
            x=token_axis(alt.X, tokens),
            y=alt.Y("unit:O", sort=None, title="unit", axis=alt.Axis(labelOverlap=True, ticks=False, domain=False)),
            color=alt.Color("value:Q", scale=_UNITS, title="value"),
            tooltip=["unit:O", alt.Tooltip("value:Q", format=".3f")],
        )
    )
    layers = heat + marker(tokens)
    return layers.properties(
        width=alt.Step(step(tokens)), height=height, title="single units: those whose gate varies most"
    )


def _formula_chart(is_lstm: bool, activation: str) -> alt.Chart:
    def number(name):
        return f"format(datum.{name}, '.3f')"

    if is_lstm:
        first = (
            f"'c = f c₋₁ + i g = ' + {number('forget_gate')} + ' · ' + {number('before')} + ' + ' + "
            f"{number('input_gate')} + ' · ' + {number('candidate')} + ' = ' + {number('cell')}"
        )
        second = (
            f"'h = o {activation}(c) = ' + {number('output_gate')} + ' · {activation}(' + {number('cell')} + ') = ' + "
            f"{number('hidden')}"
        )
    else:
        first = (
            f"'h = z h₋₁ + (1 − z) g = ' + {number('update_gate')} + ' · ' + {number('before')} + ' + ' + "
            f"format(1 - datum.update_gate, '.3f') + ' · ' + {number('candidate')} + ' = ' + {number('hidden')}"
        )
        second = f"'reset gate r = ' + {number('reset_gate')}"
    text = "'unit ' + datum.unit + ', after ' + tokens[datum.position]"
    state, order = "cell" if is_lstm else "hidden", [alt.SortField("position")]
    return (
        alt.Chart(alt.NamedData("units"))
        .transform_filter("datum.layer == layer && datum.unit == unit")
        # The state before the token, in the order of reading: no column of its own, which would make the page larger.
        .transform_window(earlier=f"lag({state})", later=f"lead({state})", sort=order)
        .transform_calculate(before="(test(/_backward$/, datum.layer) ? datum.later : datum.earlier) || 0")
        .transform_joinaggregate(last="max(position)")
        .transform_filter("datum.position == (pinned < 0 ? datum.last : pinned)")
        .transform_calculate(lines=f"[{text}, {first}, {second}]")
        .mark_text(align="left", baseline="top", fontSize=13, lineHeight=20, font="monospace")
        .encode(x=alt.value(0), y=alt.value(0), text="lines:N")
        .properties(width=600, height=64, title="the state of one unit, computed (click a unit's cell)")
    )
