"""The modules that sentence-transformers puts after a network: pooling, dense layers and normalization.

modules.json lists them, and each has a folder with its settings.

Source: Reimers and Gurevych 2019, "Sentence-BERT: Sentence Embeddings using Siamese BERT-Networks", section 3.
"""

from pathlib import Path
from typing import NamedTuple

import keras
from keras import ops

from layers import MaskedMaxPooling, MaskedMeanPooling
from pipelines.checkpoints.files import CONFIG, Tensor, read_list, read_object, read_tensor, weights_of
from pipelines.support.errors import UserError

MODULES = "modules.json"
_FIRST_MODULES = ("Transformer", "StaticEmbedding", "BERT")
_NO_OPERATION = ("Dropout",)
# As the keys of the settings name them, in the order in which sentence-transformers joins several.
_MODES = {"cls_token": "cls", "max_tokens": "max", "mean_tokens": "mean"}
_ACTIVATIONS = {"Identity": "linear", "Tanh": "tanh", "ReLU": "relu", "GELU": "gelu", "Sigmoid": "sigmoid"}


class DenseModule(NamedTuple):
    """A dense layer after the pooling.

    Args:
        weight: [outputs, inputs].
        bias: [outputs], or None.
        activation: of Keras.
    """

    weight: Tensor
    bias: Tensor | None
    activation: str


class Pooling(NamedTuple):
    """How a text's vector comes from those of its tokens.

    Args:
        modes: "cls", "max", "mean", whose vectors are joined.
        after: what follows, in order: dense layers, and "normalize".
    """

    modes: tuple[str, ...] = ("mean",)
    after: tuple[DenseModule | str, ...] = ()


def transformer_folder(folder: Path) -> Path:
    """Returns the folder of config.json and the weights: `folder`, or the one in it that modules.json names first.

    Raises:
        UserError: modules.json is damaged.
    """
    if (folder / CONFIG).is_file() or not (folder / MODULES).is_file():
        return folder
    modules = read_list(folder / MODULES)
    return _module_folder(folder, modules[0]) if modules else folder


def read_pooling(folder: Path, size: int) -> Pooling:
    """Returns the modules after the network; without any file that names them, the mean over the tokens.

    Args:
        size: of the vectors of tokens.

    Raises:
        UserError: a file is damaged, or it names a module or a way of pooling that is not supported.
    """
    path = folder / MODULES
    if not path.is_file():
        settings = folder / "1_Pooling" / CONFIG
        return Pooling(_modes(settings)) if settings.is_file() else Pooling()
    modes: tuple[str, ...] = ()
    after: list[DenseModule | str] = []
    for number, module in enumerate(read_list(path)):
        kind = str(module.get("type", "")).rpartition(".")[2]
        if (number == 0 and kind in _FIRST_MODULES) or kind in _NO_OPERATION:
            continue
        if kind == "Pooling" and not modes and not after:
            modes = _modes(_module_folder(folder, module) / CONFIG)
            size *= len(modes)
        elif kind == "Normalize":
            after.append("normalize")
        elif kind == "Dense" and modes:
            dense = _dense(_module_folder(folder, module), size)
            size = dense.weight.shape[0]
            after.append(dense)
        else:
            raise UserError(
                f"{path}: module {number} is {kind or 'without a type'}, which is not supported there: after the "
                "network come Pooling, Dense and Normalize"
            )
    return Pooling(modes or ("mean",), tuple(after))


def pooled(pooling: Pooling, sequence, mask):
    """Returns the vectors of texts: float [batch, size], as layers of a functional model.

    Args:
        sequence: float [batch, time, features]; its first vector is that of [CLS].
        mask: bool [batch, time].

    Raises:
        UserError: a weight is not finite.
    """
    layers = {"max": MaskedMaxPooling, "mean": MaskedMeanPooling}
    vectors = [
        sequence[:, 0] if mode == "cls" else layers[mode](name=f"{mode}_pooling")(sequence, mask=mask)
        for mode in pooling.modes
    ]
    x = ops.concatenate(vectors, axis=-1) if len(vectors) > 1 else vectors[0]
    for number, module in enumerate(pooling.after, 2):
        if isinstance(module, str):
            x = keras.layers.UnitNormalization(name=f"pooled_{module}_{number}")(x)
            continue
        dense = keras.layers.Dense(
            module.weight.shape[0],
            activation=module.activation,
            use_bias=module.bias is not None,
            name=f"pooled_dense_{number}",
        )
        x = dense(x)
        dense.kernel.assign(read_tensor(module.weight).T)
        if module.bias is not None:
            dense.bias.assign(read_tensor(module.bias))
    return x


def _modes(path: Path) -> tuple[str, ...]:
    """Returns the ways of pooling that a 1_Pooling/config.json names.

    Older files have a key for each, such as `pooling_mode_mean_tokens`, newer ones `pooling_mode`.
    """
    settings = read_object(path)
    if named := settings.get("pooling_mode"):
        modes = [named] if isinstance(named, str) else named
        if not isinstance(modes, list) or not all(isinstance(mode, str) for mode in modes):
            raise UserError(f"{path}: pooling_mode is {named!r}, it must be a name: get the checkpoint again")
    else:
        keys = [k.removeprefix("pooling_mode_") for k in settings if k.startswith("pooling_mode_") and settings[k]]
        modes = [mode for key, mode in _MODES.items() if key in keys] + [key for key in keys if key not in _MODES]
    if not modes:
        raise UserError(f"{path} names no way of pooling: get the checkpoint again")
    for mode in modes:
        if mode not in _MODES.values():
            raise UserError(f"{path}: pooling {mode} is not supported, only {', '.join(_MODES.values())} are")
    return tuple(modes)


def _dense(folder: Path, size: int) -> DenseModule:
    settings = read_object(folder / CONFIG)
    activation = str(settings.get("activation_function", "Tanh")).rpartition(".")[2]
    if activation not in _ACTIVATIONS:
        raise UserError(
            f"{folder / CONFIG}: the activation {activation} is not supported, only {', '.join(_ACTIVATIONS)}"
        )
    tensors = weights_of(folder)
    weight, bias = tensors.get("linear.weight"), tensors.get("linear.bias")
    if weight is None or set(tensors) - {"linear.weight", "linear.bias"}:
        raise UserError(f"{folder} has other weights than linear.weight and linear.bias: get the checkpoint again")
    if len(weight.shape) != 2 or weight.shape[1] != size or (bias and bias.shape != weight.shape[:1]):
        raise UserError(f"{weight.path}: linear.weight is {list(weight.shape)} for vectors of {size}: get it again")
    return DenseModule(weight, bias, _ACTIVATIONS[activation])


def _module_folder(folder: Path, module: dict) -> Path:
    path = module.get("path", "")
    if not isinstance(path, str) or Path(path).is_absolute() or ".." in Path(path).parts:
        raise UserError(f"{folder / MODULES}: the path {path!r} is no folder in {folder}: get the checkpoint again")
    return folder / path
