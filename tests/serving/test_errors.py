import grpc
import pytest
import tensorflow as tf

from serving import errors


def test_every_grpc_code_has_an_http_status():
    assert set(errors.HTTP_STATUS) == set(grpc.StatusCode)
    assert errors.HTTP_STATUS[errors.Code.NOT_FOUND] == 404


def test_the_shortcuts_have_their_codes():
    assert errors.invalid("x").code == errors.Code.INVALID_ARGUMENT
    assert errors.not_found("x").code == errors.Code.NOT_FOUND
    assert str(errors.not_found("a message")) == errors.not_found("a message").message == "a message"


@pytest.mark.parametrize(
    "text",
    [
        "too small",
        "Graph execution error: a trace <stack traces unavailable>\ntoo small",
        "Graph execution error:\n\ntoo small\n\t [[{{node a}}]]",
        "too small\n\t [[{{node a}}]] [Op:__inference_b]",
    ],
)
def test_an_error_of_an_op_has_its_code_and_no_trace(text):
    error = errors.from_tensorflow(tf.errors.OutOfRangeError(None, None, text))
    assert (error.code, error.message) == (errors.Code.OUT_OF_RANGE, "too small")
