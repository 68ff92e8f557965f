"""The data of a tagger: tagged sentences. Imports no TensorFlow, so that what it refuses is refused at once."""

import itertools

from pipelines.data import tagged_sentences, tagged_splits
from pipelines.runs import continuing
from pipelines.support import paths
from pipelines.tagging import sharded
from pipelines.tagging.config import TaggingConfig
from pipelines.tagging.splits import Splits
from pipelines.tagging.survey import survey  # noqa: F401 (the first pass of `prepare`)


def load(config: TaggingConfig) -> Splits:
    """Reads the sentences; without validation sentences, splits some off.

    Raises:
        UserError: the data cannot be read, or has only one tag; or prepared data is damaged.
    """
    found = config.prepared()
    if found:
        return sharded.load(found, config.batch_size)
    options = config.token_options()
    data = tagged_sentences.read(config.data, options)
    name = paths.shown(config.data)
    if "train" in data:
        different = (set(itertools.chain.from_iterable(rows)) for rows in (data["train"].tags, data["train"].tokens))
        tagged_splits.check_number_of_tags(name, *map(len, different))
    own = tagged_sentences.read(config.valid, options) if config.valid else {}
    valid = own[tagged_splits.own_validation(own)] if own else None
    train, valid, test, notes = tagged_splits.split(data, valid, config.valid_fraction)
    tags = tuple(sorted({tag for tags in train.tags for tag in tags}))
    tagged_splits.require_tags(name, tags)
    if config.start_weights:
        tags = continuing.joined_classes(config, tags, "tags")
    return Splits(train, valid, test, tags, tagged_sentences.is_spans(tags), notes)
