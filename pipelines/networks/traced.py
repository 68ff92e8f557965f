"""A network that returns what it computes on the way: states, gates and attention weights of all its layers."""

import re
from collections.abc import Callable

import keras
import tensorflow as tf

from layers import AttentionDecoder, RecurrentTrace, TransformerDecoderBlock, TransformerEncoderBlock
from pipelines.networks.interventions import INPUTS as INTERVENTIONS
from pipelines.networks.interventions import EditedRecurrent, Lists, of_block

_BLOCKS = (TransformerEncoderBlock, TransformerDecoderBlock)
_NUMBERED = re.compile(r"(encoder|decoder)(?:_(\d+))?")
_OUTPUT_LAYERS = ("logits", "projection", "read_out")
FEATURES = "features"
NUM_NEXT = 10  # tokens that may come next, per position
MAX_TRACED_TOKENS = 256  # of a text: an answer has thousands of numbers per token
OUTPUT = "output"


def is_traceable(model: keras.Model) -> bool:
    """Whether `traced` finds a recurrent layer or a transformer block."""
    return any(
        isinstance(layer, (keras.layers.RNN, keras.layers.Bidirectional, *_BLOCKS))
        for layer in model._flatten_layers(include_self=False)
    )


def traced(model: keras.Model, lists: Lists | None = None) -> keras.Model:
    """Returns a model with the same inputs and the same weights, in inference, which returns a dict:

    "output": what `model` returns. "features": the input of its output layers, float [batch, time, units]. And for each
    recurrent layer and each transformer block, the lowest as number 1:

        layer_1_hidden, layer_1_cell, layer_1_forget_gate, ...     see RecurrentTrace; float [batch, time, units]
        layer_1_forward_hidden, layer_1_backward_hidden, ...       of a bidirectional layer
        layer_1_attention                                          weights of self-attention, [batch, heads, time, time]

    Layers of a translator are called encoder_1, decoder_1 and so on. In its decoder, attention over the source is
    `decoder_1_attention`, [batch, heads, target time, source time], and self-attention `decoder_1_self_attention`.

    Args:
        lists: the interventions that recurrent layers and transformer blocks read, but for an `AttentionDecoder`. With
            them, the outputs of transformer blocks are returned, too: layer_1_hidden.
    """
    found = {}
    numbers = {"layer": 0}

    def name_of(layer) -> str:
        match = _NUMBERED.fullmatch(layer.name)
        if match:
            return f"{match[1]}_{match[2] or 1}"
        numbers["layer"] += 1
        return f"layer_{numbers['layer']}"

    def record(name, layer, inputs, initial_state, mask) -> dict:
        given = {"initial_state": initial_state, "mask": mask}
        if lists:
            values = EditedRecurrent(layer, lists, name)(inputs, **given)
        else:
            values = RecurrentTrace(layer, name=f"{name}_trace")(inputs, **given)
        found.update({f"{name}_{quantity}": value for quantity, value in values.items()})
        return values

    def call(layer, *args, **kwargs):
        is_output = layer.name in _OUTPUT_LAYERS or kwargs.get("reverse")
        if is_output and FEATURES not in found:
            found[FEATURES] = args[0]
        if isinstance(layer, AttentionDecoder):
            outputs = layer(*args, **kwargs)
            name = name_of(layer)
            found[f"{name}_hidden"], weights = outputs
            found[f"{name}_attention"] = keras.ops.expand_dims(weights, 1)  # [batch, 1, target time, source time]
            return outputs
        if isinstance(layer, keras.layers.Bidirectional):
            name = name_of(layer)
            states = kwargs.get("initial_state")
            half = len(states) // 2 if states else 0
            of_directions = []
            for direction, cells, own in (
                ("forward", layer.forward_layer, states[:half] if states else None),
                ("backward", layer.backward_layer, states[half:] if states else None),
            ):
                of_directions.append(record(f"{name}_{direction}", cells, args[0], own, kwargs.get("mask")))
            if lists:
                forward, backward = of_directions
                return _outputs_of_both(layer, forward, backward, kwargs.get("mask"))
        elif isinstance(layer, keras.layers.RNN):
            states = kwargs.get("initial_state")
            values = record(name_of(layer), layer, args[0], states, kwargs.get("mask"))
            if lists:
                return _outputs_of(layer, values)
        elif isinstance(layer, _BLOCKS):
            name = name_of(layer)
            masks = _masks(kwargs.get("mask"), kwargs.get("encoder_mask"))
            outputs, weights = _WithWeights(layer, lists, name)(*args, **masks)
            weights = weights if isinstance(weights, dict) else {"self": weights}
            found[f"{name}_attention"] = weights.get("cross", weights["self"])
            if lists:
                found[f"{name}_hidden"] = outputs
            if "cross" in weights:
                found[f"{name}_self_attention"] = weights["self"]
            return outputs
        return layer(*args, **kwargs)

    network = keras.Model(model.input, model.output)  # without optimizer and loss, which `clone_model` would copy
    copy = keras.models.clone_model(network, clone_function=lambda layer: layer, call_function=call)
    inputs = copy.input
    if isinstance(model.input, dict):
        inputs = dict(zip((each.name for each in network.inputs), copy.inputs))
    return keras.Model(inputs, {OUTPUT: copy.output, **found}, name=f"traced_{model.name}")


