"""Makes one conditional random field of the two of `--model best`: the network's and the linear model's.

The scores of both are weighted with 1 - w and w, those of the tags and those of the transitions: that is the logarithm
of the weighted geometric mean of the two distributions, up to a constant, and so a conditional random field again. The
weight is the one with the highest F1 of the spans of the validation sentences, or accuracy. So the result is at least
as good there as each of the two.

Source: Smith, Cohn and Osborne 2005, "Logarithmic Opinion Pools for Conditional Random Fields".
"""

import keras
import numpy as np
import tensorflow as tf

from pipelines.data.batching import bucketed_order
from pipelines.support import console
from pipelines.tagging import batches as sentence_batches
from pipelines.tagging import crf_solver, metrics, networks
from pipelines.tagging.batches import EncodedSentences
from pipelines.tagging.crf_solver import Potentials, Rules

_WEIGHTS = np.linspace(0, 1, 11)  # of the linear model
_BATCH_SIZE = 64


def pool(model: keras.Model, valid: EncodedSentences, tags: tuple[str, ...], spans: bool) -> None:
    """Fits the weight to validation sentences, and gives `model` the pooled scores.

    Args:
        model: of `networks.build`, trained, for "best".
        tags: names of the tags.
        spans: whether the tags mark spans.
    """
    order = bucketed_order(valid.lengths, _BATCH_SIZE, seed=0, epoch=0)
    rows = np.concatenate([np.arange(valid.starts[row], valid.ends[row]) for row in order])
    expected, lengths = valid.tags[rows], valid.lengths[order]
    members = _potentials(model, valid, order)
    rules = Rules.of_spans(tags) if spans else Rules.none(len(tags))
    measure = metrics.span_f1 if spans else metrics.accuracy

    def named(found: np.ndarray) -> list[list[str]]:
        return [[tags[i] for i in row] for row in np.split(found, np.cumsum(lengths)[:-1])]

    def quality(weight: float) -> tuple[float, float]:
        """Returns the measure and, to choose between equals, the likelihood."""
        scores = mixed(*members, weight)
        likelihood = crf_solver.log_likelihood(scores, expected, lengths, rules)
        return measure(named(crf_solver.decode(scores, lengths, rules)), named(expected)), likelihood

    weight = float(max(_WEIGHTS, key=quality))
    console.say(f"  of the scores, {1 - weight:.0%} are the network's and {weight:.0%} those of the linear model")
    model.get_layer(networks.MEAN_LOGITS).weight = weight
    crf, chosen = model.get_layer("crf"), mixed(*members, weight)
    for variable, value in zip((crf.transitions, crf.start, crf.end), chosen[1:], strict=True):
        variable.assign(value)


def mixed(one: Potentials, other: Potentials, weight: float) -> Potentials:
    """Returns (1 - weight) times the scores of one and weight times those of the other."""
    return Potentials(*((1 - weight) * a + weight * b for a, b in zip(one, other, strict=True)))


def _potentials(model: keras.Model, valid: EncodedSentences, order: np.ndarray) -> list[Potentials]:
    """Returns the scores of the network and those of the linear model, of the rows in `order`."""
    outputs = [model.get_layer(name).output for name in (networks.NETWORK_LOGITS, networks.LINEAR_LOGITS)]
    both = keras.Model(model.input, outputs)
    signature = {name: tf.TensorSpec(each.shape, each.dtype) for name, each in model.input.items()}
    compute = tf.function(lambda inputs: both(inputs, training=False), input_signature=[signature], autograph=False)
    unary: list[list[np.ndarray]] = [[], []]
    for inputs, _ in sentence_batches.batches(valid, order, _BATCH_SIZE):
        mask = np.any(inputs["hashes"].numpy() != 0, axis=-1)
        for found, scores in zip(unary, compute(inputs), strict=True):
            found.append(scores.numpy()[mask])
    layers = [model.get_layer(name) for name in ("crf", networks.LINEAR_CRF)]
    return [
        Potentials(np.concatenate(found), *(each.numpy() for each in (crf.transitions, crf.start, crf.end)))
        for found, crf in zip(unary, layers, strict=True)
    ]
