"""Batches of sentence pairs for teacher forcing: the decoder reads the reference, shifted by one position."""

import dataclasses
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from pipelines.data import batching
from pipelines.data.part import current
from pipelines.text.tokenizers import PAD, START


@dataclasses.dataclass(frozen=True)
class Training:
    """The training pairs that have at most --max-tokens tokens on both sides, and their batches.

    Attributes:
        rows: number of pairs.
        too_long: number of pairs that were left out because they are too long.
        steps: number of batches, the same in every epoch.
        batches: (epoch, number of batches to skip) -> batches, as `teacher_forcing_batches` returns them.
    """

    rows: int
    too_long: int
    steps: int
    batches: Callable[[int, int], tf.data.Dataset]


def teacher_forcing(source: tf.RaggedTensor, target: tf.RaggedTensor, row_weights: tf.Tensor | None = None):
    """Returns a batch: ({"source": [batch, Ts], "target": [batch, Tt]}, labels [batch, Tt], weights [batch, Tt]).

    The inputs "target" are the labels shifted by one position, with START first. Padding has the weight 0.

    Args:
        source, target: ids with END, int32 [batch, (tokens)].
        row_weights: float32 [batch]; None: 1.
    """
    labels = target.to_tensor()
    shifted = tf.concat([tf.fill([tf.shape(labels)[0], 1], START), labels[:, :-1]], axis=1)
    weights = tf.cast(labels != PAD, tf.float32)
    if row_weights is not None:
        weights *= row_weights[:, None]
    return {"source": source.to_tensor(), "target": shifted}, labels, weights


def teacher_forcing_batches(
    source: tf.RaggedTensor, target: tf.RaggedTensor, order: list[np.ndarray]
) -> tf.data.Dataset:
    """Returns the batches of the rows in `order`, each as `teacher_forcing` returns it."""
    part = current()

    def gather(rows):
        rows, row_weights = batching.rows_of_part(part, rows)
        return teacher_forcing(tf.gather(source, rows), tf.gather(target, rows), *row_weights)

    rows = tf.data.Dataset.from_tensor_slices(tf.ragged.constant([list(batch) for batch in order], tf.int64))
    return batching.prefetched(rows.map(gather, num_parallel_calls=batching.READERS, deterministic=True))
