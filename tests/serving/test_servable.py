import shutil
import threading

import numpy as np
import pytest

from serving.errors import Code, ServingError
from serving.servable import Servable
from tests.serving import small_models
from tests.serving.conftest import HANG_SECONDS


@pytest.fixture(scope="module")
def servable(models):
    return Servable(models / "upper" / "1")


def texts(*values):
    return {"text": np.array(values, object)}


def test_a_signature_is_a_function_of_arrays(servable):
    outputs = servable.signature("")(texts(b"a", b"bc"))
    assert outputs["label"].tolist() == [b"A", b"BC"] and outputs["length"].dtype == np.int32


def test_the_types_of_the_inputs_are_numpy_types(servable):
    assert servable.signature("add").dtypes == {"flag": np.bool_, "ids": np.int64, "scale": np.float64}
    assert servable.signature("serving_default").dtypes == {"text": object}


def test_only_signatures_with_fixed_row_sizes_can_batch(servable):
    assert {name: signature.can_batch for name, signature in servable.signatures.items()} == {
        "serving_default": True,
        "repeat": True,
        "add": True,
        "words": False,  # its rows are as long as the longest text of the batch
    }


def test_a_missing_signature_is_a_failed_precondition(servable):
    with pytest.raises(ServingError, match='Serving signature key "no" not found.') as caught:
        servable.signature("no")
    assert caught.value.code == Code.FAILED_PRECONDITION


def test_wrong_names_and_shapes_are_refused(servable):
    signature = servable.signature("")
    with pytest.raises(ServingError, match=r"Sent extra: \{x\}. Missing but required: \{text\}."):
        signature.check({"x": 1})
    with pytest.raises(ServingError, match=r"has shape \(1, 1\), but \(None,\) is expected"):
        signature.check_shapes({"text": np.array([[b"a"]], object)})


def test_an_array_of_the_wrong_type_and_a_failing_op_are_invalid_arguments(servable):
    with pytest.raises(ServingError) as caught:
        servable.signature("")({"text": np.array([1, 2])})
    assert caught.value.code == Code.INVALID_ARGUMENT
    with pytest.raises(ServingError, match="temperature must be 0 or more") as caught:
        servable.signature("repeat")(texts(b"a") | {"temperature": np.float32([-1]), "times": np.int32([1])})
    assert caught.value.code == Code.INVALID_ARGUMENT


@pytest.mark.parametrize("name", ["", "serving_default", "words"])
def test_the_warm_up_runs_the_stored_requests(tmp_path, name):
    assert Servable(small_models.save(tmp_path, "upper", 1, warm_up_signature=name)).warm_up() == 1


@pytest.mark.parametrize(("name", "message"), [("no", 'key "no" not found'), ("add", "Missing but required")])
def test_a_warm_up_request_that_does_not_fit_is_an_error(tmp_path, name, message):
    with pytest.raises(ServingError, match=message):
        Servable(small_models.save(tmp_path, "upper", 1, warm_up_signature=name)).warm_up()


def test_a_model_without_requests_needs_no_warm_up(models, tmp_path):
    folder = shutil.copytree(models / "upper" / "1", tmp_path / "1")
    shutil.rmtree(folder / "assets.extra")
    assert Servable(folder).warm_up() == 0


def test_waiting_ends_when_the_last_user_leaves(models):
    servable = Servable(models / "upper" / "1")
    servable.wait_until_unused()
    servable.acquire()
    servable.acquire()
    events = []

    def wait():
        servable.wait_until_unused()
        events.append("the wait ends")

    waiter = threading.Thread(target=wait)
    waiter.start()
    for i in (1, 2):
        events.append(f"user {i} leaves")
        servable.release()
    waiter.join(HANG_SECONDS)
    assert events == ["user 1 leaves", "user 2 leaves", "the wait ends"]
