"""Measures of a tagger, computed from its tags."""

import collections
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pipelines.labelled.metrics import wilson_interval
from pipelines.support.bootstrap import interval, resampled_sums
from pipelines.tagging.spans import spans_of
from pipelines.text.invisible import visible

Tags = Sequence[Sequence[str]]  # of n sentences, one per token

MIN_SENTENCES = 10  # a bootstrap over fewer of them says nothing


class Counts(NamedTuple):
    """Correct, predicted and expected tags or spans of n sentences, by name.

    Attributes:
        names: tags, or labels of spans, the most frequent one first.
        correct, predicted, expected: int [sentences, names].
    """

    names: list[str]
    correct: np.ndarray
    predicted: np.ndarray
    expected: np.ndarray


def score(
    tokens: Sequence[Sequence[str]],
    predicted: Tags,
    expected: Tags,
    known_words: set[str] | None,
    spans: bool,
    tags: Sequence[str] = (),
) -> dict:
    """Returns all measures of n sentences, at least one.

    Tokens of a sentence are not independent of each other, so the 95 % intervals are those of the bootstrap over
    sentences; that of the accuracy has at least the size of Wilson's over tokens. With fewer than MIN_SENTENCES
    sentences, the accuracy has Wilson's, and the other measures have none.

    Args:
        tokens: words, of n sentences.
        predicted, expected: their tags.
        known_words: the words of the training set, without invisible characters; None if they are not known.
        spans: whether to score spans, too: the tags are O, B-x and I-x.
        tags: further tags to list: those that the tagger knows.

    Returns:
        "sentences", "tokens";
        "accuracy" and "accuracy_interval";
        "unknown_tokens" and "unknown_accuracy" of the tokens that are not in `known_words`, which are compared with
        their case; None without `known_words`, and the accuracy also without such tokens;
        "macro_f1" and "macro_f1_interval": the mean over the tags that occur in `expected`;
        "tags": tag -> "precision" (None if it is never predicted), "recall" and "f1" (None if it does not occur),
        "support" (number of tokens), the most frequent tag first;
        "confusion": expected tag -> (predicted tag -> number of tokens);
        and with `spans` "span_precision", "span_recall", "span_f1", "span_f1_interval", and "spans", as "tags" for the
        labels of spans. A span is correct if its start, its end and its label are (see `spans_of`).
    """
    of_tags = count_tags(predicted, expected, tags)
    num_correct, num_tokens = int(of_tags.correct.sum()), int(of_tags.expected.sum())
    num_unknown, unknown_accuracy = _unknown_words(tokens, predicted, expected, known_words)
    scores = {
        "sentences": len(expected),
        "tokens": num_tokens,
        "accuracy": num_correct / num_tokens,
        "accuracy_interval": _accuracy_interval(of_tags),
        "unknown_tokens": num_unknown,
        "unknown_accuracy": unknown_accuracy,
        **dict(zip(("macro_f1", "macro_f1_interval"), _macro_f1(of_tags))),
        "tags": _by_name(of_tags),
        "confusion": _confusion(predicted, expected, of_tags.names),
    }
    if spans:
        of_spans = count_spans(predicted, expected)
        correct, num_predicted, num_expected = (int(count.sum()) for count in of_spans[1:])
        scores |= {
            "span_precision": correct / num_predicted if num_predicted else None,
            "span_recall": correct / num_expected if num_expected else None,
            "span_f1": _as_float(micro_f1(*_totals(of_spans))),
            "span_f1_interval": _span_f1_interval(of_spans),
            "spans": _by_name(of_spans),
        }
    return scores


def compare(predicted: Tags, other: Tags, expected: Tags, spans: bool) -> dict:
    """Compares two taggers on the same sentences.

    Returns:
        "accuracy_difference", the accuracy of `predicted` minus that of `other`, and "accuracy_difference_interval",
        its 95 % interval by the bootstrap over the same sentences for both, None with fewer than MIN_SENTENCES
        sentences; with `spans` also "span_f1_difference" and "span_f1_difference_interval".
    """
    found = {}
    # Micro-F1 over all tags is the accuracy.
    for name, count in {"accuracy": count_tags, **({"span_f1": count_spans} if spans else {})}.items():
        first, second = _pooled(count(predicted, expected)), _pooled(count(other, expected))
        difference = _as_float(micro_f1(*_totals(first)) - micro_f1(*_totals(second)))
        limits = None
        if len(expected) >= MIN_SENTENCES:
            limits = interval(micro_f1(*_resampled(first)) - micro_f1(*_resampled(second)))
        found |= {f"{name}_difference": difference, f"{name}_difference_interval": limits}
    return found


def accuracy(predicted: Tags, expected: Tags) -> float:
    """Returns the fraction of tokens with the right tag."""
    pairs = [pair for tags in zip(predicted, expected, strict=True) for pair in zip(*tags, strict=True)]
    return sum(tag == right for tag, right in pairs) / len(pairs)


def span_f1(predicted: Tags, expected: Tags) -> float:
    """Returns F1 of the spans over all labels; 0 if there are no spans at all."""
    return float(np.nan_to_num(micro_f1(*_totals(count_spans(predicted, expected)))))


def count_tags(predicted: Tags, expected: Tags, further_names: Sequence[str] = ()) -> Counts:
    """Counts tokens by their tags.

    Args:
        further_names: tags to list even if they do not occur.
    """
    return _count(*([list(enumerate(tags)) for tags in of] for of in (predicted, expected)), further_names)