def _outputs_of(layer, values: dict):
    """Returns what a recurrent layer that reads forwards returns.

    Args:
        values: its states: quantity -> [batch, time, units].
    """
    outputs = values["hidden"] if layer.return_sequences else values["hidden"][:, -1]
    states = [values[name][:, -1] for name in ("hidden", "cell") if name in values]
    return (outputs, *states) if layer.return_state else outputs


def _outputs_of_both(layer, forward: dict, backward: dict, mask):
    """Returns the outputs of a bidirectional layer; the values of both directions are in the order of the inputs."""
    outputs = [forward["hidden"], backward["hidden"]]
    if not layer.return_sequences:
        outputs = [outputs[0][:, -1], outputs[1][:, 0]]
    elif mask is not None:  # Keras has zeros there
        outputs = [each * keras.ops.cast(mask, each.dtype)[:, :, None] for each in outputs]
    return keras.ops.concatenate(outputs, -1) if layer.merge_mode == "concat" else keras.ops.add(*outputs)


class _WithWeights(keras.layers.Layer):
    """A transformer block that returns its attention weights, too.

    A layer of its own, because Keras takes the number of a layer's outputs in a functional model from its first call.
    """

    def __init__(self, block, lists: Lists | None, name: str):
        super().__init__(dtype=block.dtype_policy, name=f"{name}_weights")
        self.block = block
        self._lists, self._number = lists, lists.number_of(name) if lists else 0
        self.supports_masking = True

    def compute_mask(self, *args, **kwargs):
        return None

    def build(self, *shapes):
        pass

    def call(self, inputs, encoder_outputs=None, mask=None, encoder_mask=None):
        edits = of_block(self._lists, self._number, inputs, self.block.num_heads) if self._lists else None
        options = {"return_weights": True, "edits": edits}
        return self.block(*_given(inputs, encoder_outputs), **_masks(mask, encoder_mask), **options)

    def compute_output_spec(self, inputs, encoder_outputs=None, mask=None, encoder_mask=None):
        return self.block.compute_output_spec(
            *_given(inputs, encoder_outputs), **_masks(mask, encoder_mask), return_weights=True
        )


def _given(inputs, encoder_outputs):
    return (inputs,) if encoder_outputs is None else (inputs, encoder_outputs)


def _masks(mask, encoder_mask):
    masks = {"mask": mask, "encoder_mask": encoder_mask}
    return {name: value for name, value in masks.items() if value is not None}


def without_padding(values: dict, lengths) -> dict:
    """Returns the states, gates and attention weights with zeros in the padding.

    Args:
        values: name -> float [batch, time, units], or weights [batch, heads, time, keys].
        lengths: int32 [batch], number of positions of each row.
    """
    masked = {}
    for name, value in values.items():
        mask = keras.ops.cast(keras.ops.arange(keras.ops.shape(value)[-2]) < lengths[:, None], value.dtype)
        mask = keras.ops.expand_dims(mask, -1)  # [batch, time, 1]
        masked[name] = value * (mask if len(value.shape) == 3 else keras.ops.expand_dims(mask, 1))
    return masked


def next_tokens(logits: tf.Tensor, is_valid: tf.Tensor, vocabulary: tf.Tensor) -> dict[str, tf.Tensor]:
    """Returns the most likely tokens: next_tokens string [batch, time, k], next_probabilities float32 [batch, time, k].

    k is at most NUM_NEXT. In the padding there are "" and 0.

    Args:
        logits: float32 [batch, time, vocabulary].
        is_valid: bool [batch, time].
        vocabulary: the tokens in the order of their ids, string [vocabulary].
    """
    probabilities, ids = tf.math.top_k(tf.nn.softmax(logits), min(NUM_NEXT, logits.shape[-1]))
    is_valid = is_valid[:, :, None]
    return {
        "next_tokens": tf.where(is_valid, tf.gather(vocabulary, ids), ""),
        "next_probabilities": tf.where(is_valid, probabilities, 0.0),
    }


def signature_of(model: keras.Model, trace: Callable, with_interventions: bool = False):
    """Returns the concrete function of the signature `trace` or `intervene` of a network.

    Args:
        trace: (texts string [batch], run) -> the outputs; run(inputs of the network) -> the outputs of `traced`.
        with_interventions: whether it also takes the INPUTS of interventions.py.
    """
    text = tf.TensorSpec([None], tf.string, name="text")
    if not with_interventions:
        network = traced(model)
        plain = tf.function(
            lambda text: trace(text, lambda inputs: dict(network(inputs, training=False))), autograph=False
        )
        return plain.get_concrete_function(text)
    lists = Lists()
    edited = traced(model, lists)

    def intervene(text, **given):
        def run(inputs):
            lists.set(given, rows=tf.shape(tf.nest.flatten(inputs)[0])[0])
            return dict(edited(inputs, training=False))

        return trace(text, run)

    return tf.function(intervene, autograph=False).get_concrete_function(text, **INTERVENTIONS)
