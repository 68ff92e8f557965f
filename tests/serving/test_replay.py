"""The script in a fresh process without our code, and its function in this one."""

import shutil
import subprocess
import sys

import pytest

from serving import replay
from tests.serving import small_models


@pytest.fixture
def xla_stays_enabled(monkeypatch):
    monkeypatch.setattr(replay, "disable_xla", lambda folder: None)  # it could not be enabled again in this process


@pytest.mark.long
def test_the_script_needs_none_of_our_code(models, tmp_path):
    folder = shutil.copytree(models / "upper" / "1", tmp_path / "1")
    script = shutil.copy(replay.__file__, tmp_path / "replay.py")
    command = [sys.executable, "-I", script, str(folder)]
    process = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (process.returncode, process.stdout) == (0, "1\n"), process.stderr
    small_models.write_warm_up(folder, b"\xff\xff")
    process = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert process.returncode == 1 and process.stderr.splitlines()[-1].startswith("DecodeError: ")


def test_a_request_without_a_signature_name_is_for_the_default(tmp_path, capsys, xla_stays_enabled):
    replay.main(small_models.save(tmp_path, "upper", 1, warm_up_signature=""))
    assert capsys.readouterr().out == "1\n"


def test_a_request_for_a_missing_signature_is_an_error(tmp_path, xla_stays_enabled):
    with pytest.raises(ValueError, match="the signature other, which does not exist"):
        replay.main(small_models.save(tmp_path, "upper", 1, warm_up_signature="other"))


def test_a_model_without_requests_has_none(models, tmp_path, capsys, xla_stays_enabled):
    folder = shutil.copytree(models / "upper" / "1", tmp_path / "1")
    (folder / small_models.WARM_UP).unlink()
    replay.main(folder)
    assert capsys.readouterr().out == "0\n"


def test_a_folder_without_the_library_leaves_xla_as_it_is(tmp_path):
    (tmp_path / "libtensorflow_cc.so.2").write_bytes(b"not a library")
    assert replay.disable_xla(tmp_path) is None
