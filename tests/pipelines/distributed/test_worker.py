"""What several workers cannot train."""

import pytest

from pipelines.classification.config import ClassificationConfig
from pipelines.distributed import worker
from pipelines.language_model.config import LanguageModelConfig
from pipelines.support.errors import UserError
from pipelines.transfer.config import TransferConfig


@pytest.mark.parametrize(
    "config, message",
    [
        (LanguageModelConfig(batch_size=3), r"4 workers are more than the rows of a batch: raise --batch-size 3"),
        (LanguageModelConfig(model="ngram"), "--model ngram"),
        (ClassificationConfig(model="linear"), "--model linear is computed.* or give another model"),
        (ClassificationConfig(folds=5), "--folds"),
        (TransferConfig(recipe=True), "--recipe"),
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
