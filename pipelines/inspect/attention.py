"""`inspect attention`: where each head of each layer looks."""

import altair as alt
import numpy as np
import pandas as pd

from pipelines.inspect.axes import MARKED, choice, shown, step, token_axis, tokens_parameter
from pipelines.inspect.figure import Figure
from pipelines.inspect.trace import Attention, Trace
from pipelines.support.errors import UserError

MARKED_KEYS = alt.param(name="marked_keys", value=[])  # the live page sets it
_SMALL = 110  # width of a head in the overview, in pixels


def figures(trace: Trace) -> list[Figure]:
    """Returns the figures of self-attention and of attention to the source, as far as the model has them.

    Raises:
        UserError: the model has no attention.
    """
    if not trace.attention:
        raise UserError(
            f"{trace.model} has no attention: use `inspect gates` or `inspect states`, or train --model transformer or "
            "a translator with --model attention"
        )
    groups = {}
    for layer, attention in trace.attention.items():
        kind = "cross" if attention.is_cross else "encoder" if layer.startswith("encoder") else "self"
        groups.setdefault(kind, {})[layer] = attention
    return [_figure(trace, kind, layers) for kind, layers in groups.items()]


def _figure(trace: Trace, kind: str, layers: dict[str, Attention]) -> Figure:
    first = next(iter(layers.values()))
    heads = len(first.weights)
    data = {"weights": weight_rows(layers), "heads": head_rows(layers)}
    charts = [weight_chart(first.queries, first.keys).properties(title="one head")]
    if len(layers) * heads > 1:
        charts += [_overview(first), _summary()]
    chart = alt.vconcat(*charts, spacing=18).resolve_scale(color="independent", x="independent", y="independent")
    chart = chart.add_params(
        MARKED,
        MARKED_KEYS,
        tokens_parameter(first.queries, "queries"),
        tokens_parameter(first.keys, "keys"),
        choice("layer", list(layers)),
        choice("head", list(range(1, heads + 1))),
    )
    of = {"cross": "the source", "encoder": "the source, by itself", "self": "the text itself"}[kind]
    return Figure(
        "attention" if kind == "self" else f"attention-{kind}",
        f"Attention of {trace.model} to {of}",
        "Each row is a token that looks (query), each column a token that it looks at (key); a row sums to 1. These "
        "are the weights of the mechanism. They do not show how much a token matters for the answer.",
        chart,
        data,
        table=data["heads"],
    )


