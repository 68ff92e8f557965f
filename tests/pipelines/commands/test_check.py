"""`check` as users call it."""

import functools
import json
import shutil

import pytest

from serving import check
from tests.command_line import assert_one_line, lines_of
from tests.serving import small_models
from tests.serving.conftest import serving


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return small_models.save(tmp_path_factory.mktemp("models"), "upper", 1)


@pytest.fixture(scope="module")
def broken(folder, tmp_path_factory):
    broken = shutil.copytree(folder, tmp_path_factory.mktemp("broken") / "1")
    small_models.write_warm_up(broken, b"\xff\xff")
    return broken


@pytest.fixture(scope="module", autouse=True)
def check_once():
    """Checks each folder once: each check starts a process that imports TensorFlow."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(check, "check", functools.cache(check.check))
        yield


@pytest.mark.long
def test_a_valid_model_has_only_ok_lines(folder, run_main):
    process = run_main(folder, "check", folder, "--serving-version", "2.19.1")
    assert process.returncode == 0 and all(line.startswith("ok ") for line in lines_of(process.stdout))


@pytest.mark.long
def test_json_is_one_object(folder, run_main):
    process = run_main(folder, "check", folder, "--serving-version", "2.19.1", "--json")
    document = json.loads(process.stdout)
    assert process.returncode == 0 and document["ok"] is True and document["serving_version"] == "2.19.1"
    assert {"check": "signature serving_default", "problem": ""} in document["findings"]


@pytest.mark.parametrize("flags", [pytest.param([], marks=pytest.mark.long), ["--json"]])
def test_a_problem_is_printed_and_the_status_is_2(broken, run_main, tmp_path, flags):
    process = run_main(tmp_path, "check", broken, *flags)
    assert_one_line(
        process, f"TF Serving 2.20.0 cannot serve {broken}: warm-up requests, with XLA disabled: DecodeError"
    )
    if flags:
        document = json.loads(process.stdout)
        assert document["ok"] is False and [f["check"] for f in document["findings"] if f["problem"]]
    else:
        assert [line[:6] for line in lines_of(process.stdout)].count("wrong ") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "contains no saved_model.pb"),
        (["nowhere", "--serving-version", "1.0"], "--serving-version 1.0: the ops of this version are unknown"),
        (["nowhere", "--server", "2.20.0"], "such as localhost:8500; --serving-version 2.20.0 checks for a version"),
        (["nowhere", "--server", "localhost:1"], "nowhere contains no saved_model.pb"),
        (["nowhere", "--name", "x"], "--name has no effect without --server"),
        (["nowhere", "--server", "localhost:1", "--serving-version", "2.20.0"], "--serving-version has no effect"),
    ],
)
def test_a_mistake_is_one_line(tmp_path, run_main, arguments, message):
    assert_one_line(run_main(tmp_path, "check", *arguments), message)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["", "http://"])
def test_a_running_server_is_asked(folder, run_main, tmp_path, scheme):
    """It serves a copy of the model, and beside it another model under another name."""
    saved = folder.parents[1]
    other = small_models.save(tmp_path / "other", "upper", 2).rename(tmp_path / "other" / "upper" / "1")
    shutil.copytree(other, saved / "others" / "1", dirs_exist_ok=True)
    with serving(saved) as client:
        port = client.server.rest_port if scheme else client.server.grpc_port
        flags = ["--server", f"{scheme}127.0.0.1:{port}", "--saved-models", saved]
        for named in ("upper", "upper/1", folder):
            process = run_main(tmp_path, "check", named, *flags)
            assert process.returncode == 0 and all(line.startswith("ok ") for line in lines_of(process.stdout))
        process = run_main(tmp_path, "check", "upper", *flags, "--name", "others")
        assert process.returncode == 1 and not process.stderr
        assert "wrong serving_default, request 1 of 1 row: version[0]: expected 1, got 2" in process.stdout
        document = json.loads(run_main(tmp_path, "check", "upper", *flags, "--name", "nobody", "--json").stdout)
        assert document["ok"] is False and document["model"] == "nobody" and len(document["findings"]) == 1
    assert_one_line(run_main(tmp_path, "check", "upper", *flags), "no answer from")
