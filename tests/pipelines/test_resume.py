"""Killed at any step, the same command ends with the same bits: with real processes and a real SIGKILL."""

import functools
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from pipelines.data import sample_pairs, sample_reviews
from tests.layers import hub_modules

ROOT = Path(__file__).resolve().parents[2]

# Runs main.py and kills itself with SIGKILL: after so many training steps, or in the middle of writing a checkpoint.
DRIVER = """
import os, signal, sys
import main
from pipelines import quiet
quiet.import_tensorflow()
from pipelines import checkpoints, training

training.restore_best = lambda *arguments: sys.exit(0)  # what is behind training has tests of its own
kind, count = sys.argv[1], int(sys.argv[2])

def die():
    os.kill(os.getpid(), signal.SIGKILL)

if kind == "step":
    steps = 0
    original = training._Saver.on_train_batch_end
    def on_train_batch_end(self, *arguments, **keywords):
        global steps
        original(self, *arguments, **keywords)
        steps += 1
        if steps == count:
            die()
    training._Saver.on_train_batch_end = on_train_batch_end
elif kind == "write":
    writes = 0
    def savez(file, **arrays):
        global writes
        writes += 1
        if writes == count:
            file.write(b"half a checkpoint")
            file.flush()
            die()
        return original_savez(file, **arrays)
    original_savez = checkpoints.np.savez
    checkpoints.np.savez = savez
sys.exit(main.main(sys.argv[3:]))
"""
ROWS = 300
EPOCHS = 3


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    texts, labels, films, _ = sample_reviews.generate(ROWS)
    path = tmp_path_factory.mktemp("data") / "reviews.csv"
    path.write_text("text,label,url\n" + "".join(f'"{t}",{y},{g}\n' for t, y, g in zip(texts, labels, films, strict=True)))
    pairs = zip(*sample_pairs.generate(ROWS), strict=True)
    (path.parent / "pairs.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    hub_modules.save_bert(path.parent / "bert", dropout=0.2)
    hub_modules.save_preprocessor(path.parent / "preprocess")
    return path


def command(data, folder, model):
    if model == "char-lm":
        flags = f"--epochs {EPOCHS} --batch-size 32 --window 32 --hidden-size 16 --layers 2 --dropout 0.2 --checkpoint-every 4"
        flags += " --schedule plateau"
        return [
            "train", "char-lm", "--data", str(data), "--run", "r", "--runs", str(folder / "runs"),
            "--saved-models", str(folder / "saved"), *flags.split(),
        ]  # fmt: skip
    if model == "nmt":
        flags = f"--model single-rnn --epochs {EPOCHS} --batch-tokens 500 --hidden-size 16 --layers 1 --vocabulary-size 150 --checkpoint-every 4"
        return [
            "train", "nmt", "--data", str(data.parent / "pairs.tsv"), "--run", "r", "--runs", str(folder / "runs"),
            "--saved-models", str(folder / "saved"), *flags.split(),
        ]  # fmt: skip
    if model == "transfer":
        modules = ["--encoder", str(data.parent / "bert"), "--preprocessor", str(data.parent / "preprocess")]
        flags = "--head-epochs 1 --top-epochs 1 --all-epochs 1 --batch-size 16 --checkpoint-every 4"
        return [
            "train", "transfer", "--data", str(data), *modules, "--run", "r", "--runs", str(folder / "runs"),
            "--saved-models", str(folder / "saved"), *flags.split(),
        ]  # fmt: skip
    flags = f"--model {model} --epochs {EPOCHS} --batch-size 16 --embedding-size 8 --vocabulary-size 200 --checkpoint-every 4"
    flags += " --hidden-size 8 --max-tokens 40 --encoder-tokens 20 --ngrams 500 --span-rate 0.5"
    return [
        "train", "sentiment", "--data", str(data), "--run", "r", "--runs", str(folder / "runs"),
        "--saved-models", str(folder / "saved"), *flags.split(),
    ]  # fmt: skip


def start(data, folder, model, kind="never", count=0):
    arguments = [sys.executable, "-c", DRIVER, kind, str(count), *command(data, folder, model)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(arguments, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process):
    _, errors = process.communicate(timeout=200)
    return process.returncode, errors


@pytest.fixture(scope="module")
def undisturbed(data, tmp_path_factory):
    @functools.cache
    def run(model):
        folder = tmp_path_factory.mktemp("undisturbed")
        code, errors = finish(start(data, folder, model))
        assert code == 0, errors
        return outcome(folder)

    return run


def outcome(folder):
    (run,) = folder.glob("runs/*/r")
    arrays = {}
    for name in ("last", "best"):
        with np.load(run / "checkpoints" / f"{name}.npz") as saved:
            arrays |= {f"{name}/{key}": saved[key] for key in saved.files if key != "position"}
    return arrays, (run / "metrics.csv").read_text()


def assert_equal_outcomes(first, second):
    assert first[1] == second[1]
    assert first[0].keys() == second[0].keys()
    for name, array in first[0].items():
        assert array.dtype == second[0][name].dtype
        assert array.tobytes() == second[0][name].tobytes(), name


# Killed before its first checkpoint is whole, a run begins anew. That checkpoint is of step 4, and `write` counts the checkpoints; a transfer whose
# module draws by itself has its first at the end of the first epoch, step 17 of 51.
@pytest.mark.parametrize(("model", "kind", "last", "first_saved"), [("char-lm", "step", 25, 4), ("nmt", "write", 4, 2), ("transfer", "step", 50, 18)])
@pytest.mark.parametrize("early", [False, True])
def test_killed_at_random_it_ends_with_the_same_bits(data, undisturbed, tmp_path, model, kind, last, first_saved, early):
    expected = undisturbed(model)
    count = random.randint(1, first_saved - 1) if early else random.randint(first_saved, last)
    print("killed at", kind, count)  # pytest shows it if the test fails
    code, errors = finish(start(data, tmp_path, model, kind, count))
    assert code == -signal.SIGKILL, errors
    code, errors = finish(start(data, tmp_path, model))
    assert code == 0, errors
    assert ("going on at epoch" in errors) != early
    assert_equal_outcomes(outcome(tmp_path), expected)
    assert not list((tmp_path / "runs").rglob("*.part"))


def test_control_c_saves_says_how_to_go_on_and_loses_nothing(data, undisturbed, tmp_path):
    model = "best"
    expected = undisturbed(model)
    process = start(data, tmp_path, model)
    deadline = time.monotonic() + 120
    while not (tmp_path / "runs" / "sentiment" / "r" / "checkpoints" / "last.npz").exists():
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    code, errors = finish(process)
    assert code == 130, errors
    assert "The same command goes on" in errors
    assert "Traceback" not in errors
    code, errors = finish(start(data, tmp_path, model))
    assert code == 0, errors
    assert_equal_outcomes(outcome(tmp_path), expected)
