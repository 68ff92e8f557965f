"""Batches of sequences, in an order that is a pure function of (seed, epoch).

A position in an epoch is therefore a number of steps to skip.
"""

import concurrent.futures
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from pipelines.data.part import Part, current

READERS = 2  # number of batches that are made in parallel
_PREFETCH = 8  # number of batches that wait for their use
_POOL = 50  # number of batches that are sorted by length together: little padding, and still a random order


def encode_texts(encode: Callable, texts: np.ndarray, batch_size: int = 1000):
    """Encodes texts once for all epochs.

    Args:
        encode: string [batch] -> ragged int32 [batch, (ids)], such as `Tokenizer.encode`; or a dict of tensors, batch
            first. What `of_texts` returns is traced once for several calls.
        texts: n texts, str or UTF-8 bytes.
        batch_size: number of texts that are encoded at once.

    Returns:
        Ids, ragged int32 [n, (tokens)], in the order of `texts`; or a dict of such tensors.
    """
    encode = encode if hasattr(encode, "get_concrete_function") else of_texts(encode)
    batches = (texts[start : start + batch_size] for start in range(0, len(texts), batch_size))
    # Threads: a tf.data pipeline would compile `encode` again in each call, which takes longer than a thousand texts.
    with concurrent.futures.ThreadPoolExecutor(READERS) as readers:
        encoded = list(readers.map(lambda batch: encode(tf.constant(batch, tf.string)), batches))
    return tf.nest.map_structure(lambda *parts: tf.concat(parts, axis=0), *encoded)


def of_texts(function: Callable) -> Callable:
    """Returns a function of texts, string [batch], as one that TensorFlow traces once."""
    return tf.function(function, input_signature=[tf.TensorSpec([None], tf.string)], autograph=False)


def bucketed_order(lengths: np.ndarray, batch_size: int, seed: int, epoch: int) -> np.ndarray:
    """Returns an order of the rows in which rows of similar length are neighbors.

    The rows are shuffled and divided into pools of 50 batches. Each pool is sorted by length, and its batches are
    shuffled. Only the last batch of an epoch is smaller than the others.

    Args:
        lengths: int [n].
        batch_size: number of consecutive rows that form a batch.

    Returns:
        Row numbers, int64 [n].
    """
    rng = np.random.default_rng([seed, epoch])
    rows = rng.permutation(len(lengths))
    full = len(rows) // batch_size * batch_size
    batches = []
    for start in range(0, full, _POOL * batch_size):
        pool = rows[start : min(start + _POOL * batch_size, full)]
        pool = pool[np.argsort(lengths[pool], kind="stable")].reshape(-1, batch_size)
        batches.append(rng.permutation(pool, axis=0).reshape(-1))
    return np.concatenate([*batches, rows[full:]])


def token_plan(lengths: np.ndarray, batch_tokens: int) -> list[tuple[int, int]]:
    """Divides rows that are sorted by length into batches of at most `batch_tokens` tokens, padding included.

    A row that is longer is a batch of its own.

    Args:
        lengths: int [n], in any order.

    Returns:
        Ranges (first, last + 1) of the sorted rows. They depend on the lengths alone: every epoch has the same number
        of batches.
    """
    ranges, first, end = [], 0, 0
    for length, count in zip(*(each.tolist() for each in np.unique(lengths, return_counts=True)), strict=True):
        start, end = end, end + count  # of the rows of this length
        fits = max(1, batch_tokens // length)
        while end - first > fits:
            cut = max(first + fits, start)
            ranges.append((first, cut))
            first = cut
    return [*ranges, (first, len(lengths))]


def token_order(lengths: np.ndarray, plan: list[tuple[int, int]], seed: int, epoch: int) -> list[np.ndarray]:
    """Returns the row numbers of each batch of an epoch. Rows of equal length are shuffled, and so are the batches.

    Args:
        lengths: int [n].
        plan: from `token_plan`.
    """
    rng = np.random.default_rng([seed, epoch])
    shuffled = rng.permutation(len(lengths))
    rows = shuffled[np.argsort(lengths[shuffled], kind="stable")]
    return [rows[slice(*plan[i])] for i in rng.permutation(len(plan))]


def padded_batches(
    ids: tf.RaggedTensor | dict[str, tf.RaggedTensor],
    labels: np.ndarray,
    order: np.ndarray,
    batch_size: int,
    weights: np.ndarray | None = None,
) -> tf.data.Dataset:
    """Returns batches of the rows in the given order, padded with 0 to their longest row.

    Args:
        ids: ragged int32 [n, (tokens)], or a dict of them and of tensors [n, ...].
        labels: int [n], or [n, classes] of 0 and 1 where a text may have several labels.
        order: row numbers, int [m].
        weights: of the rows, float [n]; only for one worker.

    Returns:
        Batches (ids int32 [batch, time] or a dict of them, labels int32 [batch] or [batch, classes]) and, if there are
        weights, those of the rows, float32 [batch]; of one of several workers also the weights of its rows (see
        `rows_of_part`).
    """
    labels = tf.constant(labels, tf.int32)
    of_rows = [] if weights is None else [tf.constant(weights, tf.float32)]

    part = current()

    def gather(rows):
        rows, counts = rows_of_part(part, rows)
        inputs = tf.nest.map_structure(lambda each: _padded(tf.gather(each, rows)), ids)
        return inputs, tf.gather(labels, rows), *(tf.gather(each, rows) for each in of_rows), *counts

    rows = tf.data.Dataset.from_tensor_slices(order).batch(batch_size)
    return prefetched(rows.map(gather, num_parallel_calls=READERS, deterministic=True))


def _padded(rows: tf.Tensor | tf.RaggedTensor) -> tf.Tensor:
    return rows.to_tensor() if isinstance(rows, tf.RaggedTensor) else rows


def rows_of_part(part: Part, rows: tf.Tensor) -> tuple[tf.Tensor, list[tf.Tensor]]:
    """Returns the rows of a batch that a worker computes.

    A worker whose part is empty computes the first row, which does not count: oneDNN aborts the process on products of
    zero rows.

    Args:
        rows: row numbers of the batch, int [batch].

    Returns:
        (row numbers int [rows], [their weights float32 [rows], 1 or 0]); without weights if there is one worker.
    """
    if part.count == 1:
        return rows, []
    size = tf.size(rows)
    own = rows[part.rows(size)]
    is_empty = tf.equal(tf.size(own), 0)
    own = tf.cond(is_empty, lambda: rows[:1], lambda: own)
    return own, [tf.fill([tf.size(own)], tf.where(is_empty, 0.0, 1.0))]


def prefetched(batches: tf.data.Dataset) -> tf.data.Dataset:
    """Returns `batches`, made in advance, without tf.data's autotuning.

    Autotuning has a thread per iterator. If an iterator is cancelled just after its thread has checked for it, the
    thread sleeps for up to a minute, and the end of the iterator waits for it (TensorFlow 2.21).
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return batches.prefetch(_PREFETCH).with_options(options)
