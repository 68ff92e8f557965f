"""Batches of sentence pairs for teacher forcing: the decoder reads the reference, shifted by one position."""

import numpy as np
import tensorflow as tf

from pipelines.data import batching
from pipelines.data.part import current
from pipelines.text.tokenizers import PAD, START


def teacher_forcing_batches(
    source: tf.RaggedTensor, target: tf.RaggedTensor, order: list[np.ndarray]
) -> tf.data.Dataset:
    """Batches of the rows in `order`: ({"source": [batch, Ts], "target": [batch, Tt]}, labels [batch, Tt], weights
    [batch, Tt]).

    The inputs "target" are the labels shifted by one position, with START first. Padding has the weight 0.
    """
    part = current()

    def gather(rows):
        rows, row_weights = batching.rows_of_part(part, rows)
        labels = tf.gather(target, rows).to_tensor()
        shifted = tf.concat([tf.fill([tf.shape(labels)[0], 1], START), labels[:, :-1]], axis=1)
        inputs = {"source": tf.gather(source, rows).to_tensor(), "target": shifted}
        weights = tf.cast(labels != PAD, tf.float32)
        return inputs, labels, weights * row_weights[0][:, None] if row_weights else weights

    rows = tf.data.Dataset.from_tensor_slices(tf.ragged.constant([list(batch) for batch in order], tf.int64))
    return batching.prefetched(rows.map(gather, num_parallel_calls=batching.READERS, deterministic=True))
