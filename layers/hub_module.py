"""What a TF Hub module is, whichever of its forms it comes in: found, loaded, called, described.

The forms: TensorFlow 2 SavedModels that are called (BERT with dicts in and out, sentence encoders with strings in), with or without a
`training` argument; modules of TensorFlow 1, and any other SavedModel, which have signatures alone.
"""

import atexit
import functools
import inspect
import re
import shutil
import tarfile
import tempfile
from pathlib import Path

import tensorflow as tf


class InputError(ValueError):
    """A module was called with what it does not take."""


_URL = re.compile(r"^[a-z]+://")
_GRAPHS = ("saved_model.pb", "saved_model.pbtxt")


def resolved(handle: str) -> Path:
    """The folder of a module.

    Args:
        handle: a URL as tensorflow_hub takes it (tfhub.dev, kaggle.com, any .tar.gz), a folder, or a .tar.gz file.

    Raises:
        ValueError: it cannot be reached, or is no SavedModel.
    """
    import tensorflow_hub

    if _URL.match(handle):
        try:
            folder = Path(tensorflow_hub.resolve(handle))
        except Exception as error:
            raise ValueError(
                f"{handle} cannot be reached ({_first_line(error)}): download it elsewhere, and give the folder or the .tar.gz file"
            ) from error
    elif handle.endswith((".tar.gz", ".tgz")):
        if not Path(handle).is_file():
            raise ValueError(f"{handle}: there is no such file")
        folder = _extracted(Path(handle).resolve(), Path(handle).stat().st_mtime_ns)
    else:
        folder = Path(handle)
        if not folder.is_dir():
            raise ValueError(f"{handle}: there is no such folder; a URL begins with https://")
    if not any((folder / name).is_file() for name in _GRAPHS):
        raise ValueError(f"{handle} is no SavedModel: it holds no saved_model.pb")
    return folder


@functools.cache
def _extracted(path: Path, modified: int) -> Path:
    """Where the archive is unpacked until the process ends: a model that holds the module may be exported at any time."""
    folder = Path(tempfile.mkdtemp(prefix="hub-module-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    try:
        with tarfile.open(path) as archive:
            archive.extractall(folder, filter="data")
    except (tarfile.TarError, EOFError, OSError) as error:
        raise ValueError(f"{path} is not an archive that can be read: {_first_line(error)}") from error
    found = sorted((file for name in _GRAPHS for file in folder.rglob(name)), key=lambda file: len(file.parts))
    if not found:
        raise ValueError(f"{path} holds no saved_model.pb")
    return found[0].parent


class Module:
    """A loaded module.

    Args:
        folder: as `resolved` found it.
        signature: which one to call; None calls the module itself or, where it cannot be called, its signature `default`,
            `serving_default` or its only one.
        source: what to call it in messages.

    Attributes:
        loaded: what `tensorflow_hub.load` gave.
        variables: tf.Variables, each once.
        trainable: the ids of those that can learn.
        is_old: of TensorFlow 1's format.
        losses: functions without arguments, a regularisation loss each.

    Raises:
        ValueError: it does not load, or there is no such signature.
    """

    def __init__(self, folder: Path, signature: str | None, source: str):
        import tensorflow_hub

        try:
            self.loaded = tensorflow_hub.load(str(folder))
        except Exception as error:
            missing = re.search(r"Op type not registered '([^']+)'", str(error))
            if missing:
                raise ValueError(f"{source} needs the op {missing[1]}, which is not here: import the package that brings it") from error
            raise ValueError(f"{source} cannot be loaded: {_first_line(error)}") from error
        self.source = source
        self._function, self._by_name = _function(self.loaded, signature, source)
        self.takes_training = not self._by_name and "training" in inspect.signature(self.loaded.__call__).parameters
        traces = [self._function] if self._by_name else self.loaded.__call__.concrete_functions
        taken = [trace.structured_input_signature[0][:1] for trace in traces]
        self._keys = sorted(taken[0][0]) if taken and all(inputs and isinstance(inputs[0], dict) for inputs in taken) else []
        named = getattr(self.loaded, "variables", None)
        found = list(named) if named is not None else [v for trace in traces for v in trace.variables]
        self.variables = list({id(v): v for v in found}.values())
        own = getattr(self.loaded, "trainable_variables", None)
        self.is_old = getattr(self.loaded, "_is_hub_module_v1", False)
        self.trainable = {id(v) for v in (own if own is not None else [] if self.is_old else self.variables) if v.trainable}
        self.losses = list(getattr(self.loaded, "regularization_losses", None) or [])
        _refuse_images(traces, source)

    def __call__(self, inputs, training: bool):
        """The module's outputs; the gradient flows through.

        Raises:
            InputError: it takes other inputs.
        """
        if not self._by_name:
            if self._keys and not isinstance(inputs, dict):
                raise InputError(f"{self.source} takes a dict of {', '.join(self._keys)}: a preprocessing module makes it of strings")
            try:
                return self._function(inputs, training=training) if self.takes_training else self._function(inputs)
            except (TypeError, ValueError) as error:
                if not re.search("Could not find matching concrete function|Binding inputs to tf.function failed", str(error)):
                    raise
                raise InputError(f"{self.source} does not take {_described(inputs)}") from error
        if not isinstance(inputs, dict):
            names = list(self._function.structured_input_signature[1])
            if len(names) != 1:
                raise InputError(f"{self.source} takes a dict of {', '.join(sorted(names))}")
            inputs = {names[0]: inputs}
        return self._function(**inputs)


def _function(loaded, signature, source):
    """(what to call, whether its inputs go by name)"""
    signatures = getattr(loaded, "signatures", {})
    if signature is None and callable(loaded):
        return loaded, False
    if signature is None:
        usual = [name for name in ("default", "serving_default") if name in signatures] or list(signatures)[:2]
        if not usual or len(usual) > 1 and usual[0] not in ("default", "serving_default"):
            raise ValueError(f"{source} cannot be called, and has the signatures {_names(signatures)}: name one of them")
        signature = usual[0]
    if signature not in signatures:
        raise ValueError(f"{source} has no signature {signature!r}: there are {_names(signatures)}")
    return signatures[signature], True


def _refuse_images(traces, source) -> None:
    specs = [spec for trace in traces for spec in tf.nest.flatten(trace.structured_input_signature) if isinstance(spec, tf.TensorSpec)]
    if any(spec.shape.rank == 4 and spec.dtype.is_floating for spec in specs):
        raise ValueError(f"{source} takes images (float, of four axes), not text")


def _described(inputs) -> str:
    if isinstance(inputs, dict):
        return "a dict of " + ", ".join(f"{name} ({_described(value)})" for name, value in sorted(inputs.items()))
    return f"{inputs.dtype if isinstance(inputs.dtype, str) else inputs.dtype.name} of {len(inputs.shape)} axes"


def _names(signatures) -> str:
    return ", ".join(sorted(signatures)) or "none"


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
