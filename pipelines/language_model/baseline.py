"""The baseline of a language model: an n-gram model of the same training tokens, on the same validation tokens."""

import numpy as np
import tensorflow as tf

from pipelines.language_model import kneser_ney
from pipelines.language_model.config import PRESETS, LanguageModelConfig
from pipelines.language_model.metrics import language_model_measures
from pipelines.language_model.ngram_layer import BackoffNGrams, table_sizes
from pipelines.support import console
from pipelines.support.bootstrap import interval, resampled_sums
from pipelines.text.tokenizers import START

MAX_TRAINING_TOKENS = 10_000_000  # more would take minutes, and gigabytes
_TOKENS_AT_ONCE = 200_000
_TOKENS_OF_BLOCK = 500  # the bootstrap draws whole blocks, because the losses of neighbours are alike


def compare(
    config: LanguageModelConfig, train, valid: np.ndarray, vocabulary_size: int, losses: np.ndarray, characters: int
) -> dict:
    """Returns the measures of the n-gram model beside those of a model, or why it is left out.

    Args:
        train: ids of the training text, int32 [tokens], or those of prepared data.
        valid: ids of the validation text, int32 [tokens].
        losses: -log p of these tokens by the model, float [tokens without START].
        characters: of the validation text.

    Returns:
        "name", and either "left_out", or "loss", "perplexity", "bits_per_character" and "difference_interval": the 95 %
        interval of the difference of the mean losses in nats, above 0 where the model is better.
    """
    order = PRESETS["ngram", "words" if config.tokenizer == "word" else "full"]["order"]
    name = f"n-gram model of order {order}"
    if not isinstance(train, np.ndarray):
        return {"name": name, "left_out": "it counts all training tokens in memory, and prepared data has none"}
    if len(train) > MAX_TRAINING_TOKENS:
        return {
            "name": name,
            "left_out": f"the training text has more than {MAX_TRAINING_TOKENS / 1e6:g} million tokens",
        }
    if len(train) < order:
        return {"name": name, "left_out": f"the training text has fewer than {order} tokens"}
    console.say(f"fitting the baseline: {name} ...")
    found = ngram_losses(train, valid, order, vocabulary_size)[valid != START]
    measures = language_model_measures(found, characters, 0)
    return {
        "name": name,
        **{measure: measures[measure] for measure in ("loss", "perplexity", "bits_per_character")},
        "difference_interval": _difference_interval(found - losses.ravel()),
    }


def ngram_losses(train: np.ndarray, valid: np.ndarray, order: int, vocabulary_size: int) -> np.ndarray:
    """Returns -log p of each token of a text in nats by an n-gram model of another one, float32 [tokens].

    Args:
        train, valid: ids, int32 [tokens].
        order: n, at least 2.
    """
    tables = kneser_ney.estimate(train, order, vocabulary_size)
    layer = BackoffNGrams(order, vocabulary_size, table_sizes(tables))
    layer.build((None, None))
    layer.assign(tables)
    before = np.concatenate([[START], valid[:-1]]).astype(np.int32)
    found = []
    for start in range(0, len(valid), _TOKENS_AT_ONCE):
        first = max(0, start - order)  # the context of the first token
        part = slice(first, start + _TOKENS_AT_ONCE)
        log_probabilities = layer.target_log_probabilities(
            tf.constant(before[part][None]), tf.constant(valid[part][None])
        )
        found.append(-log_probabilities.numpy()[0, start - first :])
    return np.concatenate(found)


def _difference_interval(differences: np.ndarray) -> list[float] | None:
    """The 95 % interval of the mean by the bootstrap over blocks; None for a text of fewer than ten blocks."""
    starts = np.arange(0, len(differences), _TOKENS_OF_BLOCK)
    if len(starts) < 10:
        return None
    sums = np.add.reduceat(differences.astype(np.float64), starts)
    sizes = np.diff([*starts, len(differences)])
    drawn = resampled_sums(np.stack([sums, sizes], axis=1))
    return list(interval(drawn[:, 0] / drawn[:, 1]))
