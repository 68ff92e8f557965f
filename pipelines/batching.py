"""Batches of sequences: an order that is a pure function of (seed, epoch), so that a position in it is a number to skip."""

import math

import numpy as np
import tensorflow as tf

READERS = 2  # batches that are made at a time
_AHEAD = 8  # batches that wait for their use
_POOL = 50  # batches that are sorted by length together: little padding, and still a random order


def steps_per_epoch(rows: int, batch_size: int) -> int:
    return math.ceil(rows / batch_size)


def bucketed_order(lengths: np.ndarray, batch_size: int, seed: int, epoch: int) -> np.ndarray:
    """An order of the rows in which neighbours have similar lengths: int64 [n], read `batch_size` at a time.

    The rows are shuffled, cut into pools of some batches, sorted by length in each pool, and the batches of a pool shuffled
    again. Only the last batch of an epoch is smaller than the others.
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
    """Cuts rows that are sorted by length into batches of at most `batch_tokens` places, padding included.

    Returns:
        Ranges (first, last + 1) of sorted rows. They depend on the lengths alone, so every epoch has as many batches.
    """
    ranges, first = [], 0
    for row, length in enumerate(np.sort(lengths)):
        if (row + 1 - first) * length > batch_tokens and row > first:
            ranges.append((first, row))
            first = row
    return [*ranges, (first, len(lengths))]


def token_order(lengths: np.ndarray, plan: list[tuple[int, int]], seed: int, epoch: int) -> list[np.ndarray]:
    """The rows of each batch of a plan: rows of equal length change places from epoch to epoch, and so do the batches."""
    rng = np.random.default_rng([seed, epoch])
    shuffled = rng.permutation(len(lengths))
    rows = shuffled[np.argsort(lengths[shuffled], kind="stable")]
    return [rows[slice(*plan[i])] for i in rng.permutation(len(plan))]


def padded_batches(ids: tf.RaggedTensor, labels: np.ndarray, order: np.ndarray, batch_size: int) -> tf.data.Dataset:
    """Batches of (ids int32 [batch, time], labels int32 [batch]) in the given order, padded with 0 to the longest row."""
    labels = tf.constant(labels, tf.int32)

    def gather(rows):
        return tf.gather(ids, rows).to_tensor(), tf.gather(labels, rows)

    return prefetched(tf.data.Dataset.from_tensor_slices(order).batch(batch_size).map(gather, num_parallel_calls=READERS, deterministic=True))


def prefetched(batches: tf.data.Dataset) -> tf.data.Dataset:
    """`batches`, made ahead of their use, and without tf.data's tuner.

    The tuner has a thread for each iterator. Where it looks whether it is cancelled just before it is, it sleeps on for up to a minute, and the
    iterator's end waits for it (TensorFlow 2.21).
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return batches.prefetch(_AHEAD).with_options(options)