def weight_rows(layers: dict[str, Attention]) -> pd.DataFrame:
    """Returns layer, head (from 1), query, key, weight, and the two tokens."""
    frames = []
    for layer, attention in layers.items():
        heads, queries, keys = attention.weights.shape
        frames.append(
            pd.DataFrame(
                {
                    "layer": layer,
                    "head": np.repeat(np.arange(1, heads + 1), queries * keys),
                    "query": np.tile(np.repeat(np.arange(queries), keys), heads),
                    "key": np.tile(np.arange(keys), heads * queries),
                    "weight": attention.weights.ravel(),
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


def head_rows(layers: dict[str, Attention]) -> pd.DataFrame:
    """Returns layer, head, the mean weight on each kind of key, the kind with most, and the entropy in bits."""
    rows = []
    for layer, attention in layers.items():
        for head, weights in enumerate(attention.weights, start=1):
            by_kind = looks_at(weights, attention.is_cross)
            kind = max(by_kind, key=by_kind.get)
            entropy = -(weights * np.log2(np.maximum(weights, 1e-12))).sum(1).mean()
            rows.append(
                {"layer": layer, "head": head, "mostly": kind, "share": by_kind[kind], "entropy": float(entropy)}
            )
    return pd.DataFrame(rows)


def looks_at(weights: np.ndarray, is_cross: bool) -> dict[str, float]:
    """Returns the mean weight on each kind of key over the queries.

    Self-attention: itself, the token before, the token after, the first token, others. Attention to a source: the same
    position, the first token, the last token, others.

    Args:
        weights: float [queries, keys].
    """
    queries, keys = weights.shape
    rows, columns = np.indices(weights.shape)
    if is_cross:
        kinds = {"the same position": columns == rows, "the last token": columns == keys - 1}
    else:
        kinds = {
            "itself": columns == rows,
            "the token before": columns == rows - 1,
            "the token after": columns == rows + 1,
        }
    kinds["the first token"] = columns == 0
    rest, shares = np.ones_like(weights, bool), {}
    for name, mask in kinds.items():
        mask = mask & rest
        shares[name] = float((weights * mask).sum() / queries)
        rest &= ~mask
    return shares | {"others": float((weights * rest).sum() / queries)}


def weight_chart(queries: list[str] | None, keys: list[str] | None) -> alt.LayerChart:
    """Returns the heat map of the chosen head in `weight_rows` ("weights").

    Args:
        queries, keys: the tokens; None for those of the parameters "queries" and "keys".
    """
    size = min(step(keys), 26)
    x = token_axis(alt.X, keys, "key", "keys", "key")
    y = token_axis(alt.Y, queries, "query", "queries", "query")
    selected = (
        alt.Chart(alt.NamedData("weights"))
        .transform_filter("datum.layer == layer && datum.head == head")
        .transform_calculate(position="datum.query", from_="queries[datum.query]", to="keys[datum.key]")
    )
    heat = selected.mark_rect().encode(
        x=x,
        y=y,
        color=alt.Color("weight:Q", scale=alt.Scale(domain=[0, 1], scheme="viridis"), title="weight"),
        tooltip=[
            alt.Tooltip("from_:N", title="query"),
            alt.Tooltip("to:N", title="key"),
            alt.Tooltip("weight:Q", format=".3f"),
        ],
    )
    frame = (
        selected.transform_filter("indexof(marked, datum.query) >= 0 || indexof(marked_keys, datum.key) >= 0")
        .mark_rect(fill=None, stroke="#e8590c", strokeWidth=1.5)
        .encode(x=x, y=y)
    )
    return (heat + frame).properties(width=alt.Step(size), height=alt.Step(min(size, 20)))


def _overview(attention: Attention) -> alt.Chart:
    keys = len(attention.keys)
    size = max(2, _SMALL // max(keys, 1))
    return (
        alt.Chart(alt.NamedData("weights"))
        .mark_rect()
        .encode(
            x=alt.X("key:O", axis=None),
            y=alt.Y("query:O", axis=None),
            color=alt.Color("weight:Q", scale=alt.Scale(domain=[0, 1], scheme="viridis"), legend=None),
            row=alt.Row("layer:N", title=None, header=alt.Header(labelAngle=0, labelAlign="left")),
            column=alt.Column("head:O", title="head"),
        )
        .properties(width=alt.Step(size), height=alt.Step(size), title="all heads")
    )


def _summary() -> alt.Chart:
    return (
        alt.Chart(alt.NamedData("heads"))
        .transform_calculate(name="datum.layer + ', head ' + datum.head")
        .mark_bar()
        .encode(
            x=alt.X("share:Q", scale=alt.Scale(domain=[0, 1]), title="mean weight on what the head mostly looks at"),
            y=alt.Y("name:N", title=None, sort=None),
            color=alt.Color("mostly:N", title="mostly looks at"),
            tooltip=[
                "name:N",
                "mostly:N",
                alt.Tooltip("share:Q", format=".2f"),
                alt.Tooltip("entropy:Q", format=".2f", title="entropy (bits)"),
            ],
        )
        .properties(width=320, title="what each head mostly looks at")
    )


def without_attention(trace: Trace) -> str:
    """Returns a line about a model that has no attention: of a translator, what it writes nevertheless."""
    if "decoder" not in trace.tokens:
        return f"{trace.model} has no attention"
    written = " ".join(shown(token) for token in trace.tokens["decoder"])
    return f"{trace.model} has no attention: it knows the text from its state alone, and writes {written}"


def overview_text(trace: Trace) -> list[str]:
    """Returns one line per head for the terminal."""
    rows = head_rows(trace.attention)
    return [
        f"{row.layer}, head {row.head}: mostly {row.mostly} ({row.share:.2f}), entropy {row.entropy:.2f} bits"
        for row in rows.itertuples()
    ]
