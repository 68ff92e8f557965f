"""How much each token of a text counts for a prediction: integrated gradients beside occlusion.

F is the log-probability of a next token, or the log-odds of a label or a tag (explained.py). Integrated gradients
(Sundararajan, Taly and Yan 2017, "Axiomatic Attribution for Deep Networks") share F(text) - F(baseline) among the
tokens; occlusion is what F loses without a token.
"""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING

import altair as alt
import numpy as np
import pandas as pd

from pipelines.inspect.axes import MARKED, marked_rule, step, token_axis, tokens_parameter
from pipelines.inspect.figure import Figure

if TYPE_CHECKING:
    import tensorflow as tf

    Vectors = dict[str, tf.Tensor]

GRADIENTS, OCCLUSION, ATTENTION = "integrated gradients", "occlusion", "attention (the mechanism)"
ROWS = 16  # texts that the network reads at once
TOP = 3  # tokens of the overlap


@dataclasses.dataclass(frozen=True)
class Explained:
    """A number F that a network computes for a text, as a function of the vectors of its tokens.

    Attributes:
        tokens: of the text.
        target: what F is the log-probability or the log-odds of, such as "'was' as the next token".
        vectors: embedding layer or input of the network -> its vectors of the text, float [1, time, ...].
        baseline: the same of a text without information.
        value: vectors, float [rows, time, ...] each -> F, float [rows].
        without: sets of positions, all of one size -> F of the text without these tokens, float [sets].
        tokens_to_explain: positions of the tokens that differ from the baseline.
        attention: weights of the token that F is about, float [time], the mean over layers and heads; None where the
            network has no attention.
    """

    tokens: list[str]
    target: str
    vectors: "Vectors"
    baseline: "Vectors"
    value: "Callable[[Vectors], tf.Tensor]"
    without: Callable[[list[list[int]]], np.ndarray]
    tokens_to_explain: list[int]
    attention: np.ndarray | None = None


def integrated_gradients(explained: Explained, steps: int) -> tuple[np.ndarray, float, float]:
    """Returns how the tokens share F.

    a_i = (v_i - b_i) . mean over k of dF/dv_i at b + (k - 1/2) / steps (v - b), for k = 1 ... steps

    v are the vectors of the tokens, b those of the baseline. Where a token has several vectors, a_i is their sum.

    Returns:
        a float [time], F(text) - F(baseline), and the gap: that difference minus the sum of a, 0 with endless steps.
    """
    import tensorflow as tf

    vectors, baseline = explained.vectors, explained.baseline
    difference = {name: vectors[name] - baseline[name] for name in vectors}
    totals = dict.fromkeys(vectors, 0.0)
    parts = (np.arange(steps, dtype=np.float32) + 0.5) / steps
    for start in range(0, steps, ROWS):
        rows = parts[start : start + ROWS]
        points = {
            name: baseline[name] + rows.reshape(-1, *[1] * (len(each.shape) - 1)) * each
            for name, each in difference.items()
        }
        with tf.GradientTape() as tape:
            tape.watch(points)
            values = explained.value(points)
        for name, gradient in tape.gradient(values, points).items():
            totals[name] += tf.reduce_sum(gradient, axis=0)
    scores = np.zeros(len(explained.tokens))
    for name, total in totals.items():
        shares = (difference[name][0] * total / steps).numpy()  # [time, ...]
        scores += shares.reshape(len(scores), -1).sum(1)
    change = float(explained.value(vectors)[0] - explained.value(baseline)[0])
    return scores, change, change - float(scores.sum())


def occlusion(explained: Explained) -> np.ndarray:
    """Returns what F loses without each token, float [time]; 0 for those that are in the baseline, too."""
    scores = np.zeros(len(explained.tokens))
    whole = float(explained.value(explained.vectors)[0])
    places = explained.tokens_to_explain
    for start in range(0, len(places), ROWS):
        rows = places[start : start + ROWS]
        scores[rows] = whole - explained.without([[place] for place in rows])
    return scores


def agreement(first: np.ndarray, second: np.ndarray) -> tuple[float, int]:
    """Returns Spearman's rank correlation of two scores, float [n], and how many of their 3 largest are the same."""
    correlation = pd.Series(first).rank().corr(pd.Series(second).rank())
    top = [set(np.argsort(-each, kind="stable")[:TOP].tolist()) for each in (first, second)]
    return float(correlation), len(top[0] & top[1])


def look(title: str, explained: Explained, steps: int) -> tuple[list[Figure], list[str]]:
    """Returns the figure of what a model computes for a text, and two lines: what is explained, how the methods agree.

    Args:
        title: of the model.
        steps: of the integrated gradients.
    """
    scores, change, gap = integrated_gradients(explained, steps)
    by_method = {GRADIENTS: scores, OCCLUSION: occlusion(explained)}
    correlation, shared = agreement(*(each[explained.tokens_to_explain] for each in by_method.values()))
    if explained.attention is not None:
        by_method[ATTENTION] = explained.attention
    notes = [
        f"{title}: {explained.target} is {change:.2f} nats above the baseline; the integrated gradients explain all "
        f"but {gap:+.3f} of it ({steps} steps)",
        f"{title}: rank correlation of integrated gradients and occlusion {correlation:.2f}, {shared} of their "
        f"{min(TOP, len(explained.tokens_to_explain))} largest tokens are the same",
    ]
    return [figure(title, explained, rows(explained.tokens, by_method))], notes


def rows(tokens: list[str], scores: dict[str, np.ndarray]) -> pd.DataFrame:
    """Returns method, position, token and score.

    Args:
        scores: method -> float [tokens].
    """
    found = [
        (method, position, token, float(values[position]))
        for method, values in scores.items()
        for position, token in enumerate(tokens)
    ]
    return pd.DataFrame(found, columns=["method", "position", "token", "score"])


def figure(title: str, explained: Explained, found: pd.DataFrame) -> Figure:
    """Returns the figure of `rows`: the scores of each method over the tokens."""
    tokens = explained.tokens
    methods = found["method"].unique().tolist()
    bars = (
        alt.Chart()
        .mark_bar()
        .encode(
            x=token_axis(alt.X, tokens),
            y=alt.Y("score:Q", title=None),
            color=alt.condition("datum.score < 0", alt.value("#c92a2a"), alt.value("#1c7ed6")),
            tooltip=["token:N", "method:N", alt.Tooltip("score:Q", format=".3f")],
        )
    )
    chart = (
        alt.layer(bars, marked_rule(tokens))
        .properties(width=alt.Step(max(step(tokens), 28)), height=130)
        .facet(row=alt.Row("method:N", sort=methods, title=None), data=alt.NamedData("salience"))
        .resolve_scale(y="independent")
        .add_params(MARKED, tokens_parameter(tokens))
    )
    return Figure(
        "salience",
        f"{title}: what counts for {explained.target}",
        "Integrated gradients and occlusion say, in nats, how much each token counts for it: blue speaks for it, red "
        "against it. Where attention is drawn, it is how the network reads, the mean over layers and heads: it does "
        "not say what counts.",
        chart,
        {"salience": found},
    )
