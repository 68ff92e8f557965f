"""A TF Hub text encoder in a functional Keras 3 model: `hub.KerasLayer` is of Keras 2, and no longer enters one (tensorflow/hub#920).

It needs TensorFlow, and tensorflow_hub to load with, so it is not among `layers`' other names: `from layers.hub import HubEncoder`.
"""

import re
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  (registers the ops that text modules need)

from layers.hub_module import Module, resolved

_NUMBERED = re.compile(r"(?:layer|block|encoder|decoder|recurrent|lstm|gru)s?[_/.]?(\d+)(?![a-z])")


@keras.saving.register_keras_serializable(package="unroll")
class HubEncoder(keras.layers.Layer):
    """A TF Hub module, or any SavedModel with its interface, as a layer.

    The module's variables are the layer's weights: one storage, so what training does to the weights is what the module computes
    with. A `.keras` file holds the module itself beside them, and is read where the handle cannot be reached.

    Args:
        handle: a URL that tensorflow_hub takes (tfhub.dev, kaggle.com, any .tar.gz), a folder, or a .tar.gz file.
        trainable: whether all of its weights learn; `unfreeze` chooses among them.
        signature: which one to call. None calls the module itself or, where it cannot be called, its signature `default`,
            `serving_default`, or its only one.
        output_key: which output to give, where there are several by name. None gives all.
        groups: (name, pattern) pairs, the bottom first, that say which variables are frozen and freed together: a variable belongs to
            the first whose pattern is found in its name, and those of none are at the bottom, as "other". None finds embeddings,
            numbered layers and poolers.

    Shapes:
        what the module takes: strings [batch], numbers, or a dict of them -> a tensor, or dicts and lists of tensors.

    A frozen layer runs as in inference: its dropout is off, its normalisation uses the averages that it has. One that learns in part runs
    as in training altogether, since a module is one graph. Its regularisation losses count while it learns.

    Raises:
        ValueError: a handle that cannot be reached, no SavedModel, a module of images, a signature or an output that is not there, or
            `trainable` where nothing can learn (as in modules of TensorFlow 1's format).
    """

    def __init__(self, handle, trainable=False, signature=None, output_key=None, groups=None, spec=None, **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.handle = str(handle)
        self.signature = signature
        self.output_key = output_key
        self.group_patterns = [tuple(pair) for pair in groups] if groups else None
        self._outputs = None if spec is None else spec["outputs"]
        self._folder = self._module = self._loaded = None
        if spec is None:
            self._folder = resolved(self.handle)
            self._hold(Module(self._folder, signature, self.handle))
            self._module_variables = [_kept(v, id(v) in self._module.trainable) for v in self._module.variables]
            self._names = [v.name.split(":")[0] for v in self._module.variables]
        else:  # read from a file: the module comes behind the weights, by `load_assets`
            self._names = [name for name, *_ in spec["variables"]]
            self._module_variables = [
                keras.Variable("zeros", shape=shape, dtype=dtype, trainable=trainable, name=_flat(name))
                for name, shape, dtype, trainable in spec["variables"]
            ]
        self._learnable = [v.trainable for v in self._module_variables]
        self.unfreeze(None if trainable else 0)
        self.built = True

    def groups(self) -> dict[str, list[keras.Variable]]:
        """The weights that can learn, by group, the bottom first."""
        found: dict[tuple, tuple[str, list]] = {}
        for name, variable, learnable in zip(self._names, self._module_variables, self._learnable, strict=True):
            if learnable:
                place, title = self._group(name)
                found.setdefault(place, (title, []))[1].append(variable)
        return {title: variables for _, (title, variables) in sorted(found.items())}

    def unfreeze(self, top: int | None = None) -> None:
        """Lets the `top` uppermost groups learn, and no others: 0 freezes all, None frees all.

        A model that was compiled before has to be compiled again.

        Raises:
            ValueError: there are not so many groups, or none.
        """
        groups = self.groups()
        if top is None:
            top = len(groups)
            if not groups:
                old = " is of TensorFlow 1's format and" if self._module and self._module.is_old else ""
                raise ValueError(f"{self.handle}{old} has no weights that can learn: use it with trainable=False")
        if not 0 <= top <= len(groups):
            raise ValueError(f"top={top}: {self.handle} has {len(groups)} groups of weights ({', '.join(groups) or 'none'})")
        self.trainable = top > 0
        for i, variables in enumerate(groups.values()):
            for variable in variables:
                variable.trainable = i >= len(groups) - top

    def call(self, inputs, training=False):
        self._have_module()
        outputs = _plain(self._module(inputs, bool(training) and self.trainable))
        if self.trainable and not self.losses:  # once, however often a model calls it
            for loss in self._module.losses:
                self.add_loss(loss())
        if self.output_key is None:
            return outputs
        if not isinstance(outputs, dict) or self.output_key not in outputs:
            there = ", ".join(sorted(outputs)) if isinstance(outputs, dict) else "one without a name"
            raise ValueError(f"{self.handle} has no output {self.output_key!r}: there are {there}")
        return outputs[self.output_key]

    def compute_output_spec(self, inputs, training=False):
        if self._outputs is None:
            self._have_module()
        if self._module is not None:
            outputs = super().compute_output_spec(inputs, training=training)
            self._outputs = keras.tree.map_structure(_written, outputs)
            return outputs
        return keras.tree.map_structure(_read, self._outputs)

    def get_config(self):
        variables = zip(self._names, self._module_variables, self._learnable, strict=True)
        spec = {
            "outputs": self._outputs,
            "variables": [[name, list(v.shape), v.dtype, learnable] for name, v, learnable in variables],
        }
        learning = [v.trainable for v in self._module_variables]
        config = super().get_config() | {"handle": self.handle, "signature": self.signature, "output_key": self.output_key}
        return config | {"groups": self.group_patterns, "spec": spec, "learning": learning}

    @classmethod
    def from_config(cls, config):
        config = dict(config)
        learning, trainable = config.pop("learning"), config["trainable"]
        layer = cls(**{**config, "trainable": False})
        layer.trainable = trainable
        for variable, learns in zip(layer._module_variables, learning, strict=True):
            variable.trainable = learns
        return layer

    def save_assets(self, inner_path):
        self._have_module()
        shutil.copytree(self._folder, Path(inner_path) / "module", dirs_exist_ok=True)

    def load_assets(self, inner_path):
        # Its vocabularies must be there for as long as it may be exported.
        folder = Path(tempfile.mkdtemp(prefix="hub-module-"))
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        shutil.copytree(Path(inner_path) / "module", folder, dirs_exist_ok=True)
        self._adopt(folder, keep=True)

    def _have_module(self):
        """Loads the module into a copy that was made from the config alone. Weights that were given to it stay; else it has the module's own."""
        if self._module is None:
            with tf.init_scope():
                self._adopt(resolved(self.handle), keep=any(np.any(weight) for weight in self.get_weights()))

    def _hold(self, module):
        self._module = module
        self._loaded = module.loaded  # TensorFlow finds it there when it exports
        if getattr(module.loaded, "initializer", None) is not None:
            self._initializer = _Initializer(module.loaded.initializer)

    def _adopt(self, folder, keep):
        """Loads the module behind weights that are already there, and makes its variables their storage; `keep` their values."""
        self._folder = folder
        self._hold(Module(folder, self.signature, self.handle))
        for weight, variable in zip(self._module_variables, self._module.variables, strict=True):
            if keep:
                variable.assign(weight.value)
                # By this Keras's optimizers know a variable; the one that came with the file has been built already.
                variable._unique_id = weight.value._unique_id
            weight._value = variable

    def _group(self, name: str) -> tuple[tuple, str]:
        """(where it is sorted, its name) of the group of a variable."""
        if self.group_patterns is not None:
            for i, (title, pattern) in enumerate(self.group_patterns):
                if re.search(pattern, name):
                    return (i,), title
            return (-1,), "other"
        lower = name.lower()
        if numbered := _NUMBERED.search(lower):
            return (1, int(numbered[1])), f"layer_{numbered[1]}"
        if "pool" in lower:
            return (3,), "pooler"
        return ((0,), "embeddings") if "embed" in lower else ((2,), "other")


class _Initializer(tf.saved_model.experimental.TrackableResource):
    """What a module of TensorFlow 1 runs before its first call: Keras's export looks for resources of this class alone."""

    def __init__(self, initializer):
        super().__init__()
        self._initializer = initializer

    def _create_resource(self):
        return tf.constant(0)

    def _initialize(self):
        return self._initializer._initialize()


def _kept(variable: tf.Variable, trainable: bool) -> keras.Variable:
    """A Keras variable in the storage of TensorFlow's."""
    return keras.Variable(variable, dtype=variable.dtype.name, trainable=trainable, name=_flat(variable.name.split(":")[0]))


def _flat(name: str) -> str:
    return name.replace("/", ".")


def _plain(outputs):
    if isinstance(outputs, Mapping):
        return {key: _plain(value) for key, value in outputs.items()}
    return [_plain(value) for value in outputs] if isinstance(outputs, list | tuple) else outputs


def _written(tensor) -> str:
    return f"{keras.backend.standardize_dtype(tensor.dtype)} {' '.join('?' if n is None else str(n) for n in tensor.shape)}".strip()


def _read(text: str) -> keras.KerasTensor:
    dtype, *shape = text.split()
    return keras.KerasTensor([None if n == "?" else int(n) for n in shape], dtype=dtype)
