"""Converts JSON to arrays and back, as TF Serving's REST API does (https://www.tensorflow.org/tfx/serving/api_rest).

Row format: {"instances": [...]}, with one value or one object of named values per row. Column format: {"inputs": ...},
with one value or one object of named values for the whole batch. A string may be given as {"b64": "..."}.

The texts of the errors are those of TF Serving.
"""

import base64
import binascii
import json
import re
from collections.abc import Callable

import numpy as np

from serving.errors import Code, ServingError, invalid

_INTEGERS = {
    np.dtype(name): np.iinfo(name) for name in ("int8", "uint8", "int16", "int32", "uint32", "int64", "uint64")
}
_TYPE_NAMES = {"float32": "float", "float64": "double", "object": "string"}
_JSON_TYPES = {type(None): "Null", dict: "Object", list: "Array", str: "String", int: "Number", float: "Number"}
_MAX_SHOWN_LENGTH = 200
_MAX_RANK = 32
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def parse(body: bytes) -> dict:
    """The JSON object of a request.

    Raises:
        ServingError: the body is not a JSON object.
    """
    if not body:
        raise invalid("JSON Parse error: The document is empty")
    try:
        text = body.decode("utf-8")  # json.loads would accept UTF-16, a BOM and surrogates, too
        document = json.loads(text, object_pairs_hook=_keep_first)
    except json.JSONDecodeError as error:
        raise invalid(f"JSON Parse error: {error.msg} at offset: {error.pos}") from None
    except UnicodeDecodeError as error:
        raise invalid(f"JSON Parse error: Invalid encoding in string. at offset: {error.start}") from None
    except ValueError as error:  # an integer of thousands of digits
        raise invalid(f"JSON Parse error: {error}") from None
    except RecursionError:
        raise invalid("JSON Parse error: nested too deeply") from None
    if _SURROGATE.search(text) and not _is_unicode(document):
        raise invalid("JSON Parse error: The surrogate pair in string is invalid.")
    if not isinstance(document, dict):
        raise invalid(f"JSON Value: {_show(document)} Is not object")
    name = document.get("signature_name", "")
    if not isinstance(name, str):
        raise invalid(
            f"JSON Value: {_show(document)} not formatted correctly. 'signature_name' key must be a string value."
        )
    return document


def _keep_first(pairs: list[tuple]) -> dict:
    """The object with these keys and values. The first value of a key counts, as in TF Serving's parser."""
    document = dict(pairs)
    if len(document) < len(pairs):
        document = dict(reversed(pairs))
    return document


def _is_unicode(document) -> bool:
    """Whether no string of a document, at any depth, contains one half of a surrogate pair."""
    values = [document]
    while values:
        value = values.pop()
        if isinstance(value, dict):
            values += [*value, *value.values()]
        elif isinstance(value, list):
            values += value
        elif isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
            return False
    return True


def is_row_format(document: dict) -> bool:
    """Whether a REST request has one entry per row ("instances") instead of one per input ("inputs")."""
    return "instances" in document


def inputs(document: dict, dtypes: dict[str, np.dtype]) -> dict[str, np.ndarray]:
    """The inputs of a request.

    Args:
        document: the request, from `parse`.
        dtypes: input -> NumPy dtype, object for strings.

    Returns:
        input -> array.

    Raises:
        ServingError: an input is missing, has the wrong type, or is not a regular array.
    """
    if "instances" in document and "inputs" in document:
        raise invalid(
            f"JSON Value: {_show(document)} Not formatted correctly expecting only one of 'inputs' or 'instances' "
            "keys to exist "
        )
    if is_row_format(document):
        return _inputs_from_rows(document, dtypes)
    if "inputs" in document:
        return _inputs_from_columns(document["inputs"], dtypes)
    raise invalid("Missing 'inputs' or 'instances' key")


