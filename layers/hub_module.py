"""Finding, loading and calling TF Hub modules in all their formats.

The formats are:
- callable SavedModels of TensorFlow 2, with or without a `training` argument, such as BERT with dicts as inputs and
  outputs, or sentence encoders with strings as inputs;
- modules of TensorFlow 1 and all other SavedModels, which have signatures only.
"""

import atexit
import functools
import inspect
import re
import shutil
import tempfile
import urllib.request
from collections.abc import Callable
from pathlib import Path

import tensorflow as tf

from layers import hub_archive


class InputError(ValueError):
    """A module was called with inputs of another type or structure than it takes."""


class DictInputError(InputError):
    """A module that takes a dict was called with something else, such as strings."""


_URL = re.compile(r"^[a-z]+://")
_WRONG_INPUTS = re.compile("Could not find matching concrete function|Binding inputs to tf.function failed")
_GRAPH_FILES = ("saved_model.pb", "saved_model.pbtxt")


# Handles of other hubs: what stands before "://" -> function of the handle, which returns the folder of a SavedModel.
RESOLVERS: dict[str, Callable[[str], Path]] = {}


def resolve(handle: str) -> Path:
    """Returns the folder of a module. Downloads or extracts the module if necessary.

    Args:
        handle: a URL that tensorflow_hub takes (tfhub.dev, kaggle.com, any .tar.gz), a folder, a .tar.gz file, or what
            one of RESOLVERS takes.

    Raises:
        ValueError: if the module cannot be reached, is not a SavedModel, or is an archive that must not be extracted
            (see hub_archive).
    """
    scheme = handle.partition("://")[0]
    if scheme in RESOLVERS:
        folder = RESOLVERS[scheme](handle)
    elif scheme in ("hf", "kaggle"):
        raise ValueError(f"{handle}: this handle is for unroll.HubEncoder, after `import unroll`")
    elif _URL.match(handle):
        try:
            folder = Path(_download(handle))
        except hub_archive.Refused:
            raise
        except Exception as error:
            raise ValueError(
                f"{handle} cannot be reached ({_first_line(error)}): "
                "download it elsewhere, and give the folder or the .tar.gz file"
            ) from error
    elif handle.endswith((".tar.gz", ".tgz")):
        if not Path(handle).is_file():
            raise ValueError(f"{handle}: there is no such file")
        folder = _extract(Path(handle).resolve(), Path(handle).stat().st_mtime_ns)
    else:
        folder = Path(handle)
        if not folder.is_dir():
            raise ValueError(f"{handle}: there is no such folder; a URL starts with https://")
    if not any((folder / name).is_file() for name in _GRAPH_FILES):
        raise ValueError(f"{handle} is not a SavedModel: it has no saved_model.pb")
    return folder


def _download(url: str) -> str:
    """Returns tensorflow_hub's folder of the module at `url`; an archive is extracted by hub_archive."""
    import tensorflow_hub
    from tensorflow_hub import compressed_module_resolver
    from tensorflow_hub.resolver import atomic_download

    resolver = compressed_module_resolver.HttpCompressedFileResolver()
    if not resolver.is_supported(url):
        return tensorflow_hub.resolve(url)

    def extract(url: str, folder: str) -> None:
        request = urllib.request.Request(resolver._append_compressed_format_query(url))
        with resolver._call_urlopen(request) as response:
            hub_archive.extract(response, url, Path(folder))

    return atomic_download(url, extract, compressed_module_resolver._module_dir(url))


