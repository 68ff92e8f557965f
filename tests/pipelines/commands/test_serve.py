"""`serve`, and `predict --server`, as users call them."""

import contextlib
import dataclasses
import json
import os
import queue
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.request

import pytest

from pipelines.commands.serve import Serve, cards_of
from pipelines.support import kernels
from pipelines.support.errors import UserError
from serving.models_config import parse_config
from serving.settings import Limits, LoadRetries, Settings
from tests.command_line import ROOT, assert_one_line
from tests.serving import small_models
from tests.serving.conftest import HANG_SECONDS, wait_until


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    root = tmp_path_factory.mktemp("models")
    small_models.save(root, "upper", 1)
    return root


def test_the_cards_are_those_of_the_newest_versions(tmp_path):
    for name, version, variables in (("a", 1, "1"), ("a", 10, "0"), ("b", 2, "0")):
        (tmp_path / name / str(version)).mkdir(parents=True)
        card = {"environment": {kernels.ONEDNN: variables}}
        (tmp_path / name / str(version) / "model_card.json").write_text(json.dumps(card))
    (tmp_path / "empty").mkdir()
    found = cards_of(tmp_path)
    assert [card["environment"] for card in found] == [kernels.OWN_KERNELS] * 2
    (tmp_path / "other" / "1").mkdir(parents=True)  # without a card
    assert len(cards_of(tmp_path)) == 3 and {} in cards_of(tmp_path)


@contextlib.contextmanager
def serve(root, *flags, **variables):
    """Starts the command in a process. Gives the process and both addresses. At the end, SIGTERM must stop it."""
    flags = ["--saved-models", str(root), "--rest-port", "0", "--grpc-port", "0", *flags]
    command = [sys.executable, str(ROOT / "main.py"), "serve", *flags]
    environment = {**os.environ, "HOME": str(root), **variables}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    line = ""
    while not line.startswith("serving "):
        line = process.stderr.readline()
        assert line, "the server ended"
    rest, grpc = re.search(r"(https?://\S+), gRPC (\S+)", line).groups()
    try:
        yield process, rest, grpc
    finally:
        process.send_signal(signal.SIGTERM)
        errors = process.communicate(timeout=HANG_SECONDS)[1]
        assert process.returncode == 0 and "Traceback" not in errors, errors


def predict(rest, text):
    body = json.dumps({"instances": [text]}).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{rest}/v1/models/upper:predict", body)) as response:
        return json.load(response)["predictions"][0]["label"]


def test_the_defaults_are_those_of_the_settings():
    command = Serve()
    for options in (Settings(command.saved_models), Limits()):
        others = ("models", "limits", "load_retries")
        names = [field.name for field in dataclasses.fields(options) if field.name not in others]
        assert {name: getattr(command, name) for name in names} == {name: getattr(options, name) for name in names}
    retries = LoadRetries(command.load_retries, command.load_retry_seconds)
    assert retries == Settings(command.saved_models).load_retries


@pytest.mark.long
def test_it_answers_and_logs_json_until_sigterm(models):
    with serve(models) as (process, rest, _):
        assert predict(rest, "a") == "A"
        assert json.loads(process.stderr.readline())["status"] == "OK"


class ReadyServer:
    """A server of no models that is ready."""

    rest_port, grpc_port = 8501, 8500

    class manager:
        readiness = dict


@pytest.mark.parametrize(
    "host, address",
    [
        ("127.0.0.1", "http://127.0.0.1:8501/"),
        ("0.0.0.0", "http://127.0.0.1:8501/"),
        ("::", "http://[::1]:8501/"),
        ("example.org", "http://example.org:8501/"),
    ],
)
def test_open_opens_the_page_when_the_server_is_ready(monkeypatch, host, address):
    opened = queue.SimpleQueue()
    monkeypatch.setattr("webbrowser.open", lambda each: opened.put(each) or True)
    Serve(host=host, open=True)._report_ready(ReadyServer)
    assert opened.get(timeout=HANG_SECONDS) == address
    Serve(host=host)._report_ready(ReadyServer)
    assert opened.empty()


