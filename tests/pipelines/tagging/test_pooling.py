import keras
import numpy as np
import pytest

from layers import CRF
from pipelines.data.tagged_sentences import TaggedSentences
from pipelines.tagging import batches, crf_solver, features, linear, networks, pooling
from pipelines.tagging.config import TaggingConfig
from pipelines.tagging.crf_solver import Potentials, Rules
from pipelines.tagging.servable import Tagger
from pipelines.tagging.tagged import tag_sentences
from tests.pipelines.tagging.small import SMALL, SPAN_TAGS
from tests.pipelines.tagging.test_linear import TAGS, TOKENS

RULES = Rules.of_spans(SPAN_TAGS)
LENGTHS = np.array([3, 1, 4])


def random_potentials(seed):
    rng, k = np.random.default_rng(seed), len(SPAN_TAGS)
    return Potentials(*(rng.normal(size=shape) for shape in ((LENGTHS.sum(), k), (k, k), k, k)))


def test_the_likelihood_is_that_of_the_layer():
    scores, tags = random_potentials(0), np.array([0, 2, 4, 1, 4, 1, 3, 3])
    crf = CRF(**RULES._asdict())
    crf.build((None, None, len(SPAN_TAGS)))
    for variable, value in zip((crf.transitions, crf.start, crf.end), scores[1:], strict=True):
        variable.assign(value)
    rows = np.split(np.arange(len(tags)), np.cumsum(LENGTHS)[:-1])
    expected = sum(float(crf.log_likelihood(scores.unary[row][None], tags[row][None])[0]) for row in rows)
    np.testing.assert_allclose(crf_solver.log_likelihood(scores, tags, LENGTHS, RULES), expected, rtol=1e-5)


def test_pooled_scores_are_those_of_the_product_of_the_distributions():
    one, other = random_potentials(1), random_potentials(2)
    sequences = [
        np.array([4, 4, 4, 4, 4, 4, 4, 4]),
        np.array([0, 2, 4, 1, 4, 1, 3, 3]),
        np.array([1, 3, 0, 0, 0, 2, 4, 4]),
    ]
    pooled = pooling.mixed(one, other, 0.3)
    logs = [
        np.array([crf_solver.log_likelihood(scores, tags, LENGTHS, RULES) for tags in sequences])
        for scores in (one, other, pooled)
    ]
    # Up to one constant for all sequences.
    np.testing.assert_allclose(np.ptp(logs[2] - 0.7 * logs[0] - 0.3 * logs[1]), 0, atol=1e-9)


@pytest.fixture(scope="module")
def trained():
    """A model of a random network and a linear model that knows the sentences; its tokenizer, and the sentences."""
    config = TaggingConfig(**SMALL, model="best").resolve()
    tokenizer = features.train("whitespace", TOKENS, 100, 20, 1000, reads=("ids", "hashes"))
    sentences = TaggedSentences(TOKENS, TAGS, [" ".join(each) for each in TOKENS], [0] * len(TOKENS), {})
    encoded = batches.encode(tokenizer, sentences, SPAN_TAGS, 100)
    counted = linear.count(encoded, len(SPAN_TAGS))
    keras.utils.set_random_seed(1)
    sizes = networks.LinearSizes(len(counted.hashes), counted.num_weights)
    model = networks.build(config, tokenizer, SPAN_TAGS, True, sizes)
    members = model.get_layer(networks.LINEAR_LOGITS), model.get_layer(networks.LINEAR_CRF)
    linear.fit(*members, counted, encoded, 0.1)
    return model, tokenizer, encoded


def test_the_network_alone_is_trained(trained):
    model, _, encoded = trained
    of_linear = {
        weight.path
        for name in (networks.LINEAR_LOGITS, networks.LINEAR_CRF)
        for weight in model.get_layer(name).weights
    }
    assert of_linear and not of_linear & {weight.path for weight in model.trainable_weights}
    inputs, _ = next(iter(batches.batches(encoded, np.arange(3), 3)))
    network = keras.Model(model.input, model.get_layer(networks.NETWORK_LOGITS).output)
    mask = keras.ops.convert_to_numpy(inputs["words"] != 0)
    scores = [keras.ops.convert_to_numpy(each(inputs, training=False))[mask] for each in (model, network)]
    np.testing.assert_allclose(*scores, atol=1e-6)


@pytest.mark.long
def test_a_network_that_knows_nothing_has_no_part(trained):
    model, tokenizer, encoded = trained
    pooling.pool(model, encoded, SPAN_TAGS, True)
    assert model.get_layer(networks.MEAN_LOGITS).weight == 1
    crf, of_linear = model.get_layer("crf"), model.get_layer(networks.LINEAR_CRF)
    np.testing.assert_allclose(crf.transitions.numpy(), of_linear.transitions.numpy(), atol=1e-6)
    tagger = Tagger(model, crf, tokenizer, SPAN_TAGS, 100)
    assert tag_sentences(tagger.tag_tokens, TOKENS).tags == TAGS