def count_spans(predicted: Tags, expected: Tags) -> Counts:
    """Counts spans by their labels."""
    return _count(
        *([[(span[:2], span.label) for span in spans_of(tags)] for tags in of] for of in (predicted, expected))
    )


def _count(predicted: list[list], expected: list[list], further_names: Sequence[str] = ()) -> Counts:
    """Counts (position, name) of n sentences."""
    frequencies = collections.Counter(name for sentence in expected for _, name in sentence)
    others = {name for sentence in predicted for _, name in sentence} | set(further_names)
    names = sorted({*frequencies, *others}, key=lambda name: (-frequencies[name], name))
    index = {name: i for i, name in enumerate(names)}
    counts = np.zeros((3, len(expected), len(names)), np.int32)
    for row, (found, right) in enumerate(zip(predicted, expected, strict=True)):
        found, right = set(found), set(right)
        for kind, items in enumerate((found & right, found, right)):
            for _, name in items:
                counts[kind, row, index[name]] += 1
    return Counts(names, *counts)


def micro_f1(correct: np.ndarray, predicted: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """F1 over all names together, [..., names] -> [...]."""
    return _f1(correct.sum(axis=-1), predicted.sum(axis=-1), expected.sum(axis=-1))


def _macro_f1(counts: Counts) -> tuple[float, tuple[float, float] | None]:
    """The mean F1 of the names that are expected, and its interval.

    A name that a sample lacks keeps its F1 of all sentences. Left out, it would raise the mean of most samples: the
    rarest names have the lowest F1.
    """
    occurs = counts.expected.any(axis=0)
    counts = Counts(counts.names, *(count[:, occurs] for count in counts[1:]))
    f1 = _f1(*_totals(counts))  # [names]
    if len(counts.expected) < MIN_SENTENCES:
        return float(f1.mean()), None
    correct, predicted, expected = _resampled(counts)
    of_samples = np.where(expected > 0, _f1(correct, predicted, expected), f1)  # [draws, names]
    return float(f1.mean()), interval(of_samples.mean(axis=1))


def _f1(correct: np.ndarray, predicted: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """2 correct / (predicted + expected), and NaN where there are none."""
    total = np.asarray(predicted + expected)
    return np.divide(2 * correct, total, out=np.full(total.shape, np.nan), where=total != 0)


def _totals(counts: Counts) -> tuple[np.ndarray, ...]:
    return tuple(count.sum(axis=0) for count in counts[1:])


def _pooled(counts: Counts) -> Counts:
    """The counts of all names together."""
    return Counts(["all"], *(count.sum(axis=1, keepdims=True) for count in counts[1:]))


def _resampled(counts: Counts) -> np.ndarray:
    """Samples of the totals, float [3, draws, names]."""
    sums = resampled_sums(np.concatenate(counts[1:], axis=1))
    return np.stack(np.split(sums, 3, axis=1))


def _span_f1_interval(counts: Counts) -> tuple[float, float] | None:
    has_spans = counts.predicted.any() or counts.expected.any()
    return _widest(counts) if has_spans and len(counts.expected) >= MIN_SENTENCES else None


def _accuracy_interval(counts: Counts) -> tuple[float, float]:
    if len(counts.expected) < MIN_SENTENCES:
        return wilson_interval(int(counts.correct.sum()), int(counts.expected.sum()))
    return _widest(counts)


def _widest(counts: Counts) -> tuple[float, float]:
    """Returns the interval from the lower to the higher limits of the bootstrap's and Wilson's.

    The bootstrap's is a point if all is right, and Wilson's knows nothing of sentences. F1 is taken for the fraction of
    the mean number of what is predicted and expected; of tags, both are the number of tokens.
    """
    correct, predicted, expected = (int(count.sum()) for count in counts[1:])
    low, high = wilson_interval(correct, math.ceil((predicted + expected) / 2))
    resampled = interval(micro_f1(*_resampled(_pooled(counts))))
    return min(low, resampled[0]), max(high, resampled[1])


def _as_float(value: np.ndarray) -> float | None:
    return None if np.isnan(value) else float(value)


def _unknown_words(
    tokens: Sequence[Sequence[str]], predicted: Tags, expected: Tags, known_words: set[str] | None
) -> tuple[int | None, float | None]:
    """The number of tokens that are not in `known_words`, and their accuracy."""
    if known_words is None:
        return None, None
    is_correct = [
        tag == right
        for sentence in zip(tokens, predicted, expected, strict=True)
        for word, tag, right in zip(*sentence, strict=True)
        if visible(word) not in known_words
    ]
    return len(is_correct), sum(is_correct) / len(is_correct) if is_correct else None


def _by_name(counts: Counts) -> dict[str, dict]:
    found = {}
    for name, correct, predicted, expected in zip(counts.names, *(total.tolist() for total in _totals(counts))):
        found[name] = {
            "precision": correct / predicted if predicted else None,
            "recall": correct / expected if expected else None,
            "f1": 2 * correct / (predicted + expected) if expected else None,
            "support": expected,
        }
    return found


def _confusion(predicted: Tags, expected: Tags, names: list[str]) -> dict[str, dict[str, int]]:
    pairs = collections.Counter(
        pair for tags in zip(expected, predicted, strict=True) for pair in zip(*tags, strict=True)
    )
    found = {name: {} for name in names}
    for (right, tag), count in pairs.most_common():
        found[right][tag] = count
    return {name: counts for name, counts in found.items() if counts}
