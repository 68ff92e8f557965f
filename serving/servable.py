"""A loaded version of a model, and its signatures as functions of arrays."""

import dataclasses
import math
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  (registers the ops of tokenizers)
from tensorflow.core.protobuf import meta_graph_pb2
from tensorflow.python.saved_model.loader_impl import SavedModelLoader

from serving import cards, errors

DEFAULT_SIGNATURE = "serving_default"
WARM_UP = Path("assets.extra") / "tf_serving_warmup_requests"
_INTERNAL = "__saved_model"  # prefix of the signatures that initialize a SavedModel
_MAX_MILLISECONDS = 2**31
_NO_ROWS = "the request has no rows, and this signature needs at least one"
_INTERRUPTED = (errors.Code.DEADLINE_EXCEEDED, errors.Code.CANCELLED)


@dataclasses.dataclass(frozen=True)
class Signature:
    """A signature as a function of arrays.

    Attributes:
        name: its key in the SavedModel.
        definition: its SignatureDef.
        dtypes: input -> NumPy dtype, object for strings.
        shapes: input -> shape.
        can_batch: whether several requests can run in one batch. All inputs and outputs must have a batch axis, and no
            other size of an output may depend on the other rows of the batch.
    """

    name: str
    definition: meta_graph_pb2.SignatureDef
    dtypes: dict[str, np.dtype]
    shapes: dict[str, tf.TensorShape]
    can_batch: bool
    _session: tf.compat.v1.Session

    def check(self, inputs: dict) -> None:
        """Checks the names of the inputs.

        Raises:
            ServingError: an input is missing or unknown.
        """
        sent, required = set(inputs), set(self.dtypes)
        if sent != required:
            extra, missing = (",".join(sorted(names)) for names in (sent - required, required - sent))
            raise errors.invalid(
                f"input size does not match signature: {len(sent)}!={len(required)} "
                f"len({{{','.join(sorted(sent))}}}) != len({{{','.join(sorted(required))}}}). "
                f"Sent extra: {{{extra}}}. Missing but required: {{{missing}}}."
            )

    def check_shapes(self, inputs: dict[str, np.ndarray]) -> None:
        """Checks the shapes of the inputs.

        Raises:
            ServingError: an input does not have the expected shape.
        """
        for name, array in inputs.items():
            if not self.shapes[name].is_compatible_with(array.shape):
                raise errors.invalid(f"Tensor {name} has shape {array.shape}, but {self.shapes[name]} is expected")

    def __call__(self, inputs: dict[str, np.ndarray], seconds: float | None = None) -> dict[str, np.ndarray]:
        """Runs the signature.

        Args:
            inputs: input -> array.
            seconds: the run is broken off after this time; None for no limit.

        Returns:
            output -> array.

        Raises:
            ServingError: the signature does not accept the arrays, an op failed, or the time is over.
        """
        for name, array in inputs.items():
            if array.dtype != self.dtypes[name]:
                raise errors.invalid(f"Tensor {name} has dtype {array.dtype}, but {self.dtypes[name]} is expected")
        options = tf.compat.v1.RunOptions()
        if seconds is not None:
            options.timeout_in_ms = math.ceil(np.clip(1000 * seconds, 1, _MAX_MILLISECONDS))  # 0 would be no limit
        tensors = {self.definition.inputs[name].name: array for name, array in inputs.items()}
        fetches = {name: info.name for name, info in self.definition.outputs.items()}
        try:
            outputs = self._session.run(fetches, tensors, options)
        except tf.errors.OpError as error:
            converted = errors.from_tensorflow(error)
            if self._has_no_rows(inputs) and converted.code not in _INTERRUPTED:
                raise errors.invalid(f"{_NO_ROWS}: {converted.message}") from None
            raise converted from None
        except (TypeError, ValueError) as error:
            raise errors.invalid(str(error)) from None
        # A session returns a scalar as a number or as bytes.
        arrays = {
            name: np.asarray(value, object if isinstance(value, bytes) else None) for name, value in outputs.items()
        }
        if self._has_no_rows(inputs):
            for name, info in self.definition.outputs.items():
                if _sizes(info)[:1] == [-1] and len(arrays[name]):
                    raise errors.invalid(f"{_NO_ROWS}: the output {name} has {len(arrays[name])}")
        return arrays

    def _has_no_rows(self, inputs: dict[str, np.ndarray]) -> bool:
        """Whether all inputs are batches, and one of them is empty. Not every graph can run that."""
        are_batches = all(_sizes(info)[:1] == [-1] for info in self.definition.inputs.values())
        return are_batches and any(len(array) == 0 for array in inputs.values())