def response(outputs: dict[str, np.ndarray], row_format: bool) -> bytes:
    """The JSON of an answer. Strings are base64 in outputs whose name ends in _bytes.

    Args:
        outputs: output -> array.
        row_format: whether the request had the row format; then the answer has it, too.

    Raises:
        ServingError: the outputs have no common number of rows, which the row format needs.
    """
    if not outputs:
        raise invalid("Cannot convert empty tensor map to JSON")
    outputs = dict(sorted(outputs.items()))
    values = {name: _to_lists(array, name) for name, array in outputs.items()}
    if not row_format:
        return _to_json({"outputs": values if len(values) > 1 else next(iter(values.values()))})
    _check_batch_size(outputs)
    if len(values) == 1:
        return _to_json({"predictions": next(iter(values.values()))})
    rows = zip(*values.values(), strict=True)
    return _to_json({"predictions": [dict(zip(values, row, strict=True)) for row in rows]})


def _check_batch_size(outputs: dict[str, np.ndarray]) -> None:
    size = None
    for name, array in outputs.items():
        if not array.ndim:
            raise invalid(f"Tensor name: {name} has no shape information ")
        if size is not None and len(array) != size:
            raise invalid(f"Tensor name: {name} has inconsistent batch size: {len(array)} expecting: {size}")
        size = len(array)


def _inputs_from_rows(document: dict, dtypes: dict[str, np.dtype]) -> dict[str, np.ndarray]:
    instances = document["instances"]
    if not isinstance(instances, list):
        raise invalid(f"JSON Value: {_show(document)} Excepting 'instances' to be an list/array")
    if not instances:
        raise invalid(f"JSON Value: {_show(document)} No values in 'instances' array")
    named = _is_named(instances[0])
    if not named and len(dtypes) > 1:
        raise invalid(
            "instances is a plain list, but expecting list of objects as multiple input tensors required as per "
            f"tensorinfo_map; the inputs are {', '.join(sorted(dtypes))}"
        )
    columns: dict[str, list] = {name: [] for name in dtypes}
    for i, instance in enumerate(instances):
        if _is_named(instance) != named:
            expected = "object but got list" if named else "value/list but got object"
            raise invalid(f"Expecting {expected} at item {i} of input list")
        row = instance if named else {next(iter(dtypes)): instance}
        _check_row(row, i, dtypes)
        for name, value in row.items():
            columns[name].append(value)
    arrays = {}
    for name, values in columns.items():
        try:
            arrays[name] = _to_array(values, dtypes[name])
        except ServingError as error:
            raise invalid(
                f"Failed to process key: {name} of 'instances' list. Error: INVALID_ARGUMENT: {error.message}"
            ) from None
    return arrays


def _check_row(row: dict, i: int, dtypes: dict[str, np.dtype]) -> None:
    for name in row:
        if name not in dtypes:
            raise invalid(
                f"Failed to process element: {i} key: {name} of 'instances' list. "
                f"Error: INVALID_ARGUMENT: JSON object: does not have named input: {name}; the inputs are "
                f"{', '.join(sorted(dtypes))}"
            )
    if len(row) < len(dtypes):
        raise invalid(
            f"Failed to process element: {i} of 'instances' list. JSON object: {_show(row)} keys must be equal to: "
            f"{','.join(sorted(dtypes))}"
        )


def _inputs_from_columns(value, dtypes: dict[str, np.dtype]) -> dict[str, np.ndarray]:
    if not _is_named(value):
        if len(dtypes) > 1:
            raise invalid(
                "inputs is a plain value/list, but expecting an object as multiple input tensors required as per "
                f"tensorinfo_map; the inputs are {', '.join(sorted(dtypes))}"
            )
        value = {next(iter(dtypes)): value}
    for name in dtypes:
        if name not in value:
            raise invalid(f"Missing named input: {name} in 'inputs' object.")
    return {name: _to_array(value[name], dtype) for name, dtype in dtypes.items()}


def _is_named(value) -> bool:
    return isinstance(value, dict) and not _is_base64(value)


def _is_base64(value) -> bool:
    return isinstance(value, dict) and set(value) == {"b64"} and isinstance(value["b64"], str)


