"""The gates of several models that differ in their seed alone: the mean over the models, with lowest and highest."""

import altair as alt
import pandas as pd

from pipelines.inspect.axes import MARKED, marked_rule, step, token_axis, tokens_parameter
from pipelines.inspect.figure import Figure
from pipelines.inspect.gates import mean_rows
from pipelines.inspect.trace import GATES, Trace, require_gates
from pipelines.support.errors import UserError

_OWN = ("seed", "keep_checkpoints", "checkpoint_every")  # settings in which the models may differ


def require_same_settings(cards: dict[str, dict]) -> None:
    """Checks that models differ in their seed alone.

    Args:
        cards: title -> model card of each, at least two.

    Raises:
        UserError: there is one model, or two were trained with different settings, or with the same seed.
    """
    if len(cards) < 2:
        raise UserError("--over-seeds needs two models or more with --models, which differ in their seed")
    (first, wanted), *others = ((title, card.get("config", {})) for title, card in cards.items())
    for title, config in others:
        names = sorted(wanted.keys() | config.keys())
        different = [name for name in names if name not in _OWN and wanted.get(name) != config.get(name)]
        if different or cards[first].get("task") != cards[title].get("task"):
            what = f"--{different[0].replace('_', '-')}" if different else "the task"
            raise UserError(f"--over-seeds: {first} and {title} differ in {what}: give models that differ in --seed")
    seeds = [card.get("config", {}).get("seed") for card in cards.values()]
    if len(set(seeds)) < len(seeds):
        raise UserError("--over-seeds: two models have the same --seed: give models of different seeds")


def seed_rows(traces: list[Trace]) -> pd.DataFrame:
    """Returns layer, gate, position, token, mean, low, high and models: over the models, of the mean over the units.

    Raises:
        UserError: a model has no gates, or the models divide the text differently.
    """
    frames = []
    for number, trace in enumerate(traces):
        require_gates(trace)
        part = next(iter(trace.tokens))  # of a translator, the source: the translations differ
        if trace.tokens[part] != traces[0].tokens[part]:
            raise UserError(f"{traces[0].model} and {trace.model} divide the text differently: --over-seeds cannot")
        layers = [layer for layer in trace.layers(GATES) if layer.startswith(part)]
        gates = [gate for gate in GATES if gate in trace.recurrent[layers[0]]]
        frames.append(mean_rows(trace, layers, gates).assign(model=number))
    by_token = pd.concat(frames).groupby(["layer", "gate", "position", "token"], sort=False)["mean"]
    rows = by_token.agg(mean="mean", low="min", high="max", models="size").reset_index()
    return rows.sort_values(["layer", "gate", "position"], kind="stable", ignore_index=True)


def notes(rows: pd.DataFrame) -> list[str]:
    """Returns for each layer and gate, where it is widest open and where it is most closed, in a line."""
    lines = []
    for (layer, gate), group in rows.groupby(["layer", "gate"], sort=False):
        ends = [group.loc[group["mean"].idxmin()], group.loc[group["mean"].idxmax()]]
        low, high = (f"{each['token']} {each['mean']:.2f} ({each['low']:.2f} to {each['high']:.2f})" for each in ends)
        lines.append(f"{layer}, {gate}: lowest at {low}, highest at {high}")
    return lines


def figure(titles: list[str], trace: Trace, rows: pd.DataFrame) -> Figure:
    """Returns the figure of the rows of `seed_rows`, a chart for each layer.

    Args:
        titles: of the models.
        trace: of one of them.
    """
    tokens = next(iter(trace.tokens.values()))
    x = token_axis(alt.X, tokens)
    color = alt.Color("gate:N", sort=None, legend=alt.Legend(symbolOpacity=1))
    tooltip = ["token:N", "gate:N", *(alt.Tooltip(f"{name}:Q", format=".3f") for name in ("mean", "low", "high"))]
    y = alt.Y("low:Q", scale=alt.Scale(domain=[0, 1]), title="mean over the units")
    band = alt.Chart().mark_area(opacity=0.25).encode(x=x, y=y, y2="high:Q", color=color)
    line = alt.Chart().mark_line(point=True).encode(x=x, y="mean:Q", color=color, tooltip=tooltip)
    chart = (
        alt.layer(band, line, marked_rule(tokens))
        .properties(width=alt.Step(max(step(tokens), 28)), height=240)
        .facet(row=alt.Row("layer:N", sort=None, title=None), data=alt.NamedData("seeds"))
        .add_params(MARKED, tokens_parameter(tokens))
    )
    return Figure(
        "gates-over-seeds",
        f"Gates over {len(titles)} seeds: {', '.join(titles)}",
        "Models that differ in their seed alone. The line is the mean over the models of each gate's mean over its "
        "units, the band goes from the lowest model to the highest. A difference that is smaller than the bands may "
        "come from the seeds alone.",
        chart,
        {"seeds": rows},
    )
