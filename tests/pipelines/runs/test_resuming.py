"""Runs that were interrupted, killed, or lost their export."""

import numpy as np
import pytest

from pipelines.export import saved_model
from pipelines.export.exported import files_of, versions
from pipelines.runs import run, run_folder
from tests.pipelines.runs.conftest import train


def test_a_finished_run_is_not_repeated(small, tmp_path, capsys):
    first = train(tmp_path)
    small.calls.clear()
    assert train(tmp_path) == first
    assert small.calls == [] and "is finished" in capsys.readouterr().err


def test_an_export_that_was_deleted_is_made_again_without_training(small, tmp_path):
    first = train(tmp_path)
    (tmp_path / "saved" / "small-sample" / "1").rename(tmp_path / "moved")
    small.calls.clear()
    second = train(tmp_path)
    assert second.export == first.export and second.epochs == first.epochs
    assert "make_tokenizer" not in small.calls and small.calls.count("batches") == 1  # that one creates the variables


def test_an_export_that_was_cut_off_is_made_again_without_training(small, tmp_path, capsys):
    first = train(tmp_path)
    (tmp_path / "saved" / "small-sample" / "1" / "saved_model.pb").write_bytes(b"")
    small.calls.clear()
    second = train(tmp_path)
    assert "1 is not the export of this run any more (saved_model.pb has 0 bytes" in capsys.readouterr().err
    assert (second.model, second.epochs) == ("small-sample/2", first.epochs)
    assert small.calls.count("batches") == 1  # that one creates the variables
    assert train(tmp_path) == second


class Killed(BaseException):
    """Stands for SIGKILL: nothing catches it."""


def kill_at(monkeypatch, module, name, after):
    """Ends the process before or after the first call of `module.name`."""
    real = getattr(module, name)

    def call(*arguments, **keywords):
        if after:
            real(*arguments, **keywords)
        raise Killed

    monkeypatch.setattr(module, name, call)


@pytest.mark.parametrize("name", ["sync", "sync_tree"])
def test_a_run_that_is_killed_around_the_renaming_of_its_export_makes_one_version(small, tmp_path, monkeypatch, name):
    """`sync` comes right after the renaming, `sync_tree` before it."""
    expected = train(tmp_path / "whole")
    with monkeypatch.context() as patch:
        kill_at(patch, saved_model, name, after=False)
        with pytest.raises(Killed):
            train(tmp_path / "killed")
    exports = tmp_path / "killed" / "saved" / "small-sample"
    assert versions(exports) == ([1] if name == "sync" else [])
    result = train(tmp_path / "killed")
    assert versions(exports) == [1] and result.model == "small-sample/1"
    assert (result.epochs, result.scores) == (expected.epochs, expected.scores)
    assert [path.name for path in exports.iterdir()] == ["1"]
    assert train(tmp_path / "killed") == result


def test_a_run_that_is_killed_before_its_result_is_written_makes_one_version(small, tmp_path, monkeypatch, capsys):
    with monkeypatch.context() as patch:
        kill_at(patch, run_folder, "write_result", after=False)
        with pytest.raises(Killed):
            train(tmp_path)
    capsys.readouterr()
    synced = []
    monkeypatch.setattr(run, "sync", synced.append)
    result = train(tmp_path)
    assert synced == [tmp_path / "saved" / "small-sample"]
    assert "small-sample/1 is the export of this run already" in capsys.readouterr().err
    assert versions(tmp_path / "saved" / "small-sample") == [1] and result.model == "small-sample/1"
    assert result.export_files == files_of(tmp_path / "saved" / "small-sample" / "1")


@pytest.mark.long
def test_an_interrupted_run_continues_and_ends_with_the_same_weights(small, tmp_path):
    expected = train(tmp_path / "whole")
    small.interrupt_at = 1
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "stopped")
    small.interrupt_at = None
    small.calls.clear()
    result = train(tmp_path / "stopped")
    assert "make_tokenizer" not in small.calls
    assert result.epochs == expected.epochs
    weights = []
    for folder in ("whole", "stopped"):
        (file,) = (tmp_path / folder).rglob("best.npz")
        with np.load(file) as saved:
            weights.append(saved["v00000"].tobytes())
    assert weights[0] == weights[1]
