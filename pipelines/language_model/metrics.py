"""The measures of a language model."""

import math

import numpy as np


def language_model_measures(losses: np.ndarray, characters: int, unknown_tokens: int) -> dict:
    """Returns the measures of a text.

    Args:
        losses: float [...], -log p of each token in nats.
        characters: number of characters of the text.
        unknown_tokens: number of tokens that are not in the vocabulary.

    Returns:
        "tokens", "characters", "unknown_tokens", "loss" (nats per token), "perplexity" (exp of the loss) and
        "bits_per_character", which can be compared between tokenizers.
    """
    loss = float(losses.mean(dtype=np.float64))
    return {
        "tokens": losses.size,
        "characters": characters,
        "unknown_tokens": unknown_tokens,
        "loss": loss,
        "perplexity": math.exp(loss),
        "bits_per_character": float(losses.sum(dtype=np.float64)) / math.log(2) / characters,
    }
