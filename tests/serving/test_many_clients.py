"""A server with many clients: versions change, requests share batches, and there are too many of them."""

import shutil
import threading

import grpc
import pytest

from tests.serving import small_models
from tests.serving.conftest import HANG_SECONDS, make_request, serving, wait_until


@pytest.mark.long
def test_no_request_fails_while_versions_change(tmp_path):
    small_models.save(tmp_path, "upper", 1)
    for version in range(2, 7):
        small_models.save(tmp_path / "aside", "upper", version)
    with serving(tmp_path) as client:
        answers, failures, stop = [], [], threading.Event()

        def is_available(version):
            status, answer = client.http(f"/v1/models/upper/versions/{version}")
            return status == 200 and answer["model_version_status"][0]["state"] == "AVAILABLE"

        def send_requests(over_grpc):
            while not stop.is_set():
                try:
                    if over_grpc:
                        answers.append(client.predict("upper", {"text": ["a"]})["version"][0])
                    else:
                        status, answer = client.http("/v1/models/upper:predict", {"inputs": ["a"]})
                        assert status == 200
                        answers.append(answer["outputs"]["version"][0])
                except Exception as error:
                    failures.append(error)

        threads = [threading.Thread(target=send_requests, args=(i % 2 == 0,)) for i in range(4)]
        for thread in threads:
            thread.start()
        wait_until(lambda: bool(answers))
        for version in range(2, 7):
            (tmp_path / "aside" / "upper" / str(version)).rename(tmp_path / "upper" / str(version))
            wait_until(lambda version=version: is_available(version))
            if version > 2:
                shutil.rmtree(tmp_path / "upper" / str(version - 2), ignore_errors=True)
        wait_until(lambda: answers[-1] == 6)
        stop.set()
        for thread in threads:
            thread.join()
    assert not failures and set(answers) >= {1, 6}, failures[:1]


def test_waiting_requests_of_clients_run_in_one_batch(tmp_path, gate):
    small_models.save(tmp_path, "upper", 1)
    with serving(tmp_path) as client:
        results = {}

        def send(text):
            results[text] = client.predict("upper", {"text": [text]})

        first = threading.Thread(target=send, args=("wait",))
        first.start()
        gate.wait_for_run()
        threads = [threading.Thread(target=send, args=(f"text {i}",)) for i in range(16)]
        for thread in threads:
            thread.start()
        manager = client.server.manager
        with manager.hold("upper") as version:
            batcher = manager.batcher(version, "serving_default")
        wait_until(lambda: len(batcher._queue) == 16)
        gate.open.set()
        for thread in (first, *threads):
            thread.join(HANG_SECONDS)
    assert results["wait"]["rows"] == [1]
    for i in range(16):
        assert results[f"text {i}"]["label"] == [f"TEXT {i}".encode()] and results[f"text {i}"]["rows"] == [16]


def test_an_invalid_request_does_not_change_the_answers_of_its_batch(models):
    with serving(models) as client:
        results = {}

        def send(i):
            inputs = {"text": [f"t{i}"], "temperature": [-1.0 if i % 4 == 0 else 1.0], "times": [2]}
            try:
                results[i] = client.predict("upper", inputs, "repeat")["text"]
            except grpc.RpcError as error:
                results[i] = error.code()

        threads = [threading.Thread(target=send, args=(i,)) for i in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(results) == 40
    for i, result in results.items():
        assert result == (grpc.StatusCode.INVALID_ARGUMENT if i % 4 == 0 else [f"t{i}t{i}".encode()])


def test_requests_beyond_the_limit_are_refused_by_both_apis(models, gate):
    with serving(models, max_requests=2) as client:
        request = make_request("upper", {"text": ["wait"]})
        running = [client.prediction.Predict.future(request) for _ in range(2)]
        wait_until(lambda: "in_flight 2.0" in client.http("/monitoring/prometheus/metrics")[1])
        status, answer = client.http("/v1/models/upper:predict", {"inputs": ["a"]})
        assert status == 429 and "try again later" in answer["error"]
        with pytest.raises(grpc.RpcError) as caught:
            client.predict("upper", {"text": ["a"]})
        assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        gate.open.set()
        assert all(future.result().outputs["label"].string_val[0] == b"WAIT" for future in running)
        wait_until(lambda: "in_flight 0.0" in client.http("/monitoring/prometheus/metrics")[1])
        assert client.http("/v1/models/upper:predict", {"inputs": ["a"]})[0] == 200
