"""The data of a tagger: tagged sentences. Imports no TensorFlow, so that what it refuses is refused at once."""

import dataclasses

from pipelines.data import tagged_sentences, tagged_splits
from pipelines.data.tagged_sentences import TaggedSentences
from pipelines.support.errors import UserError
from pipelines.tagging.config import TaggingConfig


@dataclasses.dataclass(frozen=True)
class Splits:
    """The sentences of a run.

    Attributes:
        train, valid, test: sentences; test is None if the data has none.
        tags: the tags of the training sentences, in alphabetical order.
        spans: whether the tags mark spans (B-, I-, O).
        notes: what was left out or repaired, and why: reason -> count.
    """

    train: TaggedSentences
    valid: TaggedSentences
    test: TaggedSentences | None
    tags: tuple[str, ...]
    spans: bool
    notes: dict[str, int]


def load(config: TaggingConfig) -> Splits:
    """Reads the sentences; without validation sentences, splits some off.

    Raises:
        UserError: the data cannot be read, or has only one tag.
    """
    data = tagged_sentences.read(config.data, config.column)
    own = tagged_sentences.read(config.valid, config.column) if config.valid else {}
    valid = next((own[name] for name in ("valid", "train", "test") if name in own), None)
    train, valid, test, notes = tagged_splits.split(data, valid, config.valid_fraction)
    tags = tuple(sorted({tag for tags in train.tags for tag in tags}))
    if len(tags) < 2:
        raise UserError(f"{config.data}: all tokens have the tag {tags[0]!r}; at least two tags are needed")
    return Splits(train, valid, test, tags, tagged_sentences.is_spans(tags), notes)
