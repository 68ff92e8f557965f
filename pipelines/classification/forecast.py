"""How much memory a training takes, before it starts. Imports no TensorFlow."""

import numpy as np

from pipelines.classification.config import ClassificationConfig
from pipelines.labelled.splits import LabelledSplits
from pipelines.runs import inventory
from pipelines.support import machine
from pipelines.support.installation import called_name

_BASE = 900_000_000  # bytes of a process with TensorFlow
_PER_NGRAM = 55  # bytes of each n-gram in each text, for IMDB's reviews and for their sentences
_PER_WEIGHT = 16  # bytes of each n-gram and class
_MAX_CLASSES = 100  # with more, most weights are not stored
_SAMPLE = 200  # texts whose n-grams are counted: every training waits for it
_MAX_LENGTHS = 3, 5  # of n-grams of words and of characters


def memory(config: ClassificationConfig, splits: LabelledSplits) -> int | None:
    """Returns about how many bytes a training takes; None if that is not known: without a linear model in memory.

    Its n-grams take most of the memory. They are counted in a sample of the texts.
    """
    if splits.sharded or not config.max_ngrams or config.start_weights:
        return None
    texts = splits.train.texts
    sample = texts[:: -(-len(texts) // _SAMPLE)]
    in_texts = len(texts) * float(np.mean([num_ngrams(text, config) for text in sample]))
    num_weights = config.num_ngrams(len(texts)) * min(len(splits.classes), _MAX_CLASSES)
    return int(_BASE + _PER_NGRAM * in_texts + _PER_WEIGHT * num_weights)


def num_ngrams(text: str, config: ClassificationConfig) -> int:
    """Returns about how many different n-grams of words and of characters the linear model counts in a text."""
    words = text.lower().split()[: config.max_tokens]
    longest, longest_of_characters = _MAX_LENGTHS
    found: set = {tuple(words[i : i + n]) for n in range(1, longest + 1) for i in range(len(words) - n + 1)}
    if config.max_characters:
        read, half = " ".join(words), config.max_characters // 2
        read = read if len(read) <= 2 * half else f"{read[:half]} {read[-half:]}"
        lengths = range(2, longest_of_characters + 1)
        found |= {f" {word} "[i : i + n] for word in read.split() for n in lengths for i in range(len(word) + 3 - n)}
    return len(found)


def shortage(config: ClassificationConfig, splits: LabelledSplits) -> str | None:
    """Returns a note if a training takes more memory than there is; else None."""
    needed, free = memory(config, splits), machine.free_memory()
    if needed is None or free is None or needed < free:
        return None
    return (
        f"training takes about {needed / 1e9:.1f} GB of memory, and {inventory.size(free)} are free: "
        f"`{called_name()} prepare` makes data that takes less"
    )
