"""What `compare` measures of the answers of translators: BLEU and chrF."""

import numpy as np

from pipelines.support.answers import Answers, Measure, Measured
from pipelines.translation import metrics


def measure(given: Answers, about: dict) -> Measured:
    """Returns what is measured of translations.

    Args:
        about: not used: all translators are measured alike.
    """
    bleu, chrf = metrics.bleu_counts(given.given, given.right), metrics.chrf_counts(given.given, given.right)

    def of_sums(sums: np.ndarray) -> dict[str, np.ndarray]:
        parts = np.split(sums.astype(int), [bleu.shape[1]], axis=1)
        return {"bleu": metrics.bleu_of(parts[0]), "chrf": metrics.chrf_of(parts[1])}

    measures = {"bleu": Measure("BLEU", is_fraction=False), "chrf": Measure("chrF", is_fraction=False)}
    return Measured(measures, np.hstack([bleu, chrf]), of_sums, 100 - metrics.chrf_of(chrf), unit="pairs")
