"""How much time and memory a training takes, before it starts. Imports no TensorFlow."""

from typing import NamedTuple

import numpy as np

from pipelines.classification.config import ClassificationConfig
from pipelines.labelled.labelled_splits import LabelledSplits
from pipelines.linear.limits import MAX_DENSE_CLASSES, MAX_FEW_CLASSES
from pipelines.runs import inventory
from pipelines.support import machine, numbers
from pipelines.support.installation import called_name

_BASE = 900_000_000  # bytes of a process with TensorFlow
_PER_NGRAM = 60  # bytes of each n-gram in each text, for IMDB's reviews and for their sentences
_PER_WEIGHT = 45, 24  # bytes of each n-gram and class; of more than MAX_DENSE_CLASSES, most weights are not stored
# Seconds on two processors, found by the times of benchmarks/text_classification.py: within a factor of two.
_START = 9
_COUNTED = 1.2e-6  # of each n-gram in each text
_FITTED = 0.5e-6, 0.2e-6  # of that and each class; of more than MAX_FEW_CLASSES, there is one weighting
_PER_SPARSE_CLASS = 0.2
_NETWORK = 10, 0.003  # and of each text, for about six epochs
_SAMPLE = 200  # texts whose n-grams are counted: every training waits for it


class Needs(NamedTuple):
    """About what a training takes.

    Attributes:
        memory: bytes.
        seconds: on two processors.
    """

    memory: int
    seconds: float


def needs(config: ClassificationConfig, splits: LabelledSplits) -> Needs | None:
    """Returns about what a training takes; None if that is not known: without a linear model in memory.

    The n-grams of its texts take most of the memory and of the time. They are counted in a sample of the texts.
    """
    if splits.sharded or not config.max_ngrams or config.start_weights:
        return None
    texts, classes = splits.train.texts, len(splits.classes)
    sample = texts[:: -(-len(texts) // _SAMPLE)]
    in_texts = len(texts) * float(np.mean([num_ngrams(text, config, classes) for text in sample]))
    is_dense = classes <= MAX_DENSE_CLASSES
    num_weights = config.num_ngrams(len(texts)) * min(classes, MAX_DENSE_CLASSES)
    memory = _BASE + _PER_NGRAM * in_texts + _PER_WEIGHT[not is_dense] * num_weights
    decisions = 1 if classes == 2 else classes
    fitted = _FITTED[decisions > MAX_FEW_CLASSES] * in_texts * decisions if is_dense else _PER_SPARSE_CLASS * classes
    seconds = _START + _COUNTED * in_texts + fitted
    if config.model != "linear" and len(texts) >= config.least_texts:
        start, per_text = _NETWORK
        seconds += start + per_text * len(texts)
    if config.minutes:
        seconds = min(seconds, 60 * config.minutes)
    return Needs(int(memory), seconds)


def num_ngrams(text: str, config: ClassificationConfig, num_classes: int) -> int:
    """Returns about how many different n-grams of words and of characters the linear model counts in a text."""
    words = text.lower().split()[: config.max_tokens]
    lengths = config.ngram_lengths(num_classes)
    longest, longest_of_characters = lengths["max_n"], lengths["max_characters"]
    found: set = {tuple(words[i : i + n]) for n in range(1, longest + 1) for i in range(len(words) - n + 1)}
    if config.max_characters:
        read, half = " ".join(words), config.max_characters // 2
        read = read if len(read) <= 2 * half else f"{read[:half]} {read[-half:]}"
        lengths = range(2, longest_of_characters + 1)
        found |= {f" {word} "[i : i + n] for word in read.split() for n in lengths for i in range(len(word) + 3 - n)}
    return len(found)


def remarks(config: ClassificationConfig, splits: LabelledSplits) -> list[str]:
    """Returns what a training says before it starts: how long it takes, if minutes, and whether memory is short."""
    expected, free = needs(config, splits), machine.free_memory()
    if expected is None:
        return []
    lines, time = [], numbers.minutes(expected.seconds)
    if time:
        lines.append(f"expected: about {time} on two processors, {expected.memory / 1e9:.1f} GB of memory")
    if free is not None and expected.memory > free:
        lines.append(
            f"note: training takes about {expected.memory / 1e9:.1f} GB of memory, and {inventory.size(free)} are "
            f"free: `{called_name()} prepare` makes data that takes less"
        )
    return lines
