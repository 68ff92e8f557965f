"""What `compare` measures of language models: the loss per character and per word of passages of a text."""

import math

import numpy as np

from pipelines.support.answers import Answers, Measure, Measured

PASSAGE = 1000  # characters; passages are resampled for the intervals


def measure(given: Answers, about: dict) -> Measured:
    """Returns what is measured of the passages of a text; it does not depend on the tokens of a model.

    Args:
        about: not used: all language models are measured alike.
    """
    losses, characters = np.array(given.scores, float), np.array([len(text) for text in given.texts])
    counts = np.stack([losses, characters, [len(text.split()) for text in given.texts]], axis=1)

    def of_sums(sums: np.ndarray) -> dict[str, np.ndarray]:
        loss, characters, words = sums.T
        per_word = loss / np.where(words > 0, words, np.nan)
        return {"bits_per_character": bits_per_character(loss, characters), "loss_per_word": per_word}

    titles = {"bits_per_character": "bits per character", "loss_per_word": "nats per word"}
    measures = {name: Measure(title, is_lower_better=True, is_fraction=False) for name, title in titles.items()}
    return Measured(measures, counts, of_sums, bits_per_character(losses, characters), unit="passages")


def bits_per_character(loss, characters):
    """Returns the bits per character of texts whose -log p, in nats, is `loss`."""
    return loss / math.log(2) / characters
