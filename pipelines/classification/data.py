"""The data of a classifier: labelled texts. Imports no TensorFlow, so that what it refuses is refused at once."""

from pipelines.classification import forecast, negations
from pipelines.classification.config import ClassificationConfig
from pipelines.classification.sizes import Sizes
from pipelines.labelled import sharded
from pipelines.labelled.labelled_splits import LabelledSplits
from pipelines.labelled.sharded import survey  # noqa: F401 (the first pass of `prepare`)
from pipelines.labelled.splits import read_and_split, with_generated
from pipelines.support import console


def load(config: ClassificationConfig) -> LabelledSplits:
    """Reads, splits and completes the texts.

    Raises:
        UserError: the errors of `read_and_split`; or prepared data is damaged.
    """
    found = config.prepared()
    if found:
        return sharded.load(found, config.batch_size)
    splits = complete(config, read_and_split(config, config.polarity))
    for line in forecast.remarks(config, splits):
        console.say(line)
    return splits


def complete(config: ClassificationConfig, splits: LabelledSplits) -> LabelledSplits:
    """Checks the linear model of the run to continue from, and adds generated sentences where they are requested.

    Raises:
        UserError: an older version trained it.
    """
    if config.start_weights and config.max_ngrams:
        Sizes.of_run(config)
    if config.num_negations and splits.classes == ("negative", "positive"):
        generated = negations.sentences(splits.train, config.num_negations, config.seed)
        splits.train = with_generated(splits.train, generated)
        splits.notes['added to training, generated sentences with and without "not"'] = len(generated)
    return splits
