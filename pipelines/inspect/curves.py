"""The figures of `inspect agreement`, `memory` and `gradients`: curves over a distance."""

import math

import altair as alt
import pandas as pd

from pipelines.inspect.axes import MARKED, above_zero, choice, marked_rule, step, token_axis, tokens_parameter
from pipelines.inspect.figure import Figure

_WIDTH, _HEIGHT = 620, 300
_SHARE = alt.Scale(domain=[0, 1])


def word_by_word(rows: pd.DataFrame, words: list[str], candidates: list[str]) -> Figure:
    """Returns the figure of the probability of each candidate after each word.

    Args:
        rows: model, position, candidate, probability.
        words: of the text.
    """
    lines = above_zero(alt.Chart(), "probability").encode(
        x=token_axis(alt.X, words),
        y=alt.Y("probability:Q", scale=alt.Scale(type="log"), title="probability of the next word"),
        color=alt.Color("candidate:N", sort=candidates, title="next word"),
        tooltip=["model:N", "candidate:N", alt.Tooltip("probability:Q", format=".3g")],
    )
    chart = (
        alt.layer(lines.mark_line(point=True), marked_rule(words))
        .properties(width=alt.Step(max(step(words), 36)), height=180)
        .facet(row=alt.Row("model:N", title=None, sort=list(dict.fromkeys(rows["model"]))), data=alt.NamedData("words"))
        .add_params(MARKED, tokens_parameter(words))
    )
    return Figure(
        "words",
        f"How likely {' and '.join(candidates)} are after each word",
        "After each word of the text, the probability of each candidate as the next word, on a logarithmic scale. What "
        "counts is which line is higher after the word before the verb.",
        chart,
        {"words": rows},
    )


def accuracy(rows: pd.DataFrame, by: str, source: str) -> Figure:
    """Returns the figure of the accuracy of agreement.

    Args:
        rows: model, the column `by`, label, accuracy, low, high, sentences.
        by: "distance" or "attractors".
        source: what the sentences are.
    """
    title = {"distance": "tokens between subject and verb", "attractors": "nouns of the other number between them"}[by]
    order = list(dict.fromkeys(rows.sort_values(by)["label"]))
    base = alt.Chart(alt.NamedData(by)).encode(x=alt.X("label:O", sort=order, title=title, axis=alt.Axis(labelAngle=0)))
    models = list(dict.fromkeys(rows["model"]))
    color = alt.Color("model:N", sort=models, legend=alt.Legend(symbolOpacity=1))
    tooltip = ["model:N", "label:O", alt.Tooltip("accuracy:Q", format=".3f"), "sentences:Q"]
    y = alt.Y("accuracy:Q", scale=_SHARE, title="accuracy")
    beside = alt.XOffset("model:N", sort=models)
    lines = base.mark_line(point=True).encode(y=y, color=color, xOffset=beside, tooltip=tooltip)
    bars = base.mark_rule(opacity=0.5).encode(y="low:Q", y2="high:Q", color=color, xOffset=beside)
    chance = alt.Chart(alt.NamedData(by)).mark_rule(strokeDash=[4, 4]).encode(y=alt.datum(0.5))
    return Figure(
        f"agreement-{by}",
        f"Agreement of subject and verb by {by}",
        f"The share of {source} in which the model finds the verb in the subject's number more likely than the other "
        "form, with 95 % intervals (Wilson). The dashed line is chance.",
        alt.layer(bars, lines, chance).properties(width=_WIDTH, height=_HEIGHT),
        {by: rows},
    )


