"""Interventions: what a network computes if some of its gates, states, units or weights of attention are set.

An intervention is a layer, a kind, a unit, a step, a key and a value. Of a recurrent layer the kind is one of its
quantities in a trace, such as "forget_gate", and the value takes the place of what the layer computes. Of a transformer
block it is

    hidden                                      the output of the block; value in the place of a unit's
    attention                                   a weight of self-attention: unit is the head, step the query
    head                                        factor of the output of a head: 0 removes it
    attention_output, feed_forward_output       factor of f(x) in x + f(x) of a sublayer
    attention_residual, feed_forward_residual   factor of x in x + f(x)

ALL as unit, step or key means all of them. Where several values are for the same place, their mean counts.
"""

import keras
import tensorflow as tf
from keras import ops

from layers import RecurrentTrace

ALL = -1
FACTORS = (
    "attention_output",
    "attention_residual",
    "feed_forward_output",
    "feed_forward_residual",
)  # of all units of a position
OF_BLOCKS = ("hidden", "attention", "head", *FACTORS)
KINDS = (
    *("hidden", "cell", "input_gate", "forget_gate", "output_gate", "candidate", "update_gate", "reset_gate"),
    *OF_BLOCKS[1:],
)
INPUTS = {
    name: tf.TensorSpec([None, None], tf.as_dtype(dtype), name=name)
    for name, dtype in (
        ("layer", "string"),
        ("kind", "string"),
        ("unit", "int32"),
        ("step", "int32"),
        ("key", "int32"),
        ("value", "float32"),
    )
}
"""The inputs of the signature `intervene` beside the text, [batch, interventions]; the layers of a row end with ""."""


class Lists:
    """The interventions that the layers of a network read while it is called.

    They are no inputs of the network, because they belong to its layers, wherever these are.

    Attributes:
        layers: names of the layers that read them, in the order of their numbers.
        tensors: name of an input -> int32 or float32 [batch, interventions]; layers and kinds are numbers, those in
            `layers` and in KINDS.
    """

    def __init__(self):
        self.layers: list[str] = []
        self.tensors: dict[str, tf.Tensor] = {}

    def number_of(self, layer: str) -> int:
        """Returns the number of a layer."""
        self.layers.append(layer)
        return len(self.layers) - 1

    def set(self, given: dict, rows) -> None:
        """Takes the inputs of the signature, and no interventions for the rows after them.

        Args:
            rows: how many rows the network reads, int32 [].
        """
        numbers = {"layer": _index(given["layer"], self.layers), "kind": _index(given["kind"], KINDS)}
        missing = [[0, rows - tf.shape(given["unit"])[0]], [0, 0]]
        self.tensors = {name: tf.pad(numbers.get(name, given[name]), missing, constant_values=ALL) for name in INPUTS}


def _index(names: tf.Tensor, known) -> tf.Tensor:
    """Returns the number of each name, int32 [batch, interventions]; ALL of one that is not known."""
    is_equal = tf.equal(names[:, :, None], tf.constant(list(known)))
    return tf.where(tf.reduce_any(is_equal, -1), tf.argmax(is_equal, -1, tf.int32), ALL)


class EditedRecurrent(keras.layers.Layer):
    """A `RecurrentTrace` with the interventions on its layer."""

    def __init__(self, layer, lists: Lists, name: str):
        super().__init__(dtype=layer.dtype_policy, name=f"{name}_trace")
        self._lists, self._number = lists, lists.number_of(name)
        self._trace = RecurrentTrace(layer)
        self.supports_masking = True

    def compute_mask(self, *args, **kwargs):
        """The values have no mask."""
        return None

    def build(self, *shapes):
        """Nothing: the layer is built."""

    def call(self, inputs, initial_state=None, mask=None):
        """Returns what `RecurrentTrace` does."""
        time = ops.shape(inputs)[1]
        edits = {
            name: _edit(self._lists.tensors, self._number, name, time, units)
            for name, (_, _, units) in self._trace.compute_output_shape(inputs.shape).items()
        }
        return self._trace(inputs, initial_state=initial_state, mask=mask, edits=edits)

    def compute_output_spec(self, inputs, initial_state=None, mask=None):
        """Those of `RecurrentTrace`."""
        return self._trace.compute_output_spec(inputs)


def of_block(lists: Lists, number: int, inputs, num_heads: int) -> dict:
    """Returns the edits of a transformer block, see `TransformerEncoderBlock`.

    Args:
        number: of the block.
        inputs: float [batch, time, d].
    """
    time, units = ops.shape(inputs)[1], inputs.shape[-1]
    tensors = lists.tensors
    edits = {name: _edit(tensors, number, name, time, units) for name in ("hidden", *FACTORS)}
    is_set, factor = _edit(tensors, number, "head", time, num_heads)  # [batch, time, heads]
    edits["head"] = tuple(ops.expand_dims(ops.swapaxes(each, 1, 2), -1) for each in (is_set, factor))
    edits["attention"] = _edit(tensors, number, "attention", time, num_heads, num_keys=time)
    return edits


def _edit(tensors: dict, number: int, kind: str, time, units: int, num_keys=None) -> tuple:
    """Returns (is_set, value) of one quantity of a layer, each [batch, time, units].

    With keys, they are [batch, units, time, keys].
    """
    chosen = ops.logical_and(tensors["layer"] == number, tensors["kind"] == KINDS.index(kind))
    weights = [ops.cast(chosen, "float32")]  # [batch, interventions]
    for name, size in (("step", time), ("unit", units), *([("key", num_keys)] if num_keys is not None else [])):
        place = tensors[name][:, :, None]
        weights.append(ops.cast(ops.logical_or(place == ALL, place == ops.arange(size, dtype="int32")), "float32"))
    equation = "bn,bnt,bnu->btu" if num_keys is None else "bn,bnt,bnu,bnk->butk"
    count = ops.einsum(equation, *weights)
    total = ops.einsum(equation, ops.where(chosen, tensors["value"], 0.0), *weights[1:])
    return count > 0, total / ops.maximum(count, 1.0)


def example_request(texts: list[str]) -> dict[str, list]:
    """Returns an example request of the signature (see `Task.example_requests`): a unit of the first layer is set."""
    layers = ["layer_1", "layer_1_forward"]  # a network has one of them
    chosen = {"layer": layers, "kind": ["hidden"] * 2, "unit": [0, 0], "step": [ALL] * 2, "key": [ALL] * 2}
    return {"text": texts} | {name: [each] * len(texts) for name, each in (chosen | {"value": [0.5, 0.5]}).items()}
