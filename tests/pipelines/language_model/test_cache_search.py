import numpy as np
import pytest
import tensorflow as tf

from pipelines.language_model.cache_search import CACHE_SIZE, LAMBDAS, THETAS, best_cache_options
from tests.pipelines.language_model.models import TEXT, make


@pytest.fixture(scope="module")
def words():
    return make(tokenizer="word")


def test_no_other_options_have_a_lower_loss(words):
    _, tokenizer, _, generator = words
    ids = tokenizer.encode(tf.constant([TEXT]))[:, 1:-1].to_tensor().numpy()[0]
    best = best_cache_options(generator, ids)

    def loss(theta, weight):
        options = (tf.constant([value]) for value in (CACHE_SIZE, theta, weight))
        return generator.token_losses_with_cache(tf.constant(ids[None]), *options)["losses"].numpy().mean()

    lowest = loss(best["cache_theta"], best["cache_lambda"])
    for theta in THETAS:
        for weight in (LAMBDAS[0], LAMBDAS[3], LAMBDAS[-1]):
            assert lowest <= loss(theta, weight) + 1e-4


def test_a_text_without_repetition_gets_the_smallest_part(words):
    _, tokenizer, _, generator = words
    ids = np.arange(4, 4 + 20).astype(np.int32) % tokenizer.vocabulary_size
    assert best_cache_options(generator, ids)["cache_lambda"] == LAMBDAS[0]
