"""The data of transfer: labelled texts. Imports no TensorFlow, so that what it refuses is refused at once."""

import numpy as np

from pipelines.labelled import sharded
from pipelines.labelled.labelled_splits import Labelled, LabelledSplits
from pipelines.labelled.sharded import survey  # noqa: F401 (the first pass of `prepare`)
from pipelines.labelled.splits import read_and_split
from pipelines.settings.fields import require
from pipelines.transfer.config import TransferConfig


def load(config: TransferConfig) -> LabelledSplits:
    """Reads, splits and completes the texts.

    Raises:
        UserError: the errors of `read_and_split` and `complete`; or prepared data is damaged.
    """
    found = config.prepared()
    if found:
        return sharded.load(found, config.batch_size)
    return complete(config, read_and_split(config, config.polarity))


def complete(config: TransferConfig, splits: LabelledSplits) -> LabelledSplits:
    """Leaves at most `max_labels` texts to train on, if it is given.

    Raises:
        UserError: `max_labels` is below the number of classes.
    """
    if config.max_labels:
        minimum = len(splits.classes)
        require(
            config.max_labels >= minimum,
            "max_labels",
            config.max_labels,
            f"0, for all, or at least {minimum}, one of each class",
        )
        rows = balanced_rows(splits.train.labels, config.max_labels, config.seed)
        splits.train = Labelled(splits.train.texts[rows], splits.train.labels[rows])
    return splits


def balanced_rows(labels: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Chooses `count` random rows with, where possible, the same number of each class.

    Rows of each class are taken in turn as long as it has any, so that a larger `count` includes the rows of a smaller
    one.

    Returns:
        Indices of the rows, int [count].
    """
    order = np.random.default_rng(seed).permutation(len(labels))
    turn = np.zeros(len(labels), int)
    for label in np.unique(labels):
        rows = order[labels[order] == label]
        turn[rows] = np.arange(len(rows))
    return order[np.argsort(turn[order], kind="stable")][:count]