@pytest.mark.long
def test_open_without_a_browser_is_one_line(models):
    # No program is on the PATH, so no browser is, either.
    with serve(models, "--open", PATH="", DISPLAY="", BROWSER="") as (process, rest, _):
        assert process.stderr.readline() == f"no browser was found: open {rest}/ yourself\n"


@pytest.mark.long
def test_requests_in_progress_are_answered_after_sigterm(tmp_path):
    answer_now = tmp_path / "answer-now"
    small_models.save(tmp_path, "upper", 1, wait_for=answer_now)
    with serve(tmp_path) as (process, rest, _):
        labels = []
        thread = threading.Thread(target=lambda: labels.append(predict(rest, "wait")))
        thread.start()
        metrics = f"{rest}/monitoring/prometheus/metrics"
        wait_until(lambda: "in_flight 1.0" in urllib.request.urlopen(metrics).read().decode())
        process.send_signal(signal.SIGTERM)
        line = ""
        while '"stopping"' not in line:
            line = process.stderr.readline()
            assert line, "the server ended"
        assert not labels
        answer_now.touch()
        thread.join(HANG_SECONDS)
        process.wait(HANG_SECONDS)  # a second signal would not wait for the answer
    assert labels == ["WAIT"]


@pytest.mark.long
def test_a_second_signal_ends_the_process_while_requests_are_in_progress(tmp_path):
    small_models.save(tmp_path, "upper", 1, wait_for=tmp_path / "never")
    command = [sys.executable, str(ROOT / "main.py"), "serve", "--saved-models", str(tmp_path)]
    process = subprocess.Popen(
        [*command, "--rest-port", "0", "--grpc-port", "0"], stderr=subprocess.PIPE, text=True, env=os.environ
    )
    rest = next(re.search(r"(http://\S+),", line)[1] for line in process.stderr if line.startswith("serving "))

    def ask():
        with contextlib.suppress(OSError):
            predict(rest, "wait")

    thread = threading.Thread(target=ask)
    thread.start()
    metrics = f"{rest}/monitoring/prometheus/metrics"
    wait_until(lambda: "in_flight 1.0" in urllib.request.urlopen(metrics).read().decode())
    process.send_signal(signal.SIGTERM)
    assert any('"stopping"' in line for line in process.stderr)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=HANG_SECONDS)
    thread.join()
    assert process.returncode == 128 + signal.SIGTERM


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("serve --saved-models nowhere", "there is no folder nowhere"),
        ("serve --config nowhere", "no such file: nowhere"),
        ("serve --rest-port 70000", "--rest-port 70000"),
        ("serve --max-rows 0", "--max-rows 0"),
        ("serve --max-tokens 0", "--max-tokens 0"),
        ("serve --load-retries -1", "--load-retries -1"),
        ("serve --tls-key main.py", "belong together"),
        ("serve --tls-key main.py --tls-certificate main.py", "main.py cannot be used"),
        ("serve --config main.py --rest-port 0 --grpc-port 0", "needs a model_config_list"),
        ("serve --saved-models . --write-config", "there is no model in"),
        ("serve --engine tf-serving --config main.py", "does not use --config"),
        ("serve --engine tf-serving --tls-key main.py --tls-certificate main.py", "does not use --tls-certificate"),
        ("serve --engine tf-serving --open", "--open has no effect with --engine tf-serving"),
        ("serve --write-config --open", "--open has no effect with --write-config"),
        ("serve --engine tf-serving --rest-port 0", "--rest-port a number above 0"),
        ("predict sentiment x --server localhost:1", "no answer from localhost:1"),
        ("predict sentiment x --server http://localhost:1", "no answer from http://localhost:1"),
        ("predict sentiment --input x --server localhost:1", "leave out --input"),
    ],
)
def test_a_mistake_is_one_line(tmp_path, run_main, arguments, message):
    (tmp_path / "main.py").write_text("")
    (tmp_path / "saved").mkdir()
    flags = []
    if arguments.startswith("serve") and "--saved-models" not in arguments:
        flags = ["--saved-models", tmp_path / "saved"]
    assert_one_line(run_main(tmp_path, *arguments.split(), *flags), message)


