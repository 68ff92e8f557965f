"""One loaded version of a model: its signatures, run on arrays."""

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
PREDICT = "tensorflow/serving/predict"
WARM_UP = Path("assets.extra") / "tf_serving_warmup_requests"


@dataclasses.dataclass(frozen=True)
class Signature:
    """A signature as a function of arrays.

    Attributes:
        name: its key.
        definition: its SignatureDef.
        dtypes: input -> NumPy's dtype.
        batches: whether requests can be joined: every input has rows, and so has every output, whose other sizes do not depend on
            what else is in the batch.
    """

    name: str
    definition: meta_graph_pb2.SignatureDef
    dtypes: dict[str, np.dtype]
    batches: bool
    _function: object

    def check(self, inputs: dict) -> None:
        """
        Raises:
            ServingError: not exactly this signature's inputs.
        """
        sent, wanted = set(inputs), set(self.dtypes)
        if sent != wanted:
            extra, missing = (",".join(sorted(names)) for names in (sent - wanted, wanted - sent))
            raise errors.invalid(
                f"input size does not match signature: {len(sent)}!={len(wanted)} len({{{','.join(sorted(sent))}}}) != "
                f"len({{{','.join(sorted(wanted))}}}). Sent extra: {{{extra}}}. Missing but required: {{{missing}}}."
            )

    def check_shapes(self, inputs: dict[str, np.ndarray]) -> None:
        """
        Raises:
            ServingError: an input has not the shape that it must have.
        """
        for name, array in inputs.items():
            if not self._spec(name).shape.is_compatible_with(array.shape):
                raise errors.invalid(f"Tensor {name} has shape {array.shape}, but {self._spec(name).shape} is expected")

    def __call__(self, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """
        Raises:
            ServingError: the model takes no such arrays, or an op failed.
        """
        try:
            outputs = self._function(**{name: tf.constant(array, self._spec(name).dtype) for name, array in inputs.items()})
        except tf.errors.OpError as error:
            raise errors.of_tensorflow(error) from None
        except (TypeError, ValueError) as error:
            raise errors.invalid(str(error)) from None
        return {name: tensor.numpy() for name, tensor in outputs.items()}

    def _spec(self, name):
        return self._function.structured_input_signature[1][name]


class Servable:
    """A SavedModel that is loaded. Whoever runs it holds it with `with servable:`, so that it is not unloaded meanwhile.

    Args:
        name, version: of the model.
        path: of the version's folder.

    Raises:
        Exception: whatever TensorFlow raises for a folder that does not load.
    """

    def __init__(self, name: str, version: int, path: Path):
        self.name, self.version, self.path = name, version, path
        self._loaded = tf.saved_model.load(str(path), tags=["serve"])
        (graph,) = [g for g in parse_saved_model(str(path)).meta_graphs if "serve" in g.meta_info_def.tags]
        self.definitions = dict(graph.signature_def)
        functions = self._loaded.signatures
        self.signatures = {key: _signature(key, definition, functions[key]) for key, definition in self.definitions.items() if key in functions}
        if not self.signatures:
            raise ValueError("the SavedModel has no signature")
        self._users = 0
        self._unused = threading.Condition()

    def __enter__(self):
        with self._unused:
            self._users += 1
        return self

    def __exit__(self, *_):
        with self._unused:
            self._users -= 1
            self._unused.notify_all()

    def wait_until_unused(self) -> None:
        with self._unused:
            self._unused.wait_for(lambda: self._users == 0)

    def signature(self, name: str) -> Signature:
        """
        Raises:
            ServingError: no signature has this name ("" is the default one's).
        """
        found = self.signatures.get(name or DEFAULT_SIGNATURE)
        if found is None:
            raise errors.ServingError(errors.Code.FAILED_PRECONDITION, f'Serving signature key "{name or DEFAULT_SIGNATURE}" not found.')
        return found

    def warm_up(self) -> int:
        """Answers the requests that came with the model, as TF Serving does before a version is ready; how many there were.

        Raises:
            ServingError: one of them fails.
        """
        path = self.path / WARM_UP
        if not path.exists():
            return 0
        from tensorflow_serving.apis import prediction_log_pb2

        count = 0
        for record in tf.data.TFRecordDataset(str(path)):
            log = prediction_log_pb2.PredictionLog.FromString(record.numpy())
            request = log.predict_log.request
            self.signature(request.model_spec.signature_name)({name: tf.make_ndarray(proto) for name, proto in request.inputs.items()})
            count += 1
        return count


def _signature(name, definition, function) -> Signature:
    dtypes = {key: np.dtype(tf.as_dtype(info.dtype).as_numpy_dtype) for key, info in sorted(definition.inputs.items())}
    has_rows = all(_sizes(info)[:1] == [-1] for info in [*definition.inputs.values(), *definition.outputs.values()])
    fixed = all(-1 not in _sizes(info)[1:] for info in definition.outputs.values())
    return Signature(name, definition, dtypes, has_rows and fixed, function)


def _sizes(info) -> list[int]:
    return [] if info.tensor_shape.unknown_rank else [dim.size for dim in info.tensor_shape.dim]
