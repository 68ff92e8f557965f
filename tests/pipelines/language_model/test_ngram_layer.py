import keras
import numpy as np
import tensorflow as tf

from pipelines.language_model.kneser_ney import estimate
from pipelines.language_model.ngram_layer import BackoffNGrams, table_sizes
from tests.layers.checks import ops_without_xla

IDS = np.random.default_rng(3).integers(3, 9, 60).astype(np.int32)


def make():
    tables = estimate(IDS, 3, 9)
    layer = BackoffNGrams(3, 9, table_sizes(tables))
    layer.build(None)
    layer.assign(tables)
    return layer


def test_the_tables_are_weights_that_are_not_trained():
    layer = make()
    assert not layer.trainable_weights and len(layer.weights) == 1 + 2 * 4
    ids = keras.Input((None,), dtype="int32")
    model = keras.Model(ids, BackoffNGrams(3, 9, layer.sizes)(ids))
    model.set_weights(layer.get_weights())
    np.testing.assert_array_equal(model(IDS[None, :7]), layer(tf.constant(IDS[None, :7])))


def test_any_batch_and_length_also_an_empty_one():
    layer = make()
    for shape in ((0, 4), (2, 1), (3, 5)):
        assert layer(tf.zeros(shape, tf.int32)).shape == (*shape, 9)
        assert layer.target_log_probabilities(tf.zeros(shape, tf.int32), tf.zeros(shape, tf.int32)).shape == shape


def test_the_graph_needs_no_xla():
    layer = make()
    function = tf.function(lambda ids: layer(ids), input_signature=[tf.TensorSpec([None, None], tf.int32)])
    assert "LowerBound" in ops_without_xla(function)
    copy = BackoffNGrams.from_config(layer.get_config())
    assert (copy.order, copy.vocabulary_size, copy.sizes) == (3, 9, layer.sizes)
