"""Shards of transfer: what is written is what a training in memory would read."""

import collections

import numpy as np
import pytest

from pipelines.data import sample_reviews
from pipelines.runs.prepare import prepare
from pipelines.support.errors import UserError
from pipelines.text.normalization import Cutter
from pipelines.transfer import shards, task
from pipelines.transfer.config import TransferConfig
from pipelines.transfer.data import load


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """(config of a training in memory, the same with prepared data)."""
    folder = tmp_path_factory.mktemp("made")
    texts, labels, films, _ = sample_reviews.generate(300)
    rows = zip(texts, labels, films, strict=True)
    path = folder / "a.csv"
    path.write_text(
        "text,label,url\n" + "".join(f'"{text} \N{SNOWMAN}",{label},{film}\n' for text, label, film in rows)
    )
    config = TransferConfig(data=str(path), encoder="any", max_bytes=101, batch_size=16).resolve()
    prepare("transfer", config, folder / "prepared")
    return config, TransferConfig(data=str(folder / "prepared"), encoder="any", batch_size=16).resolve()


def rows_of(batches):
    return collections.Counter(
        row for texts, labels in batches for row in zip(texts.numpy(), labels.numpy().tolist(), strict=True)
    )


def test_an_epoch_has_the_rows_of_a_training_in_memory(made):
    in_memory, sharded = (load(config) for config in made)
    expected = rows_of(task._batches(made[0], in_memory.train, np.arange(len(in_memory.train)), Cutter(101)))
    assert rows_of(shards.batches(made[1], sharded.sharded, 0, 0)) == expected
    assert max(len(text) for text, _ in expected) <= 101
    assert sharded.classes == in_memory.classes and len(sharded.train) == len(in_memory.train)
    assert sharded.valid.texts.tolist() == in_memory.valid.texts.tolist()


def test_texts_of_similar_length_are_in_one_batch(made):
    batches = [texts.numpy() for texts, _ in shards.batches(made[1], load(made[1]).sharded, 0, 0)]
    spread = np.mean([np.std([len(text) for text in batch]) for batch in batches])
    assert spread < np.std([len(text) for batch in batches for text in batch])


def test_the_settings_are_those_of_the_preparation(made):
    assert made[1].max_bytes == 101
    with pytest.raises(UserError, match="--max-labels 5: it must be 0 with prepared data"):
        TransferConfig(data=made[1].data, encoder="any", max_labels=5).resolve().check()
    with pytest.raises(UserError, match="--folds has no effect here: the validation texts of prepared data are fixed"):
        TransferConfig(data=made[1].data, encoder="any", folds=3).resolve().check()
    with pytest.raises(UserError, match="--max-bytes 200: .* was prepared with 101"):
        TransferConfig(data=made[1].data, encoder="any", max_bytes=200).resolve()
