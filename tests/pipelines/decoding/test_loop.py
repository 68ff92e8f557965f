import contextlib
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from pipelines.decoding.loop import IMPOSSIBLE, shape_invariants, weights_read_once

VOCABULARY = 5


class Loop(NamedTuple):
    time: Any
    tokens: Any
    outputs: Any
    logits: Any
    state: Any


def start(rows) -> Loop:
    return Loop(
        time=0,
        tokens=tf.zeros([rows, 1], tf.int32),
        outputs=tf.TensorArray(tf.int32, size=3, element_shape=[None]),
        logits=tf.zeros([rows, VOCABULARY]),
        state={"cache": tf.zeros([rows, 2, 3]), "steps": [tf.zeros([rows])]},
    )


def test_only_the_sizes_of_logits_and_state_are_known():
    with tf.Graph().as_default():
        invariants = shape_invariants(start(2))
    assert isinstance(invariants, Loop)
    assert invariants.time.as_list() == [] and invariants.tokens.as_list() == [None, None]
    assert invariants.outputs.rank is None
    assert invariants.logits.as_list() == [None, VOCABULARY]
    assert invariants.state["cache"].as_list() == [None, 2, 3] and invariants.state["steps"][0].as_list() == [None]


def test_rows_and_tokens_may_change_in_a_loop_and_the_vocabulary_keeps_its_size():
    shapes = []

    @tf.function
    def run(rows):
        def double_rows(loop):
            shapes.append((loop.tokens.shape.as_list(), loop.logits.shape.as_list()))
            return [
                Loop(
                    time=loop.time + 1,
                    tokens=tf.tile(tf.pad(loop.tokens, [[0, 0], [0, 1]], constant_values=7), [2, 1]),
                    outputs=loop.outputs.write(loop.time, tf.fill([rows], loop.time)),
                    logits=tf.tile(loop.logits, [2, 1]),
                    state=tf.nest.map_structure(lambda x: tf.concat([x, x + 1], axis=0), loop.state),
                )
            ]

        first = start(rows)
        invariants = [shape_invariants(first)]
        (end,) = tf.while_loop(lambda loop: loop.time < 3, double_rows, [first], shape_invariants=invariants)
        return end._replace(outputs=end.outputs.stack())

    end = run(tf.constant(2))
    assert shapes == [([None, None], [None, VOCABULARY])]
    assert end.tokens.numpy().tolist() == [[0, 7, 7, 7]] * 16
    assert end.outputs.numpy().tolist() == [[0, 0], [1, 1], [2, 2]]
    assert end.state["cache"].shape == (16, 2, 3) and end.state["cache"].numpy().max() == 3


def test_an_impossible_token_has_the_probability_zero():
    logits = np.array([50.0, -50.0, IMPOSSIBLE - 50.0, IMPOSSIBLE + 50.0], np.float32)
    assert tf.nn.softmax(logits).numpy()[2:].tolist() == [0.0, 0.0]


def test_if_every_token_is_impossible_the_probabilities_are_finite():
    np.testing.assert_allclose(tf.nn.softmax(tf.fill([4], IMPOSSIBLE)), 0.25)
    assert np.isfinite(tf.nn.log_softmax(tf.fill([4], 2 * IMPOSSIBLE)).numpy()).all()


def test_a_loop_does_not_read_the_weights_in_each_step():
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(3)])

    def body_ops(is_read_once):
        @tf.function(autograph=False)
        def run(x):
            with weights_read_once(model) if is_read_once else contextlib.nullcontext():
                return tf.while_loop(lambda x: tf.reduce_sum(x) < 1, lambda x: [model(x)], [x])[0]

        library = run.get_concrete_function(tf.ones([2, 3])).graph.as_graph_def().library
        return {node.op for function in library.function for node in function.node_def}, run(tf.ones([2, 3]))

    ops, result = body_ops(True)
    ops_without, expected = body_ops(False)
    assert "MatMul" in ops and "ReadVariableOp" not in ops and "ReadVariableOp" in ops_without
    np.testing.assert_array_equal(result, expected)