def _to_array(value, dtype: np.dtype) -> np.ndarray:
    """The array of nested lists. At each level, all lists must have the same length."""
    shape, first = [], value
    while isinstance(first, list):
        shape.append(len(first))
        if len(shape) > _MAX_RANK:
            raise invalid(f"Encountered list at unexpected level: {_MAX_RANK} expected < {_MAX_RANK}")
        first = first[0] if first else None
    values: list = []
    _flatten(value, 0, shape, dtype, values)
    array = np.empty(len(values), dtype)
    array[:] = values
    return array.reshape(shape)


def _flatten(value, level: int, shape: list[int], dtype: np.dtype, values: list) -> None:
    """Appends the scalars of nested lists to `values`."""
    if isinstance(value, list):
        if level >= len(shape):
            raise invalid(f"Encountered list at unexpected level: {level} expected < {len(shape)}")
        if len(value) != shape[level]:
            raise invalid(
                f"Encountered list at unexpected size: {len(value)} at level: {level} expected size: {shape[level]}"
            )
        for element in value:
            _flatten(element, level + 1, shape, dtype, values)
        return
    if level != len(shape):
        raise invalid(
            f"JSON Value: {_show(value)} found at incorrect level: {level + 1} in the JSON DOM. "
            f"Expected at level: {len(shape)}"
        )
    values.append(_to_scalar(value, dtype))


def _to_scalar(value, dtype: np.dtype):
    if dtype.kind == "O":
        return _to_bytes(value, dtype)
    if dtype.kind == "b":
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
        raise ServingError(Code.UNIMPLEMENTED, f"Conversion of JSON Value: {_show(value)} to type: {dtype}")
    real = np.finfo(dtype)
    if isinstance(value, int):  # a float does not represent every larger integer
        too_large = abs(value) >= 2 ** (real.nmant + 1)
    else:
        too_large = bool(np.isfinite(value)) and abs(value) > float(real.max)
    if too_large:
        raise invalid(f"Cannot convert JSON value: {_show(value)} to {_type_name(dtype)} without loss of precision.")
    return value


def _to_bytes(value, dtype: np.dtype) -> bytes:
    if isinstance(value, dict):
        if not _is_base64(value):
            raise invalid(f"JSON Value: {_show(value)} not formatted correctly for base64 data")
        try:
            return base64.b64decode(value["b64"], validate=True)
        except (binascii.Error, ValueError):
            raise invalid("Unable to base64 decode") from None
    if not isinstance(value, str):
        raise _wrong_type(value, dtype)
    return value.encode()


def _wrong_type(value, dtype: np.dtype) -> ServingError:
    name = str(value) if isinstance(value, bool) else _JSON_TYPES[type(value)]
    return invalid(f"JSON Value: {_show(value)} Type: {name} is not of expected type: {_type_name(dtype)}")


def _type_name(dtype: np.dtype) -> str:
    return _TYPE_NAMES.get(str(dtype), str(dtype))


def _to_lists(array: np.ndarray, name: str):
    """Nested lists of JSON values."""
    convert: Callable
    if array.dtype.kind == "O":
        convert = _to_base64 if name.endswith("_bytes") else _to_text
    elif np.issubdtype(array.dtype, np.floating) and array.dtype != np.float64:
        convert = _to_shortest_float
    else:
        return array.tolist()
    values = np.empty(array.size, object)
    values[:] = [convert(value) for value in array.reshape(-1)]
    return values.reshape(array.shape).tolist()


def _to_text(value: bytes | str) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _to_base64(value: bytes) -> dict[str, str]:
    return {"b64": base64.b64encode(value).decode()}


def _to_shortest_float(value: np.floating) -> float:
    """The value with only the digits that distinguish it from its neighbors in its own type."""
    return float(str(value))


def _to_json(value) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": ")).encode("utf-8", "replace")


def _show(value) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except RecursionError:  # its encoder allows less nesting than its parser
        return "..."
    return text if len(text) <= _MAX_SHOWN_LENGTH else text[:_MAX_SHOWN_LENGTH] + "..."
