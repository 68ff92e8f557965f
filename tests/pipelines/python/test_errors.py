import errno
import pickle

import pytest

import unroll
from pipelines.python.errors import UserError, user_errors
from pipelines.support import errors


def test_an_error_of_the_pipelines_becomes_a_value_error_with_the_same_line():
    with pytest.raises(UserError, match="^no such file: x$") as caught, user_errors():
        raise errors.UserError("no such file: x")
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, errors.UserError)


def test_paths_of_temporary_files_are_replaced():
    with pytest.raises(UserError, match="^the data: no row$"), user_errors({"/tmp/a/data.jsonl": "the data"}):
        raise errors.UserError("/tmp/a/data.jsonl: no row")


def test_a_full_disk_is_a_mistake_that_the_user_can_fix():
    with pytest.raises(UserError, match="disk is full"), user_errors():
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_text_in_place_of_a_path_is_a_mistake_that_the_user_can_fix():
    message = r"^x{60}\.\.\. is too long for the name of a file: give the path of a file or folder$"
    for make in (lambda path: unroll.TextClassifier().fit(path), lambda path: unroll.Tagger().fit(path)):
        with pytest.raises(UserError, match=message):
            make("x" * 5000)


def test_a_bug_keeps_its_type():
    with pytest.raises(KeyError), user_errors():
        raise KeyError("x")


def test_the_error_is_known_as_that_of_unroll_and_can_be_pickled():
    error = pickle.loads(pickle.dumps(unroll.UserError("a line")))
    assert f"{type(error).__module__}.{type(error).__qualname__}" == "unroll.UserError"
    assert str(error) == "a line"
