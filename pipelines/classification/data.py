"""The data of a classifier: labelled texts. Imports no TensorFlow, so that what it refuses is refused at once."""

from pipelines.classification import negations
from pipelines.classification.config import ClassificationConfig
from pipelines.labelled.splits import LabelledSplits, read_and_split, with_generated


def load(config: ClassificationConfig) -> LabelledSplits:
    """Reads, splits and completes the texts.

    Raises:
        UserError: the errors of `read_and_split`.
    """
    return complete(config, read_and_split(config, config.polarity))


def complete(config: ClassificationConfig, splits: LabelledSplits) -> LabelledSplits:
    """Adds generated sentences to the training texts where they are requested."""
    if config.num_negations and splits.classes == ("negative", "positive"):
        generated = negations.sentences(splits.train, config.num_negations, config.seed)
        splits.train = with_generated(splits.train, generated)
        splits.notes['added to training, generated sentences with and without "not"'] = len(generated)
    return splits
