"""What workers refuse, and their role from TF_CONFIG."""

import json

import pytest

from pipelines.classification.config import ClassificationConfig
from pipelines.data.part import Part
from pipelines.distributed import tf_config, worker, workers
from pipelines.language_model.config import LanguageModelConfig
from pipelines.run import Destination
from pipelines.support.errors import UserError
from pipelines.transfer.config import TransferConfig


def environment(cluster, task):
    return {"TF_CONFIG": json.dumps({"cluster": cluster, "task": task})}


@pytest.mark.parametrize(
    "cluster, task, part",
    [
        ({"worker": ["a:1", "b:1"]}, {"type": "worker", "index": 1}, Part(1, 2)),
        ({"chief": ["c:1"], "worker": ["a:1", "b:1"]}, {"type": "worker", "index": 1}, Part(2, 3)),
        ({"chief": ["c:1"], "worker": ["a:1", "b:1"]}, {"type": "chief", "index": 0}, Part(0, 3)),
        ({"worker": ["a:1"]}, {"type": "worker", "index": 0}, Part()),
        ({}, {}, Part()),
    ],
)
def test_part_of_tf_config(cluster, task, part):
    assert tf_config.part(environment(cluster, task)) == part


def test_without_tf_config_there_is_one_worker():
    assert tf_config.part({}) == Part()


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "ps", "index": 0}}', '{"cluster": 3}']
    + ['{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 2}}'],
)
def test_a_wrong_tf_config_is_named(text):
    with pytest.raises(UserError, match="TF_CONFIG"):
        tf_config.part({"TF_CONFIG": text})


@pytest.mark.parametrize(
    "config, message",
    [
        (LanguageModelConfig(batch_size=3), r"4 workers are more than the rows of a batch: raise --batch-size 3"),
        (LanguageModelConfig(model="ngram"), "--model ngram"),
        (ClassificationConfig(folds=5), "--folds"),
        (TransferConfig(recipe=True), "--recipe"),
    ],
)
def test_what_workers_cannot_train(config, message):
    with pytest.raises(UserError, match=message):
        worker.check(config.resolve(), 4)


def test_the_number_of_workers_is_positive(tmp_path):
    with pytest.raises(UserError, match="--workers 0"):
        workers.train("language-model", LanguageModelConfig().resolve(), Destination(tmp_path, tmp_path), 0)


def test_the_board_keeps_the_first_end():
    board = workers.Board()
    board.say("a")
    board.say("b")
    assert board.take() == ["a", "b"]
    assert board.take() == []
    assert board.end() is None
    board.set_end("bug", "first")
    board.set_end("error", "second")
    assert board.end() == ("bug", "first")


def test_errors_of_ray_are_short():
    died = "The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: x"
    assert workers._last_line(RuntimeError(died)) == "The actor is dead because its worker process has died"
    assert workers._last_line(RuntimeError("Traceback:\n  line\nValueError: 3 is not 4\n")) == "ValueError: 3 is not 4"
    assert workers._last_line(RuntimeError()) == "RuntimeError"
