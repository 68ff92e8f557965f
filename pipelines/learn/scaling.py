"""Why attention divides the dot product by sqrt(d): measured on random vectors."""

from typing import NamedTuple

import keras
import numpy as np

from layers import Attention
from pipelines.learn.steps import Lesson, Step, Values

SIZES = (4, 16, 64, 256, 1024)
NUM_KEYS = 10
NUM_QUERIES = 2000


class Measured(NamedTuple):
    """Means over the random queries of one size d."""

    variance: float
    """Of the scores."""
    largest: float
    """The largest weight of a query."""
    gradient: float
    """Derivative of the largest weight with respect to its own score."""


def measure(score: str, size: int, seed: int) -> Measured:
    """Measures the attention of random queries to random keys; all numbers are drawn from N(0, 1).

    Args:
        score: "dot" or "scaled_dot".
        size: d.
        seed: of the draw. Both scores get the same vectors.
    """
    import tensorflow as tf

    random = np.random.default_rng([seed, size])
    queries = random.standard_normal((NUM_QUERIES, 1, size), "float32")
    keys = random.standard_normal((NUM_QUERIES, NUM_KEYS, size), "float32")
    _, weights = Attention(score)(queries, keys, return_weights=True)
    largest = keras.ops.max(weights, axis=-1)[:, 0]

    scores = np.einsum("bqd,bkd->bk", queries, keys) / (np.sqrt(size) if score == "scaled_dot" else 1)
    scores = tf.constant(scores, "float32")
    with tf.GradientTape() as tape:
        tape.watch(scores)
        best = tf.reduce_max(keras.layers.Softmax()(scores), axis=-1)
    gradient = tf.reduce_max(tape.gradient(best, scores), axis=-1)
    return Measured(float(np.var(scores)), float(keras.ops.mean(largest)), float(keras.ops.mean(gradient)))


def scaling(seed: int = 1) -> Lesson:
    """Returns the measurements with and without the division, for several sizes."""
    plain = np.array([measure("dot", size, seed) for size in SIZES])
    scaled = np.array([measure("scaled_dot", size, seed) for size in SIZES])
    columns = tuple(f"d={size}" for size in SIZES)
    rows = ("q . k", "q . k / sqrt(d)")

    def both(name, index, digits):
        return Values(name, np.stack([plain[:, index], scaled[:, index]]), rows, columns, digits)

    layers = 'layers.Attention("dot"), layers.Attention("scaled_dot")'
    first, last = columns[0], columns[-1]
    return Lesson(
        "scaling: why attention divides the dot product by sqrt(d)",
        f"What becomes of the weights when the vectors get longer? {NUM_QUERIES:,} random queries with {NUM_KEYS} "
        f"random keys each, all numbers from N(0, 1), for several sizes d (--seed {seed}).",
        (
            Step(
                "The variance of the scores",
                "Var(q . k) = Var(q_1 k_1) + ... + Var(q_d k_d) = d     Var(q . k / sqrt(d)) = 1",
                (both("variance", 0, 2),),
                text="A dot product adds up d independent products of variance 1. Its standard deviation is sqrt(d).",
            ),
            Step(
                "The largest weight of each query, in the mean",
                "weights = softmax(scores)",
                (both("largest weight", 1, 3),),
                layers,
                text="Scores that are far apart give one key nearly all the weight, although the vectors are random. "
                "With sqrt(d) the size of the vectors has no influence. "
                f"(If all {NUM_KEYS} weights were equal, the largest would be {1 / NUM_KEYS:.1f}.)",
            ),
            Step(
                "The gradient of the largest weight w with respect to its score",
                "dw / dscore = w (1 - w)",
                (both("gradient", 2, 4),),
                "keras.layers.Softmax, tf.GradientTape",
                text=f"Without the division it falls from {plain[0, 2]:.3f} ({first}) to {plain[-1, 2]:.3f} ({last}): "
                f"the softmax is saturated, and training is slow. With it, it is {scaled[0, 2]:.3f} and "
                f"{scaled[-1, 2]:.3f}.",
            ),
            Step(
                "Answer",
                text="Dividing by sqrt(d) brings the variance of the scores back to 1 for every d. So the softmax of a "
                "fresh network is neither sharp nor without a gradient, whatever the size of its heads is.",
            ),
        ),
    )
