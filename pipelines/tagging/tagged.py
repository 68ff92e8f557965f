"""Tags any number of texts or tokenized sentences with a signature: in batches of similar length, on all cores."""

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from pipelines.export.signatures import call_in_batches
from pipelines.tagging.results import format_results, padded

_BATCH_SIZE = 64


class Tagged(NamedTuple):
    """The tags of sentences.

    Attributes:
        tags: n lists of str, one tag per token.
        scores: n lists of float, the probability of each tag.
    """

    tags: list[list[str]]
    scores: list[list[float]]


def tag_sentences(signature: Callable, sentences: Sequence[Sequence[str]]) -> Tagged:
    """Tags n sentences.

    Args:
        signature: `Tagger.tag_tokens`, or the signature "tokens" of a loaded export.
        sentences: n sequences of tokens.
    """

    def tag(rows: np.ndarray) -> list[tuple]:
        part = [[token.encode("utf-8", "surrogatepass") for token in sentences[row]] for row in rows]
        lengths = [len(tokens) for tokens in part]
        outputs = signature(tokens=tf.reshape(tf.constant(padded(part, b""), tf.string), (len(rows), max(lengths))))
        tags, scores = outputs["tags"].numpy().tolist(), outputs["scores"].numpy().tolist()
        return [
            ([name.decode() for name in names[:length]], probabilities[:length])
            for names, probabilities, length in zip(tags, scores, lengths, strict=True)
        ]

    results = _in_batches(tag, [len(sentence) for sentence in sentences])
    return Tagged([tags for tags, _ in results], [scores for _, scores in results])


def tag_texts(signature: Callable, texts: Sequence[str]) -> list[dict]:
    """Divides n texts into tokens and tags these.

    Args:
        signature: `Tagger.tag_text`, or the signature "serving_default" of a loaded export.

    Returns:
        `format_results` of the texts.
    """

    def tag(rows: np.ndarray) -> list[dict]:
        part = [texts[row] for row in rows]
        outputs = signature(text=tf.constant([text.encode("utf-8", "surrogatepass") for text in part], tf.string))
        values = {name: value.numpy().tolist() for name, value in outputs.items()}
        for name in ("tokens", "tags"):
            values[name] = [[each.decode() for each in row] for row in values[name]]
        return format_results(part, values)

    return _in_batches(tag, [len(text) for text in texts])


def _in_batches(call: Callable[[np.ndarray], list], lengths: Sequence[int]) -> list:
    """Calls `call` with the numbers of rows of similar length; returns its results in the order of the rows."""
    order, results = call_in_batches(call, lengths, _BATCH_SIZE, hide_messages=True)
    in_order: list = [None] * len(lengths)
    for row, value in zip(order, itertools.chain.from_iterable(results), strict=True):
        in_order[row] = value
    return in_order
