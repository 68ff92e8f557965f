"""A loaded version of a model, and its signatures as functions of arrays."""

import dataclasses
import threading
from pathlib import Path

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  (registers the ops of tokenizers)
from tensorflow.core.protobuf import meta_graph_pb2
from tensorflow.python.saved_model.loader_impl import parse_saved_model

from serving import errors

DEFAULT_SIGNATURE = "serving_default"
WARM_UP = Path("assets.extra") / "tf_serving_warmup_requests"


@dataclasses.dataclass(frozen=True)
class Signature:
    """A signature as a function of arrays.

    Attributes:
        name: its key in the SavedModel.
        definition: its SignatureDef.
        dtypes: input -> NumPy dtype, object for strings.
        can_batch: whether several requests can run in one batch. All inputs and outputs must have a batch axis, and no
            other size of an output may depend on the other rows of the batch.
    """

    name: str
    definition: meta_graph_pb2.SignatureDef
    dtypes: dict[str, np.dtype]
    can_batch: bool
    _function: object

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
            expected = self._spec(name).shape
            if not expected.is_compatible_with(array.shape):
                raise errors.invalid(f"Tensor {name} has shape {array.shape}, but {expected} is expected")

    def __call__(self, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Runs the signature: input -> array in, output -> array out.

        Raises:
            ServingError: the signature does not accept the arrays, or an op failed.
        """
        try:
            tensors = {name: tf.constant(array, self._spec(name).dtype) for name, array in inputs.items()}
            outputs = self._function(**tensors)
        except tf.errors.OpError as error:
            raise errors.from_tensorflow(error) from None
        except (TypeError, ValueError) as error:
            raise errors.invalid(str(error)) from None
        return {name: tensor.numpy() for name, tensor in outputs.items()}

    def _spec(self, name: str) -> tf.TensorSpec:
        return self._function.structured_input_signature[1][name]


class Servable:
    """A loaded SavedModel. It counts its users, so that it is not unloaded while one of them runs it.

    Args:
        path: the folder of the version.

    Raises:
        Exception: TensorFlow cannot load the folder. TensorFlow raises many types.
        ValueError: the SavedModel has no signature.
    """

    def __init__(self, path: Path):
        self._path = path
        self._loaded = tf.saved_model.load(str(path), tags=["serve"])  # must live as long as its functions are used
        (graph,) = [g for g in parse_saved_model(str(path)).meta_graphs if "serve" in g.meta_info_def.tags]
        self.definitions = dict(graph.signature_def)
        functions = self._loaded.signatures
        self.signatures = {
            name: _make_signature(name, definition, functions[name])
            for name, definition in self.definitions.items()
            if name in functions
        }
        if not self.signatures:
            raise ValueError("the SavedModel has no signature")
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

    def wait_until_unused(self) -> None:
        """Waits until no request uses this version."""
        with self._user_left:
            self._user_left.wait_for(lambda: self._num_users == 0)

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

    def warm_up(self) -> int:
        """Runs the requests that are stored with the model, as TF Serving does before a version is available.

        Returns:
            The number of requests.

        Raises:
            ServingError: a request fails.
        """
        path = self._path / WARM_UP
        if not path.exists():
            return 0
        from tensorflow_serving.apis import prediction_log_pb2

        num_requests = 0
        for record in tf.data.TFRecordDataset(str(path)):
            request = prediction_log_pb2.PredictionLog.FromString(record.numpy()).predict_log.request
            signature = self.signature(request.model_spec.signature_name)
            signature.check(request.inputs)
            signature({name: tf.make_ndarray(proto) for name, proto in request.inputs.items()})
            num_requests += 1
        return num_requests


def _make_signature(name: str, definition: meta_graph_pb2.SignatureDef, function) -> Signature:
    inputs, outputs = definition.inputs, definition.outputs
    dtypes = {key: np.dtype(tf.as_dtype(info.dtype).as_numpy_dtype) for key, info in sorted(inputs.items())}
    has_rows = all(_sizes(info)[:1] == [-1] for info in [*inputs.values(), *outputs.values()])
    has_fixed_rows = all(-1 not in _sizes(info)[1:] for info in outputs.values())
    return Signature(name, definition, dtypes, has_rows and has_fixed_rows, function)


def _sizes(info: meta_graph_pb2.TensorInfo) -> list[int]:
    return [] if info.tensor_shape.unknown_rank else [dim.size for dim in info.tensor_shape.dim]