class Servable:
    """A loaded SavedModel. It counts its users, so that it is not unloaded while one of them runs it.

    It is loaded into a session, as TF Serving does it, and not by `tf.saved_model.load`: `close` returns the memory of
    a session, and a session can break off a run.

    Args:
        path: the folder of the version.

    Raises:
        Exception: TensorFlow cannot load the folder. TensorFlow raises many types.
        ValueError: the SavedModel has no signature.
    """

    def __init__(self, path: Path):
        self._path = path
        self.words = cards.read(path)  # once, as all of the model
        self._session = tf.compat.v1.Session(graph=tf.Graph())
        try:
            graph = SavedModelLoader(str(path)).load(self._session, ["serve"])
            self.definitions = dict(graph.signature_def)
            self.signatures = {
                name: _make_signature(name, definition, self._session)
                for name, definition in self.definitions.items()
                if not name.startswith(_INTERNAL)
            }
            if not self.signatures:
                raise ValueError("the SavedModel has no signature")
        except BaseException:
            self._session.close()
            raise
        self._num_users = 0
        self._user_left = threading.Condition()

    def acquire(self) -> None:
        """Adds a user."""
        with self._user_left:
            self._num_users += 1

    def release(self) -> None:
        """Removes a user."""
        with self._user_left:
            self._num_users -= 1
            self._user_left.notify_all()

    def wait_until_unused(self, seconds: float | None = None) -> bool:
        """Waits until no request uses this version. Returns False if that takes longer than `seconds`."""
        with self._user_left:
            return self._user_left.wait_for(lambda: self._num_users == 0, seconds)

    def close(self) -> None:
        """Unloads the model. The caller makes sure that nobody uses it."""
        self._session.close()

    def signature(self, name: str) -> Signature:
        """The signature with this name, "" for the default.

        Raises:
            ServingError: there is no such signature.
        """
        name = name or DEFAULT_SIGNATURE
        if name not in self.signatures:
            message = f'Serving signature key "{name}" not found.'
            raise errors.ServingError(errors.Code.FAILED_PRECONDITION, message)
        return self.signatures[name]

    def warm_up(self, stopped: Callable[[], bool] = lambda: False) -> int:
        """Runs the requests that are stored with the model, as TF Serving does before a version is available.

        Args:
            stopped: called before each request; True ends the warm-up.

        Returns:
            The number of requests.

        Raises:
            ServingError: a request fails, or the warm-up was ended.
        """
        path = self._path / WARM_UP
        if not path.exists():
            return 0
        from tensorflow_serving.apis import prediction_log_pb2

        num_requests = 0
        for record in tf.data.TFRecordDataset(str(path)):
            if stopped():
                raise errors.ServingError(errors.Code.CANCELLED, "the server stops")
            request = prediction_log_pb2.PredictionLog.FromString(record.numpy()).predict_log.request
            signature = self.signature(request.model_spec.signature_name)
            signature.check(request.inputs)
            signature({name: tf.make_ndarray(proto) for name, proto in request.inputs.items()})
            num_requests += 1
        return num_requests


def _make_signature(name: str, definition: meta_graph_pb2.SignatureDef, session: tf.compat.v1.Session) -> Signature:
    inputs, outputs = dict(sorted(definition.inputs.items())), definition.outputs
    dtypes = {key: np.dtype(tf.as_dtype(info.dtype).as_numpy_dtype) for key, info in inputs.items()}
    shapes = {key: tf.TensorShape(info.tensor_shape) for key, info in inputs.items()}
    has_rows = all(_sizes(info)[:1] == [-1] for info in [*inputs.values(), *outputs.values()])
    has_fixed_rows = all(-1 not in _sizes(info)[1:] for info in outputs.values())
    return Signature(name, definition, dtypes, shapes, has_rows and has_fixed_rows, session)


def _sizes(info: meta_graph_pb2.TensorInfo) -> list[int]:
    return [] if info.tensor_shape.unknown_rank else [dim.size for dim in info.tensor_shape.dim]
