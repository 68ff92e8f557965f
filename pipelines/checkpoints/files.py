"""The files of a checkpoint's folder: config.json and the weights in the format safetensors.

A folder of a model of Hugging Face has config.json, and model.safetensors or the parts that
model.safetensors.index.json lists. Weights that are pickled are refused: to read a pickle is to run the program in it.

The package safetensors reads the weights. It is imported when it is needed.
"""

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipelines.support.errors import UserError, shortened
from pipelines.support.installation import installation

CONFIG = "config.json"
WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
_FLOATS = ("F64", "F32", "F16", "BF16")
_OTHER_WEIGHTS = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.ckpt.index", "*.h5", "*.msgpack", "*.onnx", "*.gguf")
_PICKLES = (".bin", ".pt", ".pth", ".ckpt")
_LFS = b"version https://git-lfs"


class Tensor(NamedTuple):
    """A tensor of a file that is not read yet.

    Args:
        path: of the file.
        name: in the file.
        dtype: as safetensors names it, such as "BF16".
    """

    path: Path
    name: str
    shape: tuple[int, ...]
    dtype: str


def read_object(path: Path) -> dict:
    """Returns the JSON object in a file.

    Raises:
        UserError: the file cannot be read, or is not a JSON object.
    """
    value = _read(path)
    if not isinstance(value, dict):
        raise UserError(f"{path} is not a JSON object: get the checkpoint again")
    return value


def read_list(path: Path) -> list[dict]:
    """Returns the list of JSON objects in a file.

    Raises:
        UserError: the file cannot be read, or is not such a list.
    """
    value = _read(path)
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise UserError(f"{path} is not a list of JSON objects: get the checkpoint again")
    return value


def read_config(folder: Path) -> dict:
    """Returns config.json of a checkpoint, which has a `model_type`.

    Raises:
        UserError: the folder or the file does not exist, the file is damaged, or it does not say what the model is.
    """
    path = folder / CONFIG
    if not path.is_file():
        found = "has no" if folder.is_dir() else "is no folder with a"
        raise UserError(f"{folder} {found} {CONFIG}: give the folder of a checkpoint of Hugging Face")
    config = read_object(path)
    if not isinstance(config.get("model_type"), str):
        raise UserError(f"{path} has no model_type, so it does not say what the model is: get the checkpoint again")
    return config


def weights_of(folder: Path, name: str = WEIGHTS) -> dict[str, Tensor]:
    """Returns the tensors of a folder by name; reads no values.

    Args:
        name: of the file, if its weights are not in parts.

    Raises:
        UserError: safetensors is not installed, there are no weights in its format, or a file is damaged or missing.
    """
    if (folder / name).is_file():
        return _tensors(folder / name)
    if not (folder / INDEX).is_file():
        raise UserError(_no_weights(folder, name))
    parts = read_object(folder / INDEX).get("weight_map")
    if not isinstance(parts, dict) or not parts or not all(isinstance(part, str) for part in parts.values()):
        raise UserError(f"{folder / INDEX} has no weight_map of names of files: get the checkpoint again")
    tensors = {}
    for part in sorted(set(parts.values())):
        if Path(part).name != part:  # a path could lead out of the folder
            raise UserError(f"{folder / INDEX} names {part!r}, which is no file beside it: get the checkpoint again")
        if not (folder / part).is_file():
            raise UserError(f"{folder / part}, which {INDEX} names, is missing: get the checkpoint again")
        tensors.update(_tensors(folder / part))
    if missing := sorted(set(parts) - set(tensors)):
        raise UserError(f"{folder / parts[missing[0]]} has no {missing[0]}, which {INDEX} promises: get it again")
    return tensors


def read_tensor(tensor: Tensor, is_integer: bool = False) -> np.ndarray:
    """Returns the values of a tensor, as float32; as int64 with `is_integer`.

    bfloat16 and float16 become float32 exactly.

    Raises:
        UserError: the values have another type, or one is not finite.
    """
    if is_integer != (tensor.dtype not in _FLOATS):
        remedy = "weights must be float32, float16 or bfloat16" if not is_integer else "integers are expected"
        raise UserError(f"{tensor.path}: {tensor.name} has values of type {tensor.dtype}: {remedy}")
    with _open(tensor.path) as file:
        values = np.asarray(file.get_tensor(tensor.name), np.int64 if is_integer else np.float32)
    if not np.isfinite(values).all():
        raise UserError(f"{tensor.path}: {tensor.name} has values that are not finite: get the checkpoint again")
    return values


def _read(path: Path):
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}): get the checkpoint again") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not valid JSON ({shortened(error)}): get the checkpoint again") from error


def _tensors(path: Path) -> dict[str, Tensor]:
    with _open(path) as file:
        slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118  (file is no dict)
        return {name: Tensor(path, name, tuple(s.get_shape()), s.get_dtype()) for name, s in slices.items()}


def _open(path: Path):
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError as error:
        raise UserError(
            f"{path} needs the package safetensors, which is not installed: `{installation('encoders')}`"
        ) from error
    try:
        return safe_open(path, "np")
    except (SafetensorError, OSError) as error:
        with open(path, "rb") as file:
            if file.read(len(_LFS)) == _LFS:
                raise UserError(f"{path} is a pointer of Git LFS, without the weights: `git lfs pull`") from error
        raise UserError(f"{path} is damaged ({shortened(error)}): get the checkpoint again") from error


def _no_weights(folder: Path, name: str) -> str:
    """Returns the message for a folder without weights in the format safetensors."""
    others = sorted(path for pattern in _OTHER_WEIGHTS for path in folder.glob(pattern))
    if not others:
        return f"{folder} has no {name}: get the checkpoint again"
    if others[0].suffix in _PICKLES:
        return (
            f"{others[0]} is not read, because it is a pickle, which can run any program when it is read: get the "
            f"checkpoint with {name}, or write it with save_pretrained of transformers where you trust the file"
        )
    return (
        f"{others[0]} is not read, only {name} is: get the checkpoint with that file, or write it with "
        "save_pretrained of transformers"
    )
