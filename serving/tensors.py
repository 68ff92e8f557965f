"""JSON to tensors and back, as TF Serving's REST API has it (https://www.tensorflow.org/tfx/serving/api_rest).

Row form: {"instances": [...]}, a value or an object of named values for each row. Column form: {"inputs": ...}, a value or an
object of named values for the whole batch. A string may be given as {"b64": "..."}.
"""

import base64
import binascii
import json

import numpy as np

from serving.errors import Code, ServingError, invalid

_INTEGERS = {np.dtype(name): np.iinfo(name) for name in ("int8", "uint8", "int16", "int32", "uint32", "int64", "uint64")}
_NAMES = {"float32": "float", "float64": "double", "object": "string"}


def parse(body: bytes) -> dict:
    """The JSON object of a request.

    Raises:
        ServingError: it is none.
    """
    if not body:
        raise invalid("JSON Parse error: The document is empty")
    try:
        document = json.loads(body)
    except json.JSONDecodeError as error:
        raise invalid(f"JSON Parse error: {error.msg} at offset: {error.pos}") from None
    except UnicodeDecodeError as error:
        raise invalid(f"JSON Parse error: Invalid encoding in string. at offset: {error.start}") from None
    except RecursionError:
        raise invalid("JSON Parse error: nested too deeply") from None
    if not isinstance(document, dict):
        raise invalid(f"JSON Value: {_shown(document)} Is not object")
    name = document.get("signature_name", "")
    if not isinstance(name, str):
        raise invalid(f"JSON Value: {_shown(document)} not formatted correctly. 'signature_name' key must be a string value.")
    return document


def inputs(document: dict, dtypes: dict[str, np.dtype]) -> tuple[dict[str, np.ndarray], bool]:
    """
    Args:
        document: from `parse`.
        dtypes: input -> NumPy's dtype, object for strings.

    Returns:
        (input -> array, whether the request is in row form).

    Raises:
        ServingError: the document does not give every input, with its type, in a regular shape.
    """
    if "instances" in document and "inputs" in document:
        raise invalid(
            f"JSON Value: {_shown(document)} Not formatted correctly expecting only one of 'inputs' or 'instances' keys to exist "
        )
    if "instances" in document:
        return _rows(document, dtypes), True
    if "inputs" in document:
        return _columns(document["inputs"], dtypes), False
    raise invalid("Missing 'inputs' or 'instances' key")


def response(outputs: dict[str, np.ndarray], rows: bool) -> bytes:
    """The JSON of an answer; strings of outputs whose name ends in _bytes are base64.

    Raises:
        ServingError: the outputs have no rows to be given in row form.
    """
    if not outputs:
        raise invalid("Cannot convert empty tensor map to JSON")
    outputs = dict(sorted(outputs.items()))
    plain = {name: _plain(array, name) for name, array in outputs.items()}
    if not rows:
        return _dumped({"outputs": plain if len(plain) > 1 else next(iter(plain.values()))})
    size = None
    for name, array in outputs.items():
        if not array.ndim:
            raise invalid(f"Tensor name: {name} has no shape information ")
        if size is not None and len(array) != size:
            raise invalid(f"Tensor name: {name} has inconsistent batch size: {len(array)} expecting: {size}")
        size = len(array)
    if len(plain) == 1:
        return _dumped({"predictions": next(iter(plain.values()))})
    return _dumped({"predictions": [dict(zip(plain, values, strict=True)) for values in zip(*plain.values(), strict=True)]})


def _rows(document, dtypes):
    instances = document["instances"]
    if not isinstance(instances, list):
        raise invalid(f"JSON Value: {_shown(document)} Excepting 'instances' to be an list/array")
    if not instances:
        raise invalid(f"JSON Value: {_shown(document)} No values in 'instances' array")
    named = _is_named(instances[0])
    if not named and len(dtypes) > 1:
        raise invalid(
            "instances is a plain list, but expecting list of objects as multiple input tensors required as per tensorinfo_map"
        )
    columns = {name: [] for name in dtypes}
    for i, instance in enumerate(instances):
        if _is_named(instance) != named:
            wanted = "object but got list" if named else "value/list but got object"
            raise invalid(f"Expecting {wanted} at item {i} of input list")
        if not named:
            instance = {next(iter(dtypes)): instance}
        for name in instance:
            if name not in dtypes:
                raise invalid(
                    f"Failed to process element: {i} key: {name} of 'instances' list. "
                    f"Error: INVALID_ARGUMENT: JSON object: does not have named input: {name}"
                )
        if len(instance) < len(dtypes):
            raise invalid(
                f"Failed to process element: {i} of 'instances' list. JSON object: {_shown(instance)} keys must be equal to: "
                f"{','.join(sorted(dtypes))}"
            )
        for name, value in instance.items():
            columns[name].append(value)
    arrays = {}
    for name, values in columns.items():
        try:
            arrays[name] = _array(values, dtypes[name])
        except ServingError as error:
            raise invalid(f"Failed to process key: {name} of 'instances' list. Error: INVALID_ARGUMENT: {error.message}") from None
    return arrays


