"""The core with a loaded model, but without a network."""

import asyncio
import json
import threading

import numpy as np
import pytest

from serving.core import Core, ModelSpec
from serving.errors import Code, ServingError
from serving.logs import JsonFormatter, logger
from serving.manager import Manager
from serving.metrics import Metrics
from serving.models_config import find_models
from serving.settings import Limits, LoadRetries
from serving.versions import State
from tests.serving import small_models
from tests.serving.conftest import HANG_SECONDS, wait_until

SPEC = ModelSpec("upper")


def make_core(models, **limits):
    manager = Manager(lambda: find_models(models), Limits(), LoadRetries(), lambda event, **fields: None)
    manager.refresh()
    return Core(manager, Limits(**limits), Metrics())


@pytest.fixture(scope="module")
def core(models):
    core = make_core(models, max_rows=3, max_text_bytes=10)
    yield core
    core.manager.close()


def text_inputs(*texts):
    return lambda signature: {"text": np.array(texts, object)}


def test_a_prediction_names_its_model_version_and_signature(core):
    prediction = core.predict(SPEC, text_inputs(b"a"))
    assert (prediction.model, prediction.version, prediction.signature) == ("upper", 2, "serving_default")
    assert prediction.outputs["label"].tolist() == [b"A"]
    assert core.predict(ModelSpec("upper", label="stable"), text_inputs(b"a")).version == 1


def test_only_the_named_outputs_are_returned(core):
    assert set(core.predict(SPEC, text_inputs(b"a"), ("length", "label")).outputs) == {"length", "label"}


@pytest.mark.parametrize(
    ("texts", "outputs", "message"),
    [
        ([b"a"] * 4, (), "text has 4 rows: a request may have at most 3"),
        ([b"a" * 11], (), "text has a text of more than 10 bytes"),
        ([b"a"], ("no",), "output tensor alias not found in signature: no"),
        ([b"a"], ("label", "label"), "duplicate output tensor alias: label"),
    ],
)
def test_an_invalid_request_is_refused(core, texts, outputs, message):
    with pytest.raises(ServingError, match=message) as caught:
        core.predict(SPEC, text_inputs(*texts), outputs)
    assert caught.value.code == Code.INVALID_ARGUMENT


@pytest.mark.parametrize(("server_limit", "client_limit"), [(1e-9, None), (1e-9, 60.0), (60.0, 1e-9), (60.0, -1.0)])
def test_the_shorter_limit_of_server_and_client_applies(models, server_limit, client_limit):
    core = make_core(models, timeout=server_limit)
    with pytest.raises(ServingError) as caught:
        core.predict(SPEC, text_inputs(b"a"), timeout=client_limit)
    assert caught.value.code == Code.DEADLINE_EXCEEDED


def test_a_version_in_use_is_not_unloaded(models, gate):
    core = make_core(models)
    results = []
    runner = threading.Thread(target=lambda: results.append(core.predict(SPEC, text_inputs(b"wait"))))
    runner.start()
    gate.wait_for_run()
    closer = threading.Thread(target=core.manager.close)
    closer.start()
    wait_until(lambda: core.manager.versions("upper", 2)[0].state == State.UNLOADING)
    assert closer.is_alive() and not results
    gate.open.set()
    runner.join(HANG_SECONDS)
    closer.join(HANG_SECONDS)
    assert results[0].outputs["label"].tolist() == [b"WAIT"] and not closer.is_alive()


def test_an_unexpected_exception_becomes_an_internal_error_without_details(core, caplog, monkeypatch):
    monkeypatch.setattr(logger, "propagate", True)
    with (
        caplog.at_level("INFO", logger.name),
        pytest.raises(ServingError) as caught,
        core.record("Predict", "GRPC"),
    ):
        raise KeyError("a detail")
    assert caught.value.code == Code.INTERNAL and "a detail" not in caught.value.message
    (record,) = caplog.records
    assert "a detail" in json.loads(JsonFormatter().format(record))["exception"]


