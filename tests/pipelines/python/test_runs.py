import gc
import logging
import random

import keras
import numpy as np
import pytest
from tensorflow.python.framework import config

from pipelines.data import labelled_texts
from pipelines.python import runs
from pipelines.python.errors import UserError


def test_a_run_without_a_name_is_temporary():
    place = runs.Place("classification", None)
    with place.opened() as folder:
        (folder / "checkpoints").mkdir()
    assert place.temporary and folder.is_dir()
    del place
    gc.collect()
    assert not folder.exists()


def test_a_named_run_is_in_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    place = runs.Place("classification", "first")
    assert not place.temporary
    with place.opened() as folder:
        assert folder == tmp_path / "runs" / "classification" / "first"
        (folder / "checkpoints").mkdir()
    assert folder.is_dir()


def test_a_refused_run_leaves_no_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    place = runs.Place("classification", "first")
    with pytest.raises(UserError), place.opened() as folder:
        (folder / "data.jsonl").touch()
        (folder / "config.json").touch()
        raise UserError("one class")
    assert not folder.exists()


def test_texts_come_back_from_the_files_as_they_were(tmp_path):
    texts = ['a "quote", and\ttabs', "two\nlines", "\N{GRINNING FACE}", " spaces ", "=1+1", "NaN"]
    labels = ["x", "y", "z", "1", "NA", "true"]
    path = runs.write_table(tmp_path / "data.jsonl", {"text": texts, "label": labels})
    rows = labelled_texts.read(path)["train"]
    assert (rows.texts.tolist(), rows.labels.tolist(), rows.groups, rows.dropped) == (texts, labels, None, {})


def test_lone_surrogates_are_replaced(tmp_path):
    runs.write_table(tmp_path / "data.jsonl", {"text": ["a\ud800b"]})
    assert (tmp_path / "data.jsonl").read_text(encoding="utf-8") == '{"text": "a?b"}\n'


def test_a_line_stays_one_line(tmp_path):
    runs.write_lines(tmp_path / "lines.txt", ["one\ntwo\rthree", "four"])
    assert (tmp_path / "lines.txt").read_text(encoding="utf-8") == "one two three\nfour\n"


def test_texts_follow_one_another(tmp_path):
    runs.write_text(tmp_path / "text.txt", ["one\ntwo", "three"])
    assert (tmp_path / "text.txt").read_text(encoding="utf-8") == "one\ntwo\nthree\n"


def test_the_process_is_left_as_it_was():
    random.seed(3)
    np.random.seed(3)
    expected = random.random(), np.random.rand()
    random.seed(3)
    np.random.seed(3)
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        with runs.undisturbed():
            keras.utils.set_random_seed(1)
            config.enable_op_determinism()
            keras.config.set_dtype_policy("float32")
        assert (random.random(), np.random.rand()) == expected
        assert not config.is_op_determinism_enabled()
        assert keras.config.dtype_policy().name == "mixed_bfloat16"
    finally:
        keras.config.set_dtype_policy("float32")


def test_only_errors_of_tensorflow_are_logged_in_a_training(capsys):
    log = logging.getLogger("tensorflow")
    with runs.undisturbed():
        assert [bool(log.filter(record_of(level))) for level in (logging.WARNING, logging.ERROR)] == [False, True]
    assert log.filter(record_of(logging.WARNING))


def record_of(level):
    return logging.LogRecord("tensorflow", level, "file", 1, "message", None, None)


def test_another_backend_of_keras_is_refused(monkeypatch):
    monkeypatch.setattr(keras.config, "backend", lambda: "jax")
    with pytest.raises(UserError, match="Keras runs on jax"), runs.undisturbed():
        pass
