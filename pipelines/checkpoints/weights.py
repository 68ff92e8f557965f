"""The weights of a checkpoint, matched with the layers of the network: each exists, has its shape, and none is left."""

import re
from pathlib import Path

import keras
import numpy as np

from pipelines.checkpoints.families import FAMILIES, Sizes, head_parts, parts
from pipelines.checkpoints.files import CONFIG, WEIGHTS, Tensor, read_tensor
from pipelines.support.errors import UserError

# Heads of tasks, and buffers that hold 0, 1, 2, ...
_LEFT_OUT = re.compile(
    r"(cls|classifier|pre_classifier|qa_outputs|qa_classifier|lm_head|pooler|score|sequence_summary|vocab_transform|"
    r"vocab_layer_norm|vocab_projector|(discriminator|generator)_predictions|generator_lm_head)\.|"
    r"(.*\.)?(position_ids|token_type_ids)$"
)
_OLD_NAMES = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}  # of TensorFlow's BERT
_VARIABLES = {"kernel": "weight", "gamma": "weight", "embeddings": "weight", "bias": "bias", "beta": "bias"}
Layers = dict[str, dict[str, Tensor]]


def matched(folder: Path, tensors: dict[str, Tensor], sizes: Sizes) -> tuple[Layers, Layers | None]:
    """Returns the tensors "weight" and "bias" of each layer of the network, by its path, and those of the head.

    The head predicts masked tokens. None stands for a checkpoint without one. "head_decoder" is only in it if the
    decoder is not the transposed matrix of the embeddings.

    Args:
        folder: of the checkpoint, for messages.
        tensors: of its files, by name.

    Raises:
        UserError: a tensor is missing, has another shape than config.json says, or is of no known layer.
    """
    prefix = FAMILIES[sizes.model_type].prefix
    named = {_plain_name(name, prefix): tensor for name, tensor in tensors.items()}
    if sizes.layers > len(named):  # before the names of as many layers are made
        raise UserError(f"{folder / CONFIG}: num_hidden_layers is {sizes.layers:,}, but the weights have fewer layers")
    network: Layers = {}
    for layer, (name, shape) in parts(sizes).items():
        network[layer] = {"weight": _found(folder, named, f"{name}.weight", shape)}
        if not layer.endswith("_embeddings"):
            network[layer]["bias"] = _found(folder, named, f"{name}.bias", shape[:1])
    used = {tensor.name for layer in network.values() for tensor in layer.values()}
    for name, tensor in named.items():
        if tensor.name not in used and not _LEFT_OUT.match(name):
            raise UserError(
                f"{tensor.path} has {tensor.name}, which is no part of a {sizes.model_type} as it is known here: "
                "its vectors would be wrong without it; give another checkpoint"
            )
    return network, _matched_head(folder, named, sizes)


def assign(model: keras.Model, layers: Layers) -> None:
    """Gives the variables of a model the values of the tensors of `matched`, of the layers that it has.

    Raises:
        UserError: a value is not finite.
    """
    for variable in model.variables:
        layer, _, leaf = variable.path.rpartition("/")
        if layer not in layers:
            continue
        values = read_tensor(layers[layer][_VARIABLES[leaf]])
        variable.assign(values.T if leaf == "kernel" else values)


def position_table(layers: Layers, sizes: Sizes) -> np.ndarray:
    """Returns what is added to the embedding of the token at each position from 0: float32 [positions, size].

    It is the embedding of the position plus that of the token type 0, which all tokens have.
    """
    table = read_tensor(layers["position_embeddings"]["weight"])[sizes.offset :]
    return table + read_tensor(layers["type_embeddings"]["weight"])[0] if sizes.types else table


def _plain_name(name: str, prefix: str) -> str:
    name = name.removeprefix(prefix)
    for old, new in _OLD_NAMES.items():
        if name.endswith(old):
            return name.removesuffix(old) + new
    return name


def _found(folder: Path, named: dict[str, Tensor], name: str, shape: tuple[int, ...]) -> Tensor:
    tensor = named.get(name)
    if tensor is None:
        raise UserError(f"{folder / WEIGHTS} has no {name}, which {CONFIG} promises: get the checkpoint again")
    if tensor.shape != shape:
        raise UserError(
            f"{tensor.path}: {tensor.name} has the shape {list(tensor.shape)}, but {CONFIG} says {list(shape)}: "
            "get the checkpoint again"
        )
    return tensor


def _matched_head(folder: Path, named: dict[str, Tensor], sizes: Sizes) -> Layers | None:
    head = head_parts(sizes)
    if f"{head['head_transform'][0]}.weight" not in named:
        return None
    layers: Layers = {}
    for layer in ("head_transform", "head_norm"):
        stem, shape = head[layer]
        weight = _found(folder, named, f"{stem}.weight", shape)
        layers[layer] = {"weight": weight, "bias": _found(folder, named, f"{stem}.bias", shape[:1])}
    # A tied decoder has one bias with two names. A file has it under one name or both. An untied decoder has a bias of
    # its own, but older files have it only under the other name.
    (bias_name, bias_shape), (decoder_name, decoder_shape) = head["head_bias"], head["head_decoder"]
    names = [f"{bias_name}.bias", f"{decoder_name}.bias"]
    names = names if sizes.is_tied else names[::-1]
    bias = _found(folder, named, names[0] if names[0] in named else names[1], bias_shape)
    if sizes.is_tied:
        layers["head_bias"] = {"bias": bias}
    else:
        decoder = _found(folder, named, f"{decoder_name}.weight", decoder_shape)
        layers["head_decoder"] = {"weight": decoder, "bias": bias}
    return layers
