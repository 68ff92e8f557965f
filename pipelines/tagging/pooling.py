"""Makes one conditional random field of the two of `--model best`: the network's and the linear model's.

The scores of both are weighted with 1 - w and w, those of the tags and those of the transitions: that is the logarithm
of the weighted geometric mean of the two distributions, up to a constant, and so a conditional random field again. The
weight has the highest likelihood of the validation sentences.

Source: Smith, Cohn and Osborne 2005, "Logarithmic Opinion Pools for Conditional Random Fields".
"""

import keras
import numpy as np

from pipelines.data.batching import bucketed_order
from pipelines.support import console
from pipelines.tagging import batches as sentence_batches
from pipelines.tagging import crf_solver, networks
from pipelines.tagging.batches import EncodedSentences
from pipelines.tagging.crf_solver import Potentials, Rules

_WEIGHTS = np.linspace(0, 1, 11)  # of the linear model
_BATCH_SIZE = 64


def pool(model: keras.Model, valid: EncodedSentences, rules: Rules) -> None:
    """Fits the weight to validation sentences, and gives `model` the pooled scores.

    Args:
        model: of `networks.build`, trained, for "best".
    """
    members = networks.NETWORK_LOGITS, networks.LINEAR_LOGITS
    order = bucketed_order(valid.lengths, _BATCH_SIZE, seed=0, epoch=0)
    compute = keras.Model(model.input, [model.get_layer(name).output for name in members])
    rows = np.concatenate([np.arange(valid.starts[row], valid.ends[row]) for row in order])
    unary: list[list[np.ndarray]] = [[], []]
    for inputs, tags in sentence_batches.batches(valid, order, _BATCH_SIZE):
        del tags
        mask = keras.ops.convert_to_numpy(keras.ops.any(inputs["hashes"] != 0, axis=-1))
        for found, scores in zip(unary, compute(inputs, training=False), strict=True):
            found.append(keras.ops.convert_to_numpy(scores)[mask])
    layers = [model.get_layer(name) for name in ("crf", networks.LINEAR_CRF)]
    of_members = []
    for found, crf in zip(unary, layers, strict=True):
        others = (keras.ops.convert_to_numpy(each) for each in (crf.transitions, crf.start, crf.end))
        of_members.append(Potentials(np.concatenate(found), *others))
    data = valid.tags[rows], valid.lengths[order], rules
    likelihoods = [crf_solver.log_likelihood(mixed(*of_members, weight), *data) for weight in _WEIGHTS]
    weight = float(_WEIGHTS[int(np.argmax(likelihoods))])
    console.say(f"  of the scores, {1 - weight:.0%} are the network's and {weight:.0%} those of the linear model")
    chosen = mixed(*of_members, weight)
    model.get_layer(networks.MEAN_LOGITS).weight = weight
    for variable, value in zip((layers[0].transitions, layers[0].start, layers[0].end), chosen[1:], strict=True):
        variable.assign(value)


def mixed(one: Potentials, other: Potentials, weight: float) -> Potentials:
    """Returns (1 - weight) times the scores of one and weight times those of the other."""
    return Potentials(*((1 - weight) * a + weight * b for a, b in zip(one, other, strict=True)))
