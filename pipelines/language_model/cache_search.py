"""The theta and the lambda of the continuous cache that suit a model best, found on validation text."""

import numpy as np
import tensorflow as tf

from pipelines.language_model.servable import Generator

CACHE_SIZE = 2000  # tokens, for the search
MAX_TOKENS = 5000  # of the validation text
THETAS = (0.1, 0.3, 0.6, 1.0, 1.5, 2.0, 3.0)
LAMBDAS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4)
_HIGH = 0.99


def best_cache_options(generator: Generator, ids: np.ndarray) -> dict[str, float]:
    """Returns the "cache_theta" and "cache_lambda" with the lowest loss on the first `MAX_TOKENS` of the text.

    The model is run once for each theta: with p of the model and p' = 0.01 p + 0.99 p_cache, p_cache follows, and with
    it the loss for each lambda.

    Args:
        ids: int32 [tokens].
    """
    ids = tf.constant(ids[None, :MAX_TOKENS])

    def losses(size, theta, weight):
        options = (tf.constant([value]) for value in (size, theta, weight))
        return generator.token_losses_with_cache(ids, *options)["losses"].numpy()[0].astype(float)

    p = np.exp(-losses(0, 0.0, 0.0))
    found = []
    for theta in THETAS:
        p_cache = (np.exp(-losses(CACHE_SIZE, theta, _HIGH)) - (1 - _HIGH) * p) / _HIGH
        for weight in LAMBDAS:
            mixed = (1 - weight) * p + weight * np.maximum(p_cache, 0.0)
            found.append((-np.log(np.maximum(mixed, 1e-30)).mean(), theta, weight))
    _, theta, weight = min(found)
    return {"cache_theta": theta, "cache_lambda": weight}