def test_requests_are_counted_and_logged_without_made_up_names(core, caplog, monkeypatch):
    monkeypatch.setattr(logger, "propagate", True)
    with caplog.at_level("INFO", logger.name):
        for name in ("upper", "made up", ""):
            with core.record("Predict", "REST") as request:
                request.spec, request.version = ModelSpec(name, signature="words"), 2
    fields = [record.fields for record in caplog.records]
    assert [line["model"] for line in fields] == ["upper", "unknown", ""]
    assert fields[0] | {"milliseconds": 0} == {
        "model": "upper",
        "version": "2",
        "api": "Predict",
        "entrypoint": "REST",
        "signature": "words",
        "status": "OK",
        "milliseconds": 0,
        "bytes": 0,
    }
    assert b'model_name="unknown",status="OK",version="2"} 1.0' in core.metrics.page()


def test_health_probes_are_logged_at_the_level_debug(core, caplog, monkeypatch):
    monkeypatch.setattr(logger, "propagate", True)
    with caplog.at_level("DEBUG", logger.name):
        for api in ("Health", "Watch", "Metrics"):
            with core.record(api, "REST"):
                pass
        with pytest.raises(ServingError), core.record("Health", "REST"):
            raise KeyError("a bug")
    levels = [(record.fields["api"], record.levelname) for record in caplog.records]
    assert levels == [("Health", "DEBUG"), ("Watch", "DEBUG"), ("Metrics", "INFO"), ("Health", "ERROR")]
    assert b'API="Health",entrypoint="REST"' in core.metrics.page()


def test_a_refused_and_a_cancelled_request_have_their_status(core, caplog, monkeypatch):
    monkeypatch.setattr(logger, "propagate", True)
    with caplog.at_level("INFO", logger.name):
        for error in (ServingError(Code.NOT_FOUND, "no"), asyncio.CancelledError()):
            with pytest.raises(type(error)), core.record("Predict", "REST"):
                raise error
    assert [record.fields["status"] for record in caplog.records] == ["NOT_FOUND", "CANCELLED"]


def test_a_server_is_ready_between_the_first_load_and_its_stop(core):
    assert core.is_ready() is False
    with pytest.raises(ServingError, match="are being loaded"):
        core.check_started(ModelSpec("later"))
    core.check_started(SPEC)  # it is available before the others
    core.is_started = True
    assert core.is_ready() is True and core.is_ready("upper") is True and core.is_ready("nobody") is None
    core.check_started(ModelSpec("later"))
    core.is_stopping = True
    assert core.is_ready() is False and core.is_ready("upper") is False


def generator_inputs(*texts, times=1):
    """Inputs of `Generator`, with `max_length` tokens for each row."""
    return lambda signature: {"text": np.array(texts, object), "max_length": np.full(len(texts), times, np.int32)}


@pytest.fixture(scope="module")
def generating_core(tmp_path_factory):
    root = tmp_path_factory.mktemp("generating")
    small_models.save_generator(root, "generator", 1)
    core = make_core(root, max_length=50, max_tokens=120, long_tokens=20)
    yield core
    core.manager.close()


GENERATOR = ModelSpec("generator")


def test_a_request_of_too_much_work_is_refused(generating_core):
    with pytest.raises(ServingError, match="150 tokens .* at most 120") as caught:
        generating_core.predict(GENERATOR, generator_inputs(b"a", b"b", b"c", times=99))
    assert caught.value.code == Code.INVALID_ARGUMENT
    with pytest.raises(ServingError, match="tokens"):
        generating_core.predict(GENERATOR, generator_inputs(b"a" * 32 * 121))


def test_a_larger_length_is_set_to_the_maximum(generating_core):
    outputs = generating_core.predict(GENERATOR, generator_inputs(b"a", times=2**31 - 1)).outputs
    assert outputs["text"].tolist() == [b"a" * 50]


def test_a_short_request_passes_a_long_one_and_long_ones_wait_for_each_other(generating_core, gate):
    core, finished = generating_core, []

    def send(text, times):
        core.predict(GENERATOR, generator_inputs(text, times=times))
        finished.append(text)

    threads = [threading.Thread(target=send, args=(b"wait", 50))]
    threads[0].start()
    gate.wait_for_run()
    threads.append(threading.Thread(target=send, args=(b"second", 21)))
    threads[1].start()
    with core.manager.hold("generator") as version:
        long_lane = core.manager.batcher(version, "serving_default", is_long=True)
    wait_until(lambda: len(long_lane._queue) == 1)
    send(b"short", 20)
    assert finished == [b"short"]
    gate.open.set()
    for thread in threads:
        thread.join(HANG_SECONDS)
    assert sorted(finished[1:]) == [b"second", b"wait"]