@functools.cache
def _extract(path: Path, modified: int) -> Path:
    """Extracts an archive and returns the folder of the module in it.

    The folder exists until the process ends, because a model with the module may be exported at any time. The cache key
    contains the time of the last change of the archive.
    """
    folder = Path(tempfile.mkdtemp(prefix="hub-module-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    try:
        with open(path, "rb") as file:
            hub_archive.extract(file, str(path), folder)
    except OSError as error:
        raise ValueError(f"{path} cannot be extracted: {error}") from error
    graph_files = sorted(
        (file for name in _GRAPH_FILES for file in folder.rglob(name)), key=lambda file: len(file.parts)
    )
    if not graph_files:
        raise ValueError(f"{path} has no saved_model.pb")
    return graph_files[0].parent


class Module:
    """A loaded module.

    Args:
        folder: the module's folder, from `resolve`.
        signature: name of the signature to call. None calls the module itself. If the module is not callable, None
            calls its signature `default` or `serving_default`, or its only signature.
        source: the name of the module in error messages.

    Attributes:
        loaded: the object that `tensorflow_hub.load` returned.
        variables: list of tf.Variables, each once.
        trainable: set of the Python ids of the trainable variables.
        is_tf1_format: whether the module has the format of TensorFlow 1.
        losses: list of functions without arguments, one for each regularization loss.

    Raises:
        ValueError: if the module cannot be loaded, has no such signature, or takes images.
    """

    def __init__(self, folder: Path, signature: str | None, source: str):
        import tensorflow_hub

        try:
            self.loaded = tensorflow_hub.load(str(folder))
        except Exception as error:
            missing = re.search(r"Op type not registered '([^']+)'", str(error))
            if missing:
                raise ValueError(
                    f"{source} needs the op {missing[1]}, which is not registered: import the package that has it"
                ) from error
            raise ValueError(f"{source} cannot be loaded: {_first_line(error)}") from error
        self.source = source
        self._function, self._is_signature = _find_function(self.loaded, signature, source)
        self.takes_training = (
            not self._is_signature and "training" in inspect.signature(self.loaded.__call__).parameters
        )
        traces = [self._function] if self._is_signature else self.loaded.__call__.concrete_functions
        first_arguments = [trace.structured_input_signature[0][:1] for trace in traces]
        takes_dict = first_arguments and all(inputs and isinstance(inputs[0], dict) for inputs in first_arguments)
        self._input_names = sorted(first_arguments[0][0]) if takes_dict else []
        self.is_tf1_format = getattr(self.loaded, "_is_hub_module_v1", False)
        self.variables = _variables(self.loaded, traces)
        self.trainable = self._trainable_ids()
        self.losses = list(getattr(self.loaded, "regularization_losses", None) or [])
        _refuse_images(traces, source)

    def _trainable_ids(self) -> set[int]:
        declared = getattr(self.loaded, "trainable_variables", None)  # not every module has this attribute
        if declared is None:
            declared = [] if self.is_tf1_format else self.variables
        return {id(variable) for variable in declared if variable.trainable}

    def __call__(self, inputs, training: bool):
        """Returns the module's outputs. Gradients flow through the module.

        Raises:
            InputError: if the inputs have another type or structure than the module takes.
        """
        if not self._is_signature:
            if self._input_names and not isinstance(inputs, dict):
                raise DictInputError(
                    f"{self.source} takes a dict of {', '.join(self._input_names)}: "
                    "a preprocessing module makes it from strings"
                )
            try:
                return self._function(inputs, training=training) if self.takes_training else self._function(inputs)
            except (TypeError, ValueError) as error:
                if not _WRONG_INPUTS.search(str(error)):
                    raise
                raise InputError(f"{self.source} does not take {_describe(inputs)}") from error
        if not isinstance(inputs, dict):
            names = list(self._function.structured_input_signature[1])
            if len(names) != 1:
                raise DictInputError(f"{self.source} takes a dict of {', '.join(sorted(names))}")
            inputs = {names[0]: inputs}
        return self._function(**inputs)


def _find_function(loaded, signature, source):
    """Returns (the function to call, whether it is a signature, whose inputs are passed by name)."""
    signatures = getattr(loaded, "signatures", {})
    if signature is None and callable(loaded):
        return loaded, False
    if signature is None:
        signature = next((name for name in ("default", "serving_default") if name in signatures), None)
    if signature is None:
        if len(signatures) != 1:
            raise ValueError(
                f"{source} is not callable, and its signatures are {_join_names(signatures)}: give one as signature"
            )
        (signature,) = signatures
    if signature not in signatures:
        raise ValueError(f"{source} has no signature {signature!r}: its signatures are {_join_names(signatures)}")
    return signatures[signature], True


def _variables(loaded, traces) -> list[tf.Variable]:
    """The variables of a module, each once: those that it declares, or those of its functions."""
    declared = getattr(loaded, "variables", None)  # not every module has this attribute
    variables = list(declared) if declared is not None else [v for trace in traces for v in trace.variables]
    return list({id(variable): variable for variable in variables}.values())


def _refuse_images(traces, source) -> None:
    leaves = [leaf for trace in traces for leaf in tf.nest.flatten(trace.structured_input_signature)]
    specs = [leaf for leaf in leaves if isinstance(leaf, tf.TensorSpec)]
    if any(spec.shape.rank == 4 and spec.dtype.is_floating for spec in specs):
        raise ValueError(f"{source} takes images (float, four axes), not text")


def _describe(inputs) -> str:
    if isinstance(inputs, dict):
        return "a dict of " + ", ".join(f"{name} ({_describe(value)})" for name, value in sorted(inputs.items()))
    return f"{inputs.dtype if isinstance(inputs.dtype, str) else inputs.dtype.name} with {len(inputs.shape)} axes"


def _join_names(signatures) -> str:
    return ", ".join(sorted(signatures)) or "none"


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
