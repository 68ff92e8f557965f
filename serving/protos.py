"""Converts the messages of TF Serving's gRPC API to arrays and back."""

import math

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2, types_pb2

from serving.core import ModelSpec
from serving.errors import invalid
from serving.servable import Signature
from serving.settings import Limits


def model_spec(request) -> ModelSpec:
    """The model that a request names.

    Raises:
        ServingError: it names none.
    """
    if not request.HasField("model_spec"):
        raise invalid("Missing ModelSpec")
    spec = request.model_spec
    choice = spec.WhichOneof("version_choice")
    number = spec.version.value if choice == "version" else None
    label = spec.version_label if choice == "version_label" else None
    return ModelSpec(spec.name, number, label, spec.signature_name)


def to_arrays(request, signature: Signature, limits: Limits) -> dict[str, np.ndarray]:
    """The inputs of a request: input -> array.

    Args:
        request: a PredictRequest.
        signature: the signature that it names.
        limits: the maximum rows, and bytes of an array.

    Raises:
        ServingError: an input is missing, unknown, too large or has the wrong type or shape.
    """
    signature.check(request.inputs)
    return {name: to_array(name, proto, signature, limits) for name, proto in request.inputs.items()}


def to_array(name: str, proto: tensor_pb2.TensorProto, signature: Signature, limits: Limits) -> np.ndarray:
    """An input of the signature; see `to_arrays`."""
    _check_proto(name, proto, signature.definition.inputs[name], limits)
    try:
        return tf.make_ndarray(proto)
    except (TypeError, ValueError) as error:
        raise invalid(f"Invalid TensorProto for input {name}: {error}") from None


def _check_proto(name: str, proto: tensor_pb2.TensorProto, info, limits: Limits) -> None:
    """Checks a tensor before it is decoded. A message of 60 bytes may contain one value and a shape that repeats it.

    Raises:
        ServingError: the tensor does not fit the signature, or is too large.
    """
    if proto.dtype != info.dtype:
        given, expected = map(_type_name, (proto.dtype, info.dtype))
        raise invalid(f"input {name} is of type {given}, but {expected} is expected")
    sizes = tuple(dim.size for dim in proto.tensor_shape.dim)
    if proto.tensor_shape.unknown_rank or min(sizes, default=0) < 0:
        raise invalid(f"Invalid TensorProto for input {name}: its shape {sizes}")
    expected_shape = tf.TensorShape(info.tensor_shape)
    if not expected_shape.is_compatible_with(sizes):
        raise invalid(f"Tensor {name} has shape {sizes}, but {expected_shape} is expected")
    if sizes and sizes[0] > limits.max_rows:
        raise invalid(f"{name} has {sizes[0]} rows: a request may have at most {limits.max_rows}")
    num_values = math.prod(sizes)
    num_bytes = num_values * tf.as_dtype(proto.dtype).size
    if proto.dtype == types_pb2.DT_STRING and proto.string_val:
        num_repeated = max(0, num_values - len(proto.string_val))  # the last value stands for those that are missing
        num_bytes = max(num_bytes, sum(map(len, proto.string_val)) + num_repeated * len(proto.string_val[-1]))
    if num_bytes > limits.max_body_bytes:
        raise invalid(f"Invalid TensorProto for input {name}: its shape {sizes} needs {num_bytes} bytes")


_VALUE_FIELDS = {
    np.dtype("float32"): "float_val",
    np.dtype("float64"): "double_val",
    np.dtype("int8"): "int_val",
    np.dtype("int16"): "int_val",
    np.dtype("int32"): "int_val",
    np.dtype("uint8"): "int_val",
    np.dtype("uint16"): "int_val",
    np.dtype("int64"): "int64_val",
    np.dtype("uint32"): "uint32_val",
    np.dtype("uint64"): "uint64_val",
    np.dtype("bool"): "bool_val",
    np.dtype("object"): "string_val",
}


def to_proto(array: np.ndarray) -> tensor_pb2.TensorProto:
    """Puts the values into the field of their type, as TF Serving does and clients expect, not `tensor_content`."""
    if array.dtype not in _VALUE_FIELDS:
        return tf.make_tensor_proto(array)
    dtype = types_pb2.DT_STRING if array.dtype == object else tf.as_dtype(array.dtype).as_datatype_enum
    proto = tensor_pb2.TensorProto(dtype=dtype)
    proto.tensor_shape.SetInParent()  # the shape of a scalar is set, too
    for size in array.shape:
        proto.tensor_shape.dim.add(size=size)
    getattr(proto, _VALUE_FIELDS[array.dtype]).extend(array.ravel().tolist())
    return proto


def _type_name(number: int) -> str:
    names = types_pb2.DataType.DESCRIPTOR.values_by_number
    return names[number].name if number in names else f"number {number}"
