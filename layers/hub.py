"""TF Hub text encoders as layers of functional Keras 3 models.

`hub.KerasLayer` is a Keras 2 layer and does not work in Keras 3 models (tensorflow/hub#920).

This layer needs TensorFlow and tensorflow_hub, so `import layers` does not import it. Import it with
`from layers.hub import HubEncoder`.
"""

import re
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  (registers the ops that text modules need)

# Keras has no public function for this; `keras.layers.Lambda` uses the same one.
from keras.src.saving.serialization_lib import in_safe_mode

from layers.hub_module import Module, resolve

_NUMBERED = re.compile(r"(?:layer|block|encoder|decoder|recurrent|lstm|gru)s?[_/.]?(\d+)(?![a-z])")


@keras.saving.register_keras_serializable(package="unroll")
class HubEncoder(keras.layers.Layer):
    """A TF Hub module, or any SavedModel with the same interface, as a layer.

    The module's variables are the layer's weights. They share their storage, so the module computes with the trained
    values. A `.keras` file contains the module as well as the weights, so it can be loaded where the handle cannot be
    reached. A module is a program, whose operations can read and write files: Keras's safe mode, which is the default
    of `keras.saving.load_model`, refuses a file with one.

    A layer that is frozen completely runs in inference mode: no dropout, and normalization with stored averages. If any
    of its weights are trainable, the whole module runs in training mode, because a module is one graph. Its
    regularization losses count while any of its weights are trainable.

    Args:
        handle: a URL that tensorflow_hub takes (tfhub.dev, kaggle.com, any .tar.gz), a folder, or a .tar.gz file.
        trainable: whether all weights are trainable; `unfreeze` makes some of them trainable.
        signature: name of the signature to call. None calls the module itself. If the module is not callable, None
            calls its signature `default` or `serving_default`, or its only signature.
        output_key: name of the output to return, if the module has several. None returns all.
        groups: (name, pattern) pairs, the bottom group first. They define which variables are frozen and unfrozen
            together: a variable belongs to the first group whose pattern (a regular expression) is found in its name.
            All other variables form the group "other" at the bottom. None makes groups of embeddings, numbered layers
            and poolers.
        spec: for `from_config` only.

    Shapes:
        inputs: what the module takes: strings [batch], numbers, or a dict of them -> a tensor, or dicts and lists of
            tensors

    Raises:
        ValueError: if the handle cannot be reached or is not a SavedModel, the module takes images, the signature or
            the output does not exist, or `trainable` is True but the module has no trainable weights (such as modules
            in the format of TensorFlow 1).
    """

    def __init__(self, handle, trainable=False, signature=None, output_key=None, groups=None, spec=None, **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.handle = str(handle)
        self.signature = signature
        self.output_key = output_key
        self.group_patterns = [tuple(pair) for pair in groups] if groups else None
        self._outputs = None if spec is None else spec["outputs"]
        self._folder: Any = None  # these are set together with the module
        self._module: Any = None
        self._loaded = self._initializer = None
        if spec is None:
            self._folder = resolve(self.handle)
            module = Module(self._folder, signature, self.handle)
            self._attach(module)
            self._module_variables = [_share_storage(v, id(v) in module.trainable) for v in module.variables]
            self._names = [v.name.split(":")[0] for v in module.variables]
        else:  # read from a file: `load_assets` loads the module after Keras has loaded the weights
            self._names = [name for name, *_ in spec["variables"]]
            self._module_variables = [
                keras.Variable("zeros", shape=shape, dtype=dtype, trainable=trainable, name=_weight_name(name))
                for name, shape, dtype, trainable in spec["variables"]
            ]
        self._can_train = [v.trainable for v in self._module_variables]
        self.unfreeze(None if trainable else 0)
        self.built = True

    def groups(self) -> dict[str, list[keras.Variable]]:
        """Returns the weights that can be trained, by group, the bottom group first."""
        groups: dict[tuple, tuple[str, list]] = {}
        for name, variable, can_train in zip(self._names, self._module_variables, self._can_train, strict=True):
            if can_train:
                sort_key, title = self._group(name)
                groups.setdefault(sort_key, (title, []))[1].append(variable)
        return {title: variables for _, (title, variables) in sorted(groups.items())}

    def unfreeze(self, top: int | None = None) -> None:
        """Makes the `top` uppermost groups trainable and freezes the others. 0 freezes all groups, None unfreezes all.

        A compiled model must be compiled again afterwards.

        Raises:
            ValueError: if `top` is negative or there are fewer than `top` groups; for None, if there is no group.
        """
        groups = self.groups()
        if top is None:
            top = len(groups)
            if not groups:
                reason = " has the format of TensorFlow 1 and" if self._module and self._module.is_tf1_format else ""
                raise ValueError(f"{self.handle}{reason} has no trainable weights: use it with trainable=False")
        self._check_top(top, groups)
        self.trainable = top > 0
        for i, variables in enumerate(groups.values()):
            for variable in variables:
                variable.trainable = i >= len(groups) - top

    def reset(self, top: int, seed: int) -> None:
        """Initializes the weights of the `top` uppermost groups at random.

        Tensors with two axes or more come from a normal distribution around 0 with the standard deviation of the
        weights that they replace; a scale of a normalization (`gamma`, `scale`) is 1, any other vector 0.

        Raises:
            ValueError: if `top` is negative or there are fewer than `top` groups.
        """
        groups = self.groups()
        self._check_top(top, groups)
        rng = np.random.default_rng(seed)
        for variables in list(groups.values())[len(groups) - top :]:
            for variable in variables:
                if len(variable.shape) > 1:
                    deviation = float(np.std(keras.ops.convert_to_numpy(variable)))
                    variable.assign(rng.normal(0, deviation, variable.shape))
                else:
                    is_scale = any(name in variable.name.lower() for name in ("gamma", "scale"))
                    variable.assign(np.full(variable.shape, float(is_scale)))

    def call(self, inputs, training=False):
        self._ensure_module()
        outputs = _to_plain_containers(self._module(inputs, bool(training) and self.trainable))
        if self.trainable and not self.losses:  # add them once, even if a model calls the layer several times
            for loss in self._module.losses:
                self.add_loss(loss())
        if self.output_key is None:
            return outputs
        if not isinstance(outputs, dict) or self.output_key not in outputs:
            names = ", ".join(sorted(outputs)) if isinstance(outputs, dict) else "a single one without a name"
            raise ValueError(f"{self.handle} has no output {self.output_key!r}: its outputs are {names}")
        return outputs[self.output_key]

    def compute_output_spec(self, inputs, training=False):
        if self._outputs is None:
            self._ensure_module()
        if self._module is not None:
            outputs = super().compute_output_spec(inputs, training=training)
            self._outputs = keras.tree.map_structure(_tensor_to_text, outputs)
            return outputs
        return keras.tree.map_structure(_text_to_tensor, self._outputs)

    def get_config(self):
        variables = zip(self._names, self._module_variables, self._can_train, strict=True)
        spec = {
            "outputs": self._outputs,
            "variables": [[name, list(v.shape), v.dtype, can_train] for name, v, can_train in variables],
        }
        return {
            **super().get_config(),
            "handle": self.handle,
            "signature": self.signature,
            "output_key": self.output_key,
            "groups": self.group_patterns,
            "spec": spec,
            "trainable_flags": [v.trainable for v in self._module_variables],
        }

    @classmethod
    def from_config(cls, config):
        """Returns the layer of a config.

        Raises:
            ValueError: Keras is in safe mode.
        """
        if in_safe_mode():
            raise ValueError(
                f"HubEncoder {config.get('name')!r} is not loaded in Keras's safe mode, because a module can run any "
                "operation on this machine: if you trust the file, load it with safe_mode=False"
            )
        config = dict(config)
        trainable_flags, trainable = config.pop("trainable_flags"), config["trainable"]
        layer = cls(**{**config, "trainable": False})
        layer.trainable = trainable
        for variable, is_trainable in zip(layer._module_variables, trainable_flags, strict=True):
            variable.trainable = is_trainable
        return layer

    def save_own_variables(self, store):
        self._ensure_module()  # a copy from the config has no values before
        super().save_own_variables(store)

    def save_assets(self, inner_path):
        self._ensure_module()
        shutil.copytree(self._folder, Path(inner_path) / "module", dirs_exist_ok=True)

    def load_assets(self, inner_path):
        # The folder, with its vocabularies, must exist as long as the layer may be exported.
        folder = Path(tempfile.mkdtemp(prefix="hub-module-"))
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        shutil.copytree(Path(inner_path) / "module", folder, dirs_exist_ok=True)
        self._load_module(folder, keep_values=True)

    @property
    def resources(self) -> list:
        """What an export must hold besides the weights: the loaded SavedModel with its vocabularies and tables, and the
        initializer of a module in the format of TensorFlow 1.
        """
        self._ensure_module()
        return [self._loaded, *([self._initializer] if self._initializer else [])]

    def _check_top(self, top: int, groups: dict) -> None:
        if not 0 <= top <= len(groups):
            raise ValueError(
                f"top={top}: {self.handle} has {len(groups)} groups of weights ({', '.join(groups) or 'none'})"
            )

    def _ensure_module(self):
        """Loads the module if this layer was made from its config alone.

        Weights that were set since then keep their values; otherwise the layer takes the values of the module.
        """
        if self._module is None:
            with tf.init_scope():
                was_set = any(np.any(weight) for weight in self.get_weights())  # from_config starts with zeros
                self._load_module(resolve(self.handle), keep_values=was_set)

    def _attach(self, module):
        self._module = module
        self._loaded = module.loaded  # as an attribute, so that TensorFlow finds it when it exports the layer
        if getattr(module.loaded, "initializer", None) is not None:
            self._initializer = _Initializer(module.loaded.initializer)

    def _load_module(self, folder, keep_values):
        """Loads the module and makes its variables the storage of the existing weights.

        Args:
            folder: the module's folder.
            keep_values: whether the weights keep their values; if not, they take the values of the module.
        """
        self._folder = folder
        self._attach(Module(folder, self.signature, self.handle))
        for weight, variable in zip(self._module_variables, self._module.variables, strict=True):
            if keep_values:
                variable.assign(weight.value)
                # Keras's optimizers identify a variable by this id. An optimizer from the file was built with the old
                # variable.
                variable._unique_id = weight.value._unique_id
            weight._value = variable

    def _group(self, name: str) -> tuple[tuple, str]:
        """Returns (sort key, name) of the group of a variable."""
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
    """The initializer that a module of TensorFlow 1 runs before its first call.

    Keras's export only finds resources of type TrackableResource.
    """

    def __init__(self, initializer):
        super().__init__()
        self._initializer = initializer

    def _create_resource(self):
        return tf.constant(0)

    def _initialize(self):
        return self._initializer._initialize()


def _share_storage(variable: tf.Variable, trainable: bool) -> keras.Variable:
    """Returns a Keras variable that uses the storage of a TensorFlow variable."""
    name = _weight_name(variable.name.split(":")[0])
    return keras.Variable(variable, dtype=variable.dtype.name, trainable=trainable, name=name)


def _weight_name(name: str) -> str:
    return name.replace("/", ".")  # Keras allows no slash in the name of a variable


def _to_plain_containers(outputs):
    """Replaces the containers of TensorFlow in a nested structure by dicts and lists."""
    if isinstance(outputs, Mapping):
        return {key: _to_plain_containers(value) for key, value in outputs.items()}
    return [_to_plain_containers(value) for value in outputs] if isinstance(outputs, list | tuple) else outputs


def _tensor_to_text(tensor) -> str:
    """Describes dtype and shape for the config, for example "float32 ? 128"."""
    sizes = ["?" if size is None else str(size) for size in tensor.shape]
    return " ".join([keras.backend.standardize_dtype(tensor.dtype), *sizes])


def _text_to_tensor(text: str) -> keras.KerasTensor:
    dtype, *shape = text.split()
    return keras.KerasTensor([None if n == "?" else int(n) for n in shape], dtype=dtype)
