import resource
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from serving.errors import Code, ServingError
from serving.servable import Servable
from tests.serving import small_models
from tests.serving.conftest import HANG_SECONDS


@pytest.fixture(scope="module")
def servable(models):
    servable = Servable(models / "upper" / "1")
    yield servable
    servable.close()


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


def test_the_answers_are_those_of_the_saved_model(servable, models):
    loaded = tf.saved_model.load(str(models / "upper" / "1")).signatures
    inputs = {
        "serving_default": texts("déjà vu".encode(), b"", b"nul\0"),
        "words": texts(b"one two", b"three"),
        "repeat": texts(b"a", b"b") | {"temperature": np.float32([1, 0]), "times": np.int32([2, 0])},
        "add": {"ids": np.int64([[1, 2, 3]]), "flag": np.array([True]), "scale": np.array([0.1])},
    }
    assert set(inputs) == set(loaded) == set(servable.signatures)
    for name, arrays in inputs.items():
        expected = loaded[name](**{key: tf.constant(array) for key, array in arrays.items()})
        outputs = servable.signature(name)(arrays)
        assert set(outputs) == set(expected)
        for key, value in outputs.items():
            assert value.dtype == expected[key].numpy().dtype and value.tolist() == expected[key].numpy().tolist()


def test_scalars_are_arrays_without_axes(tmp_path):
    class Scalars(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([], tf.string, name="text")])
        def run(self, text):
            return {"text": text, "length": tf.strings.length(text)}

    model = Scalars()
    tf.saved_model.save(model, str(tmp_path), signatures=model.run)
    outputs = Servable(tmp_path).signature("")({"text": np.array(b"abc", object)})
    assert {name: (value.shape, value.tolist()) for name, value in outputs.items()} == {
        "text": ((), b"abc"),
        "length": ((), 3),
    }


def test_a_run_is_broken_off_when_its_time_is_over(tmp_path):
    servable = Servable(small_models.save(tmp_path, "upper", 1, wait_for=tmp_path / "never"))
    with pytest.raises(ServingError) as caught:
        servable.signature("")(texts(b"wait"), seconds=0.1)
    assert caught.value.code == Code.DEADLINE_EXCEEDED
    assert servable.signature("")(texts(b"a"), seconds=HANG_SECONDS)["label"].tolist() == [b"A"]
    servable.close()


def test_an_infinite_time_is_no_limit(servable):
    assert servable.signature("")(texts(b"a"), seconds=float("inf"))["label"].tolist() == [b"A"]


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's /proc")
def test_a_closed_version_returns_its_memory(tmp_path):
    """Each version has 32 MiB of variables. Of ten versions, the memory of one may stay."""

    class Large(tf.Module):
        def __init__(self):
            self.weights = tf.Variable(tf.ones([2**13, 2**10]))

        @tf.function(input_signature=[tf.TensorSpec([None], tf.int32, name="row")])
        def run(self, row):
            return {"sum": tf.reduce_sum(tf.gather(self.weights, row), axis=1)}

    model = Large()
    tf.saved_model.save(model, str(tmp_path), signatures=model.run)

    def load_and_close():
        servable = Servable(tmp_path)
        assert servable.signature("")({"row": np.int32([1])})["sum"].tolist() == [1024.0]
        servable.close()

    load_and_close()
    memory = resident_mebibytes()
    for _ in range(10):
        load_and_close()
    assert resident_mebibytes() - memory < 32


def resident_mebibytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


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


def test_a_warm_up_ends_when_the_server_stops(servable):
    with pytest.raises(ServingError) as caught:
        servable.warm_up(lambda: True)
    assert caught.value.code == Code.CANCELLED


def test_waiting_for_users_ends_after_its_time(servable):
    servable.acquire()
    assert not servable.wait_until_unused(seconds=0.01)
    servable.release()
    assert servable.wait_until_unused(seconds=0.01)


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
