"""Batches of windows with masked tokens, which a bidirectional encoder learns to predict."""

import numpy as np
import tensorflow as tf

from pipelines.data import batching, streams
from pipelines.data.id_files import IdFiles
from pipelines.data.part import current
from pipelines.encoder.config import EncoderConfig
from pipelines.text.special_tokens import MASK, SPECIAL_TOKENS


def masked_batches(
    config: EncoderConfig, vocabulary_size: int, ids: np.ndarray | IdFiles, epoch: int, skip: int
) -> tf.data.Dataset:
    """Returns the windows of one epoch with some tokens masked, from step `skip` on: a pure function of (config.seed,
    epoch, skip).

    Of the tokens to predict, 80 % are masked, 10 % are replaced by another token, and 10 % are unchanged.

    Source: Devlin et al. 2019, "BERT", section 3.1, task 1.

    Args:
        ids: int32 [tokens].

    Returns:
        Batches of ({"ids": int32 [batch, window], "positions": int32 [batch, n]}, int32 [batch, n], the original tokens
        there).
    """
    num_masked = max(1, round(config.mask_rate * config.window))
    steps = streams.steps_per_epoch(len(ids), config.batch_size, config.window)
    part = current()
    num_rows = part.size(config.batch_size)
    rows = part.rows(config.batch_size)
    windows = streams.batches(ids, config.batch_size, config.window, config.seed, epoch, skip)

    def mask_in_numpy(step, window):
        rng = np.random.default_rng([config.seed, epoch, int(step)])
        masked = window.numpy()
        # The numbers of the whole batch, also for one of several workers: its windows are masked as one worker's.
        order = rng.random((config.batch_size, config.window))
        shape = (config.batch_size, num_masked)
        random_numbers = rng.random(shape)[rows]
        other_tokens = rng.integers(len(SPECIAL_TOKENS), vocabulary_size, shape)[rows]
        positions = np.argsort(order[rows], axis=1)[:, :num_masked].astype(np.int32)  # [batch, n]
        targets = np.take_along_axis(masked, positions, axis=1)
        inputs = np.where(random_numbers < 0.8, MASK, np.where(random_numbers < 0.9, other_tokens, targets))
        np.put_along_axis(masked, positions, inputs.astype(np.int32), axis=1)
        return masked, positions, targets

    def mask(step, batch):
        _, window = batch
        masked, positions, targets = tf.py_function(mask_in_numpy, [step, window], [tf.int32] * 3)
        masked.set_shape([num_rows, config.window])
        positions.set_shape([num_rows, num_masked])
        targets.set_shape([num_rows, num_masked])
        return {"ids": masked, "positions": positions}, targets

    masked = windows.enumerate(skip).map(mask)
    return batching.prefetched(masked.apply(tf.data.experimental.assert_cardinality(max(0, steps - skip))))
