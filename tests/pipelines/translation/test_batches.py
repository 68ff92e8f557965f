import numpy as np
import tensorflow as tf

from pipelines.text.tokenizers import END, PAD, START
from pipelines.translation.batches import teacher_forcing, teacher_forcing_batches

SOURCE = tf.ragged.constant([[7, END], [5, 6, 8, END], [9, END]], tf.int32)
TARGET = tf.ragged.constant([[10, 11, END], [12, END], [13, 14, 15, END]], tf.int32)


def test_the_decoder_reads_the_labels_shifted_by_one_position():
    (inputs, labels, weights), (last_inputs, *_) = teacher_forcing_batches(
        SOURCE, TARGET, [np.array([1, 0]), np.array([2])]
    )
    np.testing.assert_array_equal(inputs["source"], [[5, 6, 8, END], [7, END, PAD, PAD]])
    np.testing.assert_array_equal(labels, [[12, END, PAD], [10, 11, END]])
    np.testing.assert_array_equal(inputs["target"], [[START, 12, END], [START, 10, 11]])
    np.testing.assert_array_equal(weights, [[1, 1, 0], [1, 1, 1]])
    np.testing.assert_array_equal(last_inputs["target"], [[START, 13, 14, 15]])


def test_a_pair_may_have_a_weight():
    _, labels, weights = teacher_forcing(SOURCE, TARGET, tf.constant([1.0, 0.0, 1.0]))
    np.testing.assert_array_equal(labels, [[10, 11, END, PAD], [12, END, PAD, PAD], [13, 14, 15, END]])
    np.testing.assert_array_equal(weights, [[1, 1, 1, 0], [0, 0, 0, 0], [1, 1, 1, 1]])
