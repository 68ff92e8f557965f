"""What `compare` measures of the answers of taggers: F1 of spans and the accuracy of tags."""

import numpy as np

from pipelines.data.tagged_sentences import is_spans
from pipelines.support.answers import PART_END, Answers, Measure, Measured
from pipelines.tagging import metrics


def measure(given: Answers, about: dict) -> Measured:
    """Returns what is measured of the tags of sentences.

    Args:
        about: the card of the model, or the result of its run.
    """
    right, found = ([each.split(PART_END) for each in each] for each in (given.right, given.given))
    of_tags = metrics.count_tags(found, right)
    spans = is_spans(about["classes"])
    kinds = ({"span_f1": metrics.count_spans(found, right)} if spans else {}) | {"accuracy": of_tags}
    # Micro-F1 over all tags is the accuracy.
    counts = [count.sum(axis=1) for each in kinds.values() for count in each[1:]]

    def of_sums(sums: np.ndarray) -> dict[str, np.ndarray]:
        return {name: metrics.micro_f1(*sums.T[3 * i : 3 * i + 3, :, None]) for i, name in enumerate(kinds)}

    titles = {"span_f1": Measure("F1 of spans"), "accuracy": Measure("accuracy")}
    errors = (of_tags.expected - of_tags.correct).sum(axis=1).astype(float)
    return Measured({name: titles[name] for name in kinds}, np.stack(counts, axis=1), of_sums, errors, unit="sentences")
