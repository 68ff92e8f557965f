"""What the decoding loops share.

A model is seen as `step(ids int32 [rows], state) -> (logits float [rows, vocabulary], state)`, where `state` is a dict
of tensors with the rows first on every leaf. Decoding starts with the logits of the first token and the state after
everything that was read. The result of a row does not depend on the other rows of the batch.

A state may grow. Then the model has a function `make_room(state)`, which gives it room for STAGE_STEPS more steps.
"""

import keras
import tensorflow as tf

IMPOSSIBLE = -1e9  # a log-probability
STAGE_STEPS = 8


def weights_read_once(model: keras.Model) -> keras.StatelessScope:
    """A scope in which layers have the weights of a model as tensors: a loop in it does not read them in each step."""
    return keras.StatelessScope([(weight, tf.identity(weight.value)) for weight in model.weights])


def shape_invariants(values):
    """Returns the shapes that hold in all steps of a loop: only the sizes of the model's logits and state are known.

    Args:
        values: NamedTuple of the loop's variables; the last two are the logits and the state.
    """

    def unknown_sizes(x):
        return (
            tf.TensorShape(None)
            if isinstance(x, tf.TensorArray)
            else tf.TensorShape([None] * len(tf.convert_to_tensor(x).shape))
        )

    def known_sizes(x):
        return tf.TensorShape([None, *x.shape[1:]])

    *others, logits, state = values
    others = tf.nest.map_structure(unknown_sizes, others)
    return type(values)(*others, *tf.nest.map_structure(known_sizes, (logits, state)))