def gradients(rows: pd.DataFrame, steps: pd.DataFrame) -> Figure:
    """Returns the figure of the gradients by distance.

    Args:
        rows: model, state, distance, lower, median, upper, relative.
        steps: model, state, steps: in how many 90 % are lost.
    """
    states = list(dict.fromkeys(rows["state"]))
    selected = alt.Chart(alt.NamedData("gradients")).transform_filter("datum.state == quantity")
    x = alt.X("distance:Q", title="tokens between the state and the loss")
    color = alt.Color("model:N", sort=None, legend=alt.Legend(symbolOpacity=1))
    band = (
        above_zero(selected, "lower")
        .mark_area(opacity=0.2)
        .encode(
            x=x,
            y=alt.Y("lower:Q", scale=alt.Scale(type="log"), title="norm of the gradient"),
            y2="upper:Q",
            color=color,
        )
    )
    tooltip = ["model:N", "distance:Q", *(alt.Tooltip(f"{name}:Q", format=".3g") for name in ("median", "relative"))]
    line = above_zero(selected, "median").mark_line().encode(x=x, y="median:Q", color=color, tooltip=tooltip)
    curves = alt.layer(band, line).properties(
        width=_WIDTH, height=_HEIGHT, title="median and quartiles over many places of the text"
    )
    heat = (
        alt.Chart(alt.NamedData("gradients"))
        .transform_calculate(name="datum.model + ', ' + datum.state")
        .mark_rect()
        .encode(
            x=alt.X("distance:O", title="tokens between the state and the loss", axis=alt.Axis(labelOverlap=True)),
            y=alt.Y("name:N", sort=None, title=None, axis=alt.Axis(labelLimit=400)),
            color=alt.Color(
                "relative:Q",
                scale=alt.Scale(type="log", scheme="viridis", domain=[1e-4, 1], clamp=True),
                title="of distance 0",
            ),
            tooltip=["name:N", "distance:O", alt.Tooltip("relative:Q", format=".3g")],
        )
        .properties(width=_WIDTH, title="every layer: what is left of the gradient")
    )
    chart = alt.vconcat(curves, heat).resolve_scale(color="independent", x="independent")
    chart = chart.add_params(choice("quantity", states, [name.replace("_", " ") for name in states], "state "))
    return Figure(
        "gradients",
        "How much of the gradient reaches earlier states",
        "The loss of one token is differentiated by the state after each earlier token. The scale is logarithmic: a "
        "straight line that falls loses the same share at each step. The table has the steps in which 90 % are lost.",
        chart,
        {"gradients": rows},
        table=steps,
    )


def steps_text(value: float) -> str:
    """Returns in how many steps 90 % of a gradient are lost, in words."""
    if math.isnan(value):
        return "nothing is left to measure"
    return "90 % is lost in no measured distance" if math.isinf(value) else f"90 % is lost every {value:.1f} steps"


def memory(rows: pd.DataFrame, of_subject: bool = False) -> Figure:
    """Returns the figure of the probes, a chart for each state.

    Args:
        rows: model, state, weights ("trained" or "random"), k, accuracy, low, high, floor.
        of_subject: whether the probes ask for the number of the subject, and not for a token.
    """
    rows = rows.assign(of=[name.replace("_", " ") for name in rows["state"]])
    by_state = alt.Facet("of:N", sort=list(dict.fromkeys(rows["of"])), title=None)
    x = alt.X("k:Q", title="words after the subject" if of_subject else "tokens ago", axis=alt.Axis(tickMinStep=1))
    y = alt.Y("accuracy:Q", scale=_SHARE, title="accuracy of the probe")
    base = alt.Chart().encode(x=x, color=alt.Color("model:N", sort=None, legend=alt.Legend(symbolOpacity=1)))
    dash = alt.StrokeDash("weights:N", title="weights", sort=["trained", "random"])
    lines = base.mark_line().encode(y=y, strokeDash=dash)
    points = base.mark_circle(size=45, opacity=1).encode(
        y=y,
        detail="weights:N",
        tooltip=["model:N", "weights:N", "k:Q", *(alt.Tooltip(f"{n}:Q", format=".3f") for n in ("accuracy", "floor"))],
    )
    intervals = base.mark_rule(opacity=0.4).encode(y=alt.Y("low:Q", scale=_SHARE), y2="high:Q")
    floor = alt.Chart().mark_line(color="#868e96", strokeDash=[2, 3]).encode(x=x, y="mean(floor):Q")
    chart = (
        alt.layer(intervals, lines, points, floor)
        .properties(width=_WIDTH // 2, height=220)
        .facet(by_state, columns=2, data=alt.NamedData("memory"))
    )
    question = (
        "whether the subject is singular or plural, k words after it and before its verb, on sentences"
        if of_subject
        else "which token was read k steps before the last one, on text"
    )
    return Figure(
        "memory",
        "The number of the subject, k words after it" if of_subject else "Which token stood k steps ago",
        f"A linear classifier (probe) predicts from the state {question} that it was not fitted to, with 95 % "
        "intervals (Wilson). The dotted grey line always answers what is most frequent; the control reads the states "
        "of the same network with random weights.",
        chart,
        {"memory": rows},
    )
