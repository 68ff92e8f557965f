"""What several workers cannot train."""

import json
import socket

import pytest

from pipelines.classification.config import ClassificationConfig
from pipelines.distributed import worker
from pipelines.language_model.config import LanguageModelConfig
from pipelines.support.errors import UserError
from pipelines.transfer.config import TransferConfig
from tests.pipelines.distributed import small_data, worker_processes


@pytest.mark.parametrize(
    "config, message",
    [
        (LanguageModelConfig(batch_size=3), r"4 workers are more than the rows of a batch: raise --batch-size 3"),
        (LanguageModelConfig(model="ngram"), "--model ngram"),
        (ClassificationConfig(model="linear"), "--model linear is computed.* or give another model"),
        (ClassificationConfig(folds=5), "--folds"),
        (TransferConfig(recipe="auto"), "--recipe"),
        (TransferConfig(solve_head=True), "--solve-head"),
        (ClassificationConfig(data="spam.csv", model="bag", weight_column="times"), "--weight-column"),
    ],
)
def test_what_workers_cannot_train(config, message):
    with pytest.raises(UserError, match=message):
        worker.check(config.resolve(), 4)


def test_one_worker_more_than_rows_is_refused_and_as_many_are_not():
    config = LanguageModelConfig(batch_size=3).resolve()
    worker.check(config, 3)
    with pytest.raises(UserError, match="4 workers"):
        worker.check(config, 4)


@pytest.mark.long
@pytest.mark.parametrize("role", ["chief", "worker"])
def test_an_address_in_use_is_one_line(tmp_path, role):
    settings = {"data": str(small_data.write_text(tmp_path / "text.txt"))}
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        cluster = {role: [f"127.0.0.1:{port}"], "worker" if role == "chief" else "chief": ["127.0.0.1:19999"]}
        environment = worker_processes.environments(1)[0]
        environment["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": {"type": role, "index": 0}})
        training = {"run": ("language-model", settings)}
        process = worker_processes.start_one(tmp_path, training, environment)
        [(status, text)] = worker_processes.end([process])
    assert status == 2, text
    assert f"worker {int(role == 'worker')} cannot listen at 127.0.0.1:{port}, its address in TF_CONFIG" in text
    assert "Traceback" not in text
