"""Versions that come and go, and many clients at a time."""

import json
import shutil
import threading
import time

import grpc
import pytest
import tensorflow as tf

from tests.serving import small_models
from tests.serving.conftest import request_of, serving


def eventually(condition, seconds=20.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def states(client, name="shouter"):
    status, answer = client.http(f"/v1/models/{name}")
    return {each["version"]: each["state"] for each in answer["model_version_status"]} if status == 200 else {}


def test_versions_come_and_go(tmp_path):
    with serving(tmp_path) as client:
        assert client.http("/v1/models/shouter")[0] == 404
        for version in (1, 2, 3):
            small_models.save(tmp_path, "shouter", version)
            eventually(lambda version=version: states(client).get(str(version)) == "AVAILABLE")
        assert client.ask("shouter", {"text": ["a"]})["version"] == [3]
        eventually(lambda: states(client)["1"] == "END")  # the two newest are served
        assert client.ask("shouter", {"text": ["a"]}, label="stable")["version"] == [2]
        shutil.rmtree(tmp_path / "shouter" / "3")
        eventually(lambda: states(client) == {"2": "AVAILABLE", "1": "AVAILABLE"})
        assert client.ask("shouter", {"text": ["a"]})["version"] == [2]
        shutil.rmtree(tmp_path / "shouter")
        eventually(lambda: states(client) == {})
        assert client.http("/v1/models/shouter:predict", {"inputs": ["a"]})[0] == 404


@pytest.mark.parametrize("kind", ["not a SavedModel", "its warm-up fails", "a variable is missing"])
def test_a_broken_version_never_takes_the_place_of_a_good_one(tmp_path, kind):
    small_models.save(tmp_path, "shouter", 1)
    broken = small_models.save(tmp_path / "aside", "shouter", 2)
    if kind == "not a SavedModel":
        (broken / "saved_model.pb").write_bytes(b"nonsense")
    if kind == "a variable is missing":
        shutil.rmtree(broken / "variables")
    if kind == "its warm-up fails":
        with tf.io.TFRecordWriter(str(broken / "assets.extra" / "tf_serving_warmup_requests")) as writer:
            writer.write(b"\xff\xff")
    with serving(tmp_path) as client:
        broken.rename(tmp_path / "shouter" / "2")
        eventually(lambda: states(client).get("2") == "END")
        status = client.http("/v1/models/shouter/versions/2")[1]["model_version_status"][0]["status"]
        assert status["error_code"] == "UNKNOWN" and status["error_message"]
        assert client.ask("shouter", {"text": ["a"]})["version"] == [1]
        shutil.rmtree(tmp_path / "shouter" / "2")
        small_models.save(tmp_path, "shouter", 2)
        eventually(lambda: states(client).get("2") == "AVAILABLE")  # mended, it is taken


def test_not_one_request_fails_while_versions_change(tmp_path):
    small_models.save(tmp_path, "shouter", 1)
    for version in range(2, 7):
        small_models.save(tmp_path / "aside", "shouter", version)
    with serving(tmp_path) as client:
        answers, failures, stop = [], [], threading.Event()

        def ask(over_grpc):
            while not stop.is_set():
                try:
                    if over_grpc:
                        answers.append(client.ask("shouter", {"text": ["a"]})["version"][0])
                    else:
                        status, answer = client.http("/v1/models/shouter:predict", {"inputs": ["a"]})
                        assert status == 200
                        answers.append(answer["outputs"]["version"][0])
                except Exception as error:
                    failures.append(error)

        threads = [threading.Thread(target=ask, args=(i % 2 == 0,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for version in range(2, 7):
            (tmp_path / "aside" / "shouter" / str(version)).rename(tmp_path / "shouter" / str(version))
            eventually(lambda version=version: states(client).get(str(version)) == "AVAILABLE")
            if version > 2:
                shutil.rmtree(tmp_path / "shouter" / str(version - 2), ignore_errors=True)
        eventually(lambda: answers and answers[-1] == 6)
        stop.set()
        for thread in threads:
            thread.join()
    assert not failures and set(answers) >= {1, 6}, failures[:1]


def test_requests_that_wait_are_answered_together_and_each_gets_its_own(tmp_path):
    small_models.save(tmp_path, "shouter", 1, seconds=1.0)
    with serving(tmp_path) as client:
        results = {}

        def ask(text):
            results[text] = client.ask("shouter", {"text": [text]})

        slow = threading.Thread(target=ask, args=("wait",))
        slow.start()
        time.sleep(0.2)
        threads = [threading.Thread(target=ask, args=(f"text {i}",)) for i in range(16)]
        for thread in threads:
            thread.start()
        for thread in (slow, *threads):
            thread.join()
    assert all(results[f"text {i}"]["label"] == [f"TEXT {i}".encode()] for i in range(16))
    assert results["wait"]["rows"] == [1] and max(results[f"text {i}"]["rows"][0] for i in range(16)) > 1


def test_a_bad_request_spoils_nothing_for_those_it_is_batched_with(tmp_path):
    small_models.save(tmp_path, "shouter", 1)
    with serving(tmp_path) as client:
        outcomes = []

        def ask(i):
            inputs = {"text": [f"t{i}"], "temperature": [-1.0 if i % 4 == 0 else 1.0], "times": [2]}
            try:
                outcomes.append((i, client.ask("shouter", inputs, "repeat")["text"]))
            except grpc.RpcError as error:
                outcomes.append((i, error.code()))

        threads = [threading.Thread(target=ask, args=(i,)) for i in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for i, outcome in outcomes:
        assert outcome == (grpc.StatusCode.INVALID_ARGUMENT if i % 4 == 0 else [f"t{i}t{i}".encode()])
    assert len(outcomes) == 40


def test_more_than_the_limit_are_told_to_come_again(tmp_path):
    small_models.save(tmp_path, "shouter", 1, seconds=2.0)
    with serving(tmp_path, requests=2) as client:
        waiting = [client.prediction.Predict.future(request_of("shouter", {"text": ["wait"]})) for _ in range(2)]
        eventually(lambda: "in_flight 2.0" in client.http("/monitoring/prometheus/metrics")[1])
        status, answer = client.http("/v1/models/shouter:predict", {"inputs": ["a"]})
        assert status == 429 and "come again" in answer["error"]
        with pytest.raises(grpc.RpcError) as caught:
            client.ask("shouter", {"text": ["a"]})
        assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert all(future.result().outputs for future in waiting)
        assert client.http("/v1/models/shouter:predict", {"inputs": ["a"]})[0] == 200


def test_the_log_has_no_text_of_the_users(tmp_path, caplog):
    small_models.save(tmp_path, "shouter", 1)
    with serving(tmp_path) as client, caplog.at_level("INFO", "unroll.serving"):
        client.http("/v1/models/shouter:predict", {"inputs": ["secret one"]})
        client.http("/v1/models/shouter:predict", {"inputs": [["secret two"]]})
        client.ask("shouter", {"text": ["secret three"]})
    lines = [json.loads(message) for message in caplog.messages if message.startswith("{")]
    assert [line["status"] for line in lines if line["event"] == "request"] == ["OK", "INVALID_ARGUMENT", "OK"]
    assert "secret" not in caplog.text
