"""Attention as a soft look-up in a dictionary, computed by `layers.Attention`."""

import keras
import numpy as np

from layers import Attention
from layers.attention import SCORES
from pipelines.learn.steps import Lesson, Step, Values

WORDS = ("I", "gotta", "hit", "the", "road")
ROLES = ("subject", "verb", "object")
MEANINGS = ("person", "action", "place")
KEYS = np.array([[1, 0, 0], [0, 0.5, 0], [0, 1, 0], [0, 0, 0.5], [0, 0, 1]])
VALUES = np.array([[1, 0, 0], [0, 0.3, 0], [0, 1, 0.1], [0, 0, 0], [0, 0, 1]])
_DIGITS = 2


def self_attention() -> tuple[np.ndarray, np.ndarray]:
    """Returns the weights [5, 5] and the results [5, 3] of self-attention without projections: y_i = sum_j a_ij x_j.

    The vectors x are `KEYS`: each word is query, key and value at once, and a_i = softmax over j of x_i . x_j.
    """
    x = keras.ops.convert_to_tensor([KEYS], "float32")
    results, weights = Attention("dot")(x, x, return_weights=True)
    return tuple(keras.ops.convert_to_numpy(each)[0] for each in (weights, results))


def attend(queries: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the scores, the weights and the results of queries for the five words.

    Args:
        queries: float [n, 3].

    Returns:
        scores and weights [n, 5], results [n, 3].
    """
    layer = Attention("scaled_dot")
    queries, keys, values = (keras.ops.convert_to_tensor([x], "float32") for x in (queries, KEYS, VALUES))
    results, weights = layer(queries, values, keys=keys, return_weights=True)
    scores = SCORES["scaled_dot"].scores(layer, queries, keys)
    scores, weights, results = (keras.ops.convert_to_numpy(x)[0] for x in (scores, weights, results))
    return scores, weights, results


def attention(query: tuple[float, ...]) -> Lesson:
    """Returns the steps of the look-up of one query.

    Args:
        query: three numbers: how much it asks for the subject, the verb and the object.
    """
    scores, weights, results = (x[0] for x in attend(np.array([query])))
    factors = (0.25, 1, 4)
    sharper = attend(np.array([query]) * np.array(factors)[:, None])[1]
    together = 6 * np.eye(3)
    own_weights, own_results = self_attention()
    return Lesson(
        "attention: a soft look-up in a dictionary",
        'A dictionary such as {"subject": "I", "verb": "hit", "object": "road"} returns the value of the one key that '
        "equals the query. How does attention look up a value if keys and queries are vectors, which are never quite "
        "equal?",
        (
            Step(
                "The smallest self-attention: no weights to learn",
                "a_ij = softmax over j of x_i . x_j     y_i = sum over j of a_ij x_j",
                (
                    Values("x", KEYS, WORDS, ROLES, digits=1),
                    Values("a", own_weights, WORDS, WORDS, digits=_DIGITS),
                    Values("y", own_results, WORDS, ROLES, digits=_DIGITS),
                ),
                'layers.Attention("dot")',
                text="Each word is compared with every word, and becomes a mean of all of them, to which similar words "
                "contribute most. One vector plays three parts: it asks (query), it is compared (key), and it is what "
                "is returned (value). The scores are symmetric: a verb cannot look for its subject unless the subject "
                "looks for the verb as much. So a Transformer gives each part a matrix of its own: q = W_Q x, "
                "k = W_K x, v = W_V x. The next steps begin with such keys and values.",
            ),
            Step(
                "The words, each with a key and a value",
                "a row of K and V for each word",
                (
                    Values("K", KEYS, WORDS, ROLES, digits=1),
                    Values("V", VALUES, WORDS, MEANINGS, digits=1),
                ),
                text="The key says what the word answers to, the value what it contributes. In a Transformer both are "
                "learned projections of the word's vector.",
            ),
            Step(
                "The query",
                values=(Values("q", np.array(query, float), columns=ROLES, digits=1),),
                text="What is looked for. --query 6 0 0 asks for the subject, --query 0 0 6 for the object.",
            ),
            Step(
                "The scores: how similar is each key to the query?",
                "score = q . k / sqrt(d)     d = 3 numbers in a key",
                (Values("score", scores, columns=WORDS, digits=_DIGITS),),
                'layers.Attention("scaled_dot")',
            ),
            Step(
                "The weights: every key fits a little, and together they are 1",
                "weight = softmax(score)",
                (Values("weight", weights, columns=WORDS, digits=_DIGITS),),
                'layers.Attention("scaled_dot")',
            ),
            Step(
                "The result: the weighted mean of the values",
                "result = sum of weight * v",
                (Values("result", results, columns=MEANINGS, digits=_DIGITS),),
                'layers.Attention("scaled_dot")',
                text=_most(weights),
            ),
            Step(
                "From soft to hard: the same query, longer and shorter",
                "weight = softmax(factor q . k / sqrt(d))",
                (Values("weight", sharper, tuple(f"{factor:g} q" for factor in factors), WORDS, digits=_DIGITS),),
                'layers.Attention("scaled_dot")',
                text="A short query gives nearly equal weights, a mean of all values. A long one gives nearly all "
                "weight to the most similar key, as a dictionary does. Between them the weights have a gradient, so "
                "keys and queries can be learned.",
            ),
            Step(
                "Three queries at once: a row of Q each",
                "result = softmax(Q K^T / sqrt(d)) V",
                (
                    Values("Q", together, columns=ROLES, digits=0),
                    Values("result", attend(together)[2], ROLES, MEANINGS, digits=_DIGITS),
                ),
                'layers.Attention("scaled_dot")',
                text="One product of matrices compares all queries with all keys. In self-attention there is a query "
                "for each word.",
            ),
        ),
    )


def _most(weights: np.ndarray) -> str:
    if np.ptp(weights) < 1e-6:
        return "No key is more similar than another: the result is the plain mean of the values."
    best = int(weights.argmax())
    return f'"{WORDS[best]}" has the largest weight, {weights[best]:.2f}; the other words contribute the rest.'