@pytest.mark.parametrize(
    ("folder", "message"),
    [
        ("saved/upper", "saved/upper is the folder of one model, with its versions 1, 2: give --saved-models saved"),
        ("saved/upper/2", "saved/upper/2 is a version of the model upper: give --saved-models saved"),
        ("lone", "lone is a SavedModel, but not in a folder of versions: move it to MODELS/lone/1"),
        ("saved/upper/.", "give --saved-models saved"),
    ],
)
@pytest.mark.parametrize("flags", [(), ("--write-config",), ("--engine", "tf-serving")])
def test_a_folder_below_that_of_the_models_is_one_line(tmp_path, run_main, monkeypatch, folder, message, flags):
    monkeypatch.chdir(tmp_path)
    for version in (tmp_path / "saved" / "upper" / "1", tmp_path / "saved" / "upper" / "2", tmp_path / "lone"):
        version.mkdir(parents=True)
        (version / "saved_model.pb").touch()
    assert_one_line(run_main(tmp_path, "serve", "--saved-models", folder, *flags), message)


def test_a_folder_that_cannot_be_read_is_named(monkeypatch, models):
    def start(settings, on_ready):
        raise PermissionError(13, "Permission denied", str(models))

    monkeypatch.setattr("serving.server.run", start)
    with pytest.raises(UserError, match=f"^{models}: Permission denied$"):
        Serve(saved_models=models)._start_embedded_server()


def test_a_port_that_is_not_free_is_one_line(models, run_main):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for flag in ("--rest-port", "--grpc-port"):
            ports = {"--rest-port": "0", "--grpc-port": "0", flag: str(taken.getsockname()[1])}
            flags = [argument for pair in ports.items() for argument in pair]
            assert_one_line(
                run_main(models, "serve", "--saved-models", models, *flags), "choose other ports with --rest-port"
            )


def test_tf_serving_without_its_program_and_docker_is_one_line(models, run_main, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert_one_line(run_main(models, "serve", "--saved-models", models, "--engine", "tf-serving"), "install Docker")


def put_program_on_path(monkeypatch, folder, script):
    program = folder / "tensorflow_model_server"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def test_tf_serving_is_started_with_the_configs(models, run_main, monkeypatch, tmp_path):
    print_config = 'for flag in "$@"; do case "$flag" in --model_config_file=*) cat "${flag#*=}";; esac; done > "$OUT"'
    put_program_on_path(monkeypatch, tmp_path, print_config)
    monkeypatch.setenv("OUT", str(tmp_path / "config"))
    process = run_main(models, "serve", "--saved-models", models, "--engine", "tf-serving")
    assert process.returncode == 0, process.stderr
    assert "no authentication, and the ports are open at 0.0.0.0" in process.stderr
    config = (tmp_path / "config").read_text()
    assert f'base_path: "{models}/upper"' in config and 'key: "canary"' in config


def test_the_status_of_tf_serving_is_reported(models, run_main, monkeypatch, tmp_path):
    put_program_on_path(monkeypatch, tmp_path, "exit 3")
    process = run_main(models, "serve", "--saved-models", models, "--engine", "tf-serving")
    assert_one_line(process, "tensorflow_model_server ended with status 3")


def test_write_config_writes_the_configs_into_the_folder_of_the_models(tmp_path, run_main):
    for version in (1, 2):
        small_models.save(tmp_path, "upper", version)
    flags = ["--saved-models", tmp_path, "--write-config", "--served-from", "/elsewhere"]
    assert run_main(tmp_path, "serve", *flags).returncode == 0
    (model,) = parse_config((tmp_path / "models.config").read_text()).values()
    assert str(model.path) == "/elsewhere/upper" and dict(model.labels) == {"stable": 1, "canary": 2}
    assert model.num_latest == 2
    assert "enable: true" in (tmp_path / "monitoring.config").read_text() and (tmp_path / "batching.config").exists()
