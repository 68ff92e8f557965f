"""JSON to arrays and back. test_rest.py contains the errors, in the words of TF Serving."""

import json

import numpy as np
import pytest

from serving import tensors
from serving.errors import Code, ServingError

TEXT = {"text": np.dtype(object)}


def inputs(document, dtypes):
    return tensors.inputs(tensors.parse(json.dumps(document).encode()), dtypes)


@pytest.mark.parametrize(
    "document",
    [
        {"instances": ["a", "b"]},
        {"instances": [{"text": "a"}, {"text": {"b64": "Yg=="}}]},
        {"inputs": ["a", "b"]},
        {"inputs": {"text": ["a", "b"]}},
    ],
)
def test_all_formats_of_a_request_give_the_same_array(document):
    array = inputs(document, TEXT)["text"]
    assert array.dtype == object and array.tolist() == [b"a", b"b"]


@pytest.mark.parametrize("name", ["bool", "int8", "uint8", "int32", "uint64", "float16", "float32", "float64"])
def test_arrays_have_the_type_of_the_input(name):
    value = [[True, False]] if name == "bool" else [[1, 2]]
    array = inputs({"inputs": value}, {"x": np.dtype(name)})["x"]
    assert array.dtype == name and array.shape == (1, 2) and array.tolist() == value


def test_lists_may_be_empty_at_every_level():
    assert inputs({"inputs": []}, TEXT)["text"].shape == (0,)
    assert inputs({"instances": [[], []]}, TEXT)["text"].shape == (2, 0)


@pytest.mark.parametrize(
    ("name", "value", "is_exact"),
    [
        ("int8", 127, True),
        ("int8", 128, False),
        ("uint8", -1, False),
        ("int64", 2**63 - 1, True),
        ("int64", 2**63, False),
        ("float32", 2**24 - 1, True),
        ("float32", 2**24, False),
        ("float32", 3e38, True),
        ("float32", 4e38, False),
        ("float64", 2**53 - 1, True),
        ("float64", 2**53, False),
    ],
)
def test_a_number_that_the_type_cannot_hold_is_refused(name, value, is_exact):
    dtypes = {"x": np.dtype(name)}
    if is_exact:
        assert inputs({"inputs": [value]}, dtypes)["x"].tolist() == [np.dtype(name).type(value)]
    else:
        with pytest.raises(ServingError) as caught:
            inputs({"inputs": [value]}, dtypes)
        assert caught.value.code == Code.INVALID_ARGUMENT


def test_types_that_json_cannot_express_are_unimplemented():
    with pytest.raises(ServingError) as caught:
        inputs({"inputs": [1]}, {"x": np.dtype("complex64")})
    assert caught.value.code == Code.UNIMPLEMENTED


def test_half_of_a_surrogate_pair_is_no_text():
    with pytest.raises(ServingError, match="surrogate pair in string is invalid"):
        inputs({"inputs": ["\ud800"]}, TEXT)


def response(outputs, row_format):
    return json.loads(tensors.response(outputs, row_format))


def test_the_answer_has_rows_or_columns():
    outputs = {"b": np.array([1, 2]), "a": np.array([b"x", b"y"], object)}
    assert response(outputs, row_format=True) == {"predictions": [{"a": "x", "b": 1}, {"a": "y", "b": 2}]}
    assert response(outputs, row_format=False) == {"outputs": {"a": ["x", "y"], "b": [1, 2]}}


def test_a_single_output_has_no_name_in_the_answer():
    assert response({"a": np.array([1, 2])}, row_format=True) == {"predictions": [1, 2]}
    assert response({"a": np.array(1)}, row_format=False) == {"outputs": 1}


def test_strings_that_are_not_utf_8_are_replaced_or_base64():
    outputs = {"x": np.array([b"\xff"], object), "x_bytes": np.array([b"\xff"], object)}
    assert response(outputs, row_format=True) == {"predictions": [{"x": "\ufffd", "x_bytes": {"b64": "/w=="}}]}


def test_floats_have_the_shortest_form_that_is_exact():
    text = tensors.response({"x": np.float32([0.1, 1 / 3])}, row_format=False)
    assert text == b'{"outputs": [0.1, 0.33333334]}'
    assert np.float32(json.loads(text)["outputs"]).tolist() == np.float32([0.1, 1 / 3]).tolist()


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ({}, "Cannot convert empty tensor map to JSON"),
        ({"x": np.array(1)}, "Tensor name: x has no shape information"),
        ({"x": np.zeros(2), "y": np.zeros(3)}, "Tensor name: y has inconsistent batch size: 3 expecting: 2"),
    ],
)
def test_outputs_without_common_rows_have_no_row_format(outputs, message):
    with pytest.raises(ServingError, match=message):
        tensors.response(outputs, row_format=True)


def test_a_long_value_is_cut_in_an_error():
    with pytest.raises(ServingError) as caught:
        inputs({"instances": "x" * 10_000}, TEXT)
    assert len(caught.value.message) < 400