def _columns(value, dtypes):
    if not _is_named(value):
        if len(dtypes) > 1:
            raise invalid(
                "inputs is a plain value/list, but expecting an object as multiple input tensors required as per tensorinfo_map"
            )
        value = {next(iter(dtypes)): value}
    for name in dtypes:
        if name not in value:
            raise invalid(f"Missing named input: {name} in 'inputs' object.")
    return {name: _array(value[name], dtype) for name, dtype in dtypes.items()}


def _is_named(value) -> bool:
    return isinstance(value, dict) and not _is_base64(value)


def _is_base64(value) -> bool:
    return isinstance(value, dict) and set(value) == {"b64"} and isinstance(value["b64"], str)


def _array(value, dtype: np.dtype) -> np.ndarray:
    """Of nested lists; every list of a level must be as long as the others."""
    shape, first = [], value
    while isinstance(first, list):
        shape.append(len(first))
        first = first[0] if first else None
    flat: list = []
    _flatten(value, 0, shape, dtype, flat)
    array = np.empty(len(flat), dtype)
    array[:] = flat
    return array.reshape(shape)


def _flatten(value, level, shape, dtype, flat) -> None:
    if isinstance(value, list):
        if level >= len(shape):
            raise invalid(f"Encountered list at unexpected level: {level} expected < {len(shape)}")
        if len(value) != shape[level]:
            raise invalid(f"Encountered list at unexpected size: {len(value)} at level: {level} expected size: {shape[level]}")
        for each in value:
            _flatten(each, level + 1, shape, dtype, flat)
        return
    if level != len(shape):
        raise invalid(f"JSON Value: {_shown(value)} found at incorrect level: {level + 1} in the JSON DOM. Expected at level: {len(shape)}")
    flat.append(_scalar(value, dtype))


def _scalar(value, dtype):
    if dtype == object:
        if isinstance(value, dict):
            if not _is_base64(value):
                raise invalid(f"JSON Value: {_shown(value)} not formatted correctly for base64 data")
            try:
                return base64.b64decode(value["b64"], validate=True)
            except (binascii.Error, ValueError):
                raise invalid("Unable to base64 decode") from None
        if not isinstance(value, str):
            raise _wrong_type(value, dtype)
        return value.encode("utf-8", "surrogatepass")
    if dtype == bool:
        if not isinstance(value, bool):
            raise _wrong_type(value, dtype)
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _wrong_type(value, dtype)
    if dtype in _INTEGERS:
        limits = _INTEGERS[dtype]
        if not isinstance(value, int) or not limits.min <= value <= limits.max:
            raise _wrong_type(value, dtype)
        return value
    if not np.issubdtype(dtype, np.floating):
        raise ServingError(Code.UNIMPLEMENTED, f"Conversion of JSON Value: {_shown(value)} to type: {dtype}")
    largest = np.finfo(dtype)
    too_large = abs(value) >= 2 ** (largest.nmant + 1) if isinstance(value, int) else np.isfinite(value) and abs(value) > float(largest.max)
    if too_large:
        target = _NAMES.get(str(dtype), str(dtype))
        raise invalid(f"Cannot convert JSON value: {_shown(value)} to {target} without loss of precision.")
    return value


def _wrong_type(value, dtype) -> ServingError:
    return invalid(f"JSON Value: {_shown(value)} Type: {_type(value)} is not of expected type: {_NAMES.get(str(dtype), str(dtype))}")


def _plain(array: np.ndarray, name: str):
    """Lists of what JSON has: a float is written with as many digits as tell it from its neighbours."""
    if array.dtype == object:
        convert = _base64 if name.endswith("_bytes") else _text
    elif np.issubdtype(array.dtype, np.floating) and array.dtype != np.float64:
        convert = _short
    else:
        return array.tolist()
    flat = np.empty(array.size, object)
    flat[:] = [convert(value) for value in array.reshape(-1)]
    return flat.reshape(array.shape).tolist()


def _text(value) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _base64(value: bytes) -> dict:
    return {"b64": base64.b64encode(value).decode()}


def _short(value) -> float:
    return float(str(value))


def _dumped(value) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": ")).encode("utf-8", "replace")


def _type(value) -> str:
    names = {type(None): "Null", dict: "Object", list: "Array", str: "String", int: "Number", float: "Number"}
    return str(value) if isinstance(value, bool) else names[type(value)]


def _shown(value) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else text[:200] + "..."
