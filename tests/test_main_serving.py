"""`serve`, `check` and `predict --server` as their users meet them."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import urllib.request

import pytest

from tests.command_line import ROOT, assert_one_line, lines_of
from tests.serving import small_models


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    root = tmp_path_factory.mktemp("models")
    small_models.save(root, "shouter", 1)
    return root


@contextlib.contextmanager
def served(root, *flags):
    command = [sys.executable, str(ROOT / "main.py"), "serve", "--saved-models", str(root), "--rest-port", "0", "--grpc-port", "0", *flags]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "HOME": str(root)})
    line = ""
    while not line.startswith("serving "):
        line = process.stderr.readline()
        assert line, "the server ended"
    rest, grpc = re.search(r"(https?://\S+), gRPC (\S+)", line).groups()
    try:
        yield process, rest, grpc
    finally:
        process.send_signal(signal.SIGTERM)
        errors = process.communicate(timeout=60)[1]
        assert process.returncode == 0 and "Traceback" not in errors, errors


def test_it_answers_and_ends_when_it_is_told(models):
    with served(models) as (_, rest, _grpc):
        request = urllib.request.Request(f"{rest}/v1/models/shouter:predict", b'{"instances": ["a"]}')
        assert json.load(urllib.request.urlopen(request))["predictions"][0]["label"] == "A"


def test_what_has_begun_is_finished(tmp_path):
    small_models.save(tmp_path, "shouter", 1, seconds=2.0)
    with served(tmp_path) as (process, rest, _grpc):
        import threading

        answers = []
        request = urllib.request.Request(f"{rest}/v1/models/shouter:predict", b'{"instances": ["wait"]}')
        thread = threading.Thread(target=lambda: answers.append(json.load(urllib.request.urlopen(request))))
        thread.start()
        while "in_flight 1.0" not in urllib.request.urlopen(f"{rest}/monitoring/prometheus/metrics").read().decode():
            pass
        process.send_signal(signal.SIGTERM)
        thread.join()
    assert answers[0]["predictions"][0]["label"] == "WAIT"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("serve --saved-models nowhere", "there is no folder nowhere"),
        ("serve --config nowhere", "no such file: nowhere"),
        ("serve --rest-port 70000", "--rest-port 70000"),
        ("serve --tls-key main.py", "belong together"),
        ("serve --saved-models . --write-config", "there is no model in"),
        ("check nowhere", "holds no saved_model.pb"),
        ("check nowhere --server 1.0", "--server 1.0"),
        ("predict sentiment x --server localhost:1", "no answer from localhost:1"),
        ("predict sentiment x --server http://localhost:1", "no answer from http://localhost:1"),
        ("predict sentiment --input x --server localhost:1", "leave out --input"),
    ],
)
def test_what_cannot_be_is_one_line(tmp_path, here, arguments, said):
    (tmp_path / "main.py").write_text("")
    (tmp_path / "saved").mkdir()
    flags = ["--saved-models", tmp_path / "saved"] if arguments.startswith("serve") and "--saved-models" not in arguments else []
    assert_one_line(here(tmp_path, *arguments.split(), *flags), said)


def test_a_port_that_is_taken(models, here):
    with served(models) as (_, rest, _grpc):
        port = rest.rsplit(":", 1)[1]
        assert_one_line(here(models, "serve", "--saved-models", models, "--rest-port", port, "--grpc-port", "0"), "--rest-port")


def test_neither_docker_nor_tf_serving(models, here, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert_one_line(here(models, "serve", "--saved-models", models, "--engine", "tf-serving"), "install Docker")


def test_tf_serving_is_started_with_the_configs(models, here, monkeypatch, tmp_path):
    program = tmp_path / "tensorflow_model_server"
    program.write_text('#!/bin/sh\nfor flag in "$@"; do case "$flag" in --model_config_file=*) cat "${flag#*=}";; esac; done > "$OUT"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("OUT", str(tmp_path / "seen"))
    process = here(models, "serve", "--saved-models", models, "--engine", "tf-serving")
    assert process.returncode == 0, process.stderr
    seen = (tmp_path / "seen").read_text()
    assert f'base_path: "{models}/shouter"' in seen and 'key: "canary"' in seen


def test_configs_are_written(tmp_path, here):
    for version in (1, 2):
        small_models.save(tmp_path, "shouter", version)
    assert here(tmp_path, "serve", "--saved-models", tmp_path, "--write-config").returncode == 0
    from serving import models_config

    (model,) = models_config.read((tmp_path / "models.config").read_text()).values()
    assert str(model.path) == "/models/shouter" and dict(model.labels) == {"stable": 1, "canary": 2} and model.latest == 2
    assert "enable: true" in (tmp_path / "monitoring.config").read_text() and (tmp_path / "batching.config").exists()


def test_check(models, here):
    process = here(models, "check", models / "shouter" / "1")
    assert process.returncode == 0 and all(line.startswith("ok") for line in lines_of(process.stdout))
    process = here(models, "check", models / "shouter" / "1", "--json")
    assert json.loads(process.stdout)["ok"] is True
