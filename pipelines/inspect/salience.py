"""How much each token of a text counts for the next token: integrated gradients beside occlusion.

F is the log-probability of a next token. Integrated gradients (Sundararajan, Taly and Yan 2017, "Axiomatic Attribution
for Deep Networks") share F(text) - F(baseline) among the tokens; occlusion is what F loses when a token is deleted.
"""

import altair as alt
import numpy as np
import pandas as pd

from pipelines.inspect.axes import MARKED, marked_rule, step, token_axis, tokens_parameter
from pipelines.inspect.figure import Figure
from pipelines.text.special_tokens import UNKNOWN

GRADIENTS, OCCLUSION, ATTENTION = "integrated gradients", "occlusion", "attention (the mechanism)"
MAX_TOKENS = 128  # of a text
_ROWS = 8  # texts per call: the logits of all positions are large
TOP = 3  # tokens of the overlap


def integrated_gradients(network, ids: np.ndarray, target: int, steps: int) -> tuple[np.ndarray, float, float]:
    """Returns how the tokens share the log-probability of the next one, F.

    a_i = (v_i - b_i) . mean over k of dF/dv_i at b + (k - 1/2) / steps (v - b), for k = 1 ... steps

    v are the vectors of the tokens. The baseline b is a text of as many unknown tokens: <start>, then the vector of
    <unknown> at each position. Zeros would not do: near them the gradient of a layer normalization is very large.

    Args:
        network: ids int32 [batch, time] -> logits [batch, time, vocabulary], whose embedding is called "tokens".
        ids: int32 [time], with <start>.
        target: id of the next token.

    Returns:
        a float [time], F(text) - F(baseline), and the gap: that difference minus the sum of a, 0 with endless steps.
    """
    import tensorflow as tf

    embedding = network.get_layer("tokens")
    logits = _with_vectors(network, embedding)
    vectors = embedding(ids[None])  # [1, time, size]
    baseline = embedding(np.where(np.arange(len(ids)) == 0, ids, UNKNOWN)[None])
    total = tf.zeros_like(vectors[0])
    parts = (np.arange(steps) + 0.5) / steps
    for start in range(0, steps, _ROWS):
        part = tf.constant(parts[start : start + _ROWS, None, None], tf.float32)  # [rows, 1, 1]
        points = baseline + part * (vectors - baseline)
        with tf.GradientTape() as tape:
            tape.watch(points)
            values = log_probability(logits(np.repeat(ids[None], len(points), axis=0), points), target)
        total += tf.reduce_sum(tape.gradient(values, points), axis=0)
    scores = tf.reduce_sum((vectors - baseline)[0] * total / steps, axis=-1).numpy()
    ends = [log_probability(logits(ids[None], each), target).numpy()[0] for each in (vectors, baseline)]
    difference = float(ends[0] - ends[1])
    return scores, difference, difference - float(scores.sum())


def occlusion(network, ids: np.ndarray, target: int) -> np.ndarray:
    """Returns what the log-probability of the next token loses when a token is deleted, float [time]; <start> has 0.

    Args: as of `integrated_gradients`.
    """
    whole = log_probability(network(ids[None], training=False), target).numpy()[0]
    scores = [0.0]
    variants = np.array([np.delete(ids, i) for i in range(1, len(ids))], np.int32)  # [time - 1, time - 1]
    for start in range(0, len(variants), _ROWS):
        logits = network(variants[start : start + _ROWS], training=False)
        scores.extend(whole - log_probability(logits, target).numpy())
    return np.array(scores)


def agreement(first: np.ndarray, second: np.ndarray) -> tuple[float, int]:
    """Returns Spearman's rank correlation of two scores, float [n], and how many of their 3 largest are the same."""
    correlation = pd.Series(first).rank().corr(pd.Series(second).rank())
    top = [set(np.argsort(-each, kind="stable")[:TOP].tolist()) for each in (first, second)]
    return float(correlation), len(top[0] & top[1])


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


def figure(title: str, tokens: list[str], found: pd.DataFrame, target: str) -> Figure:
    """Returns the figure of `rows`: the scores of each method over the tokens."""
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
        f"{title}: what counts for {target!r} as the next token",
        "Integrated gradients and occlusion say, in units of log-probability, how much each token counts for the next "
        "one: blue speaks for it, red against it. Where attention is drawn, it is how the network reads, the mean over "
        "layers and heads at the last token: it does not say what counts.",
        chart,
        {"salience": found},
    )


def _with_vectors(network, embedding):
    """Returns the network as a function of ids [batch, time] and of vectors [batch, time, size], instead of theirs."""

    def logits(ids, vectors):
        look_up = embedding.call

        def given(inputs, **options):  # with tied weights the layer is called again, with reverse=True
            return look_up(inputs, **options) if options.get("reverse") else vectors

        embedding.call = given
        try:
            return network(ids, training=False)
        finally:
            del embedding.call

    return logits


def log_probability(logits, target: int):
    """Logits [batch, time, vocabulary] -> log-probability of `target` after the last position, [batch]."""
    import tensorflow as tf

    return tf.nn.log_softmax(logits[:, -1])[:, target]
