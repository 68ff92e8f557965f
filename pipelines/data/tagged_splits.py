"""Splits tagged sentences into training and validation: whole documents, or sentences by a hash of their text."""

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from pipelines.data.splits import comparable, seen_in, validation_rows
from pipelines.data.tagged_sentences import TaggedSentences
from pipelines.support.errors import UserError

MIN_DOCUMENTS = 10  # with fewer of them, sentences are split off in place of documents
_MAX_TAGS = 10  # tags that a note names


def split(
    data: dict[str, TaggedSentences], valid: TaggedSentences | None, fraction: float
) -> tuple[TaggedSentences, TaggedSentences, TaggedSentences | None, dict[str, int]]:
    """Finds the validation sentences, or splits some off: whole documents, else groups of equal sentences.

    Validation sentences that are also in training stay in both, as is usual for treebanks: "Thanks!" is in many
    documents. The notes have their number.

    Args:
        data: split -> sentences, from `tagged_sentences.read`.
        valid: the user's own validation sentences; None takes those of `data`, or splits some off.
        fraction: of the training sentences to split off for validation, between 0 and 1.

    Returns:
        (training, validation, test sentences or None, note -> number of sentences, tokens or tags).

    Raises:
        UserError: there are no sentences to train on, or too few to split.
    """
    require_training(data)
    train, test = data["train"], data.get("test")
    notes = dict(train.dropped)
    valid = valid or data.get("valid")
    if valid is None:
        held_out = validation_rows(_groups(train), fraction)
        train, valid = train.take(~held_out), train.take(held_out)
    else:
        notes |= {f"in validation, {reason}": count for reason, count in valid.dropped.items()}
    repeated = int(seen_in(valid.texts, train.texts).sum())
    notes |= validation_notes(valid, repeated, {tag for tags in train.tags for tag in tags})
    return train, valid, test, notes


def require_training(splits: Iterable[str]) -> None:
    """Raises a UserError if "train" is not among the splits of the data."""
    if "train" not in splits:
        raise UserError(f"the data has no training sentences, only {' and '.join(splits)}: give files with --data")


def require_tags(name: str, tags: Sequence[str]) -> None:
    """Raises a UserError if the training sentences of the data `name` have only one tag."""
    if len(tags) < 2:
        raise UserError(f"{name}: all tokens have the tag {tags[0]!r}; at least two tags are needed")


def own_validation(splits: Iterable[str]) -> str:
    """Returns the split of --valid that has the validation sentences."""
    return next(name for name in ("valid", "train", "test") if name in splits)


def validation_notes(valid: TaggedSentences, repeated: int, training_tags: Collection[str]) -> dict[str, int]:
    """Returns what there is to know about the validation sentences: note -> number.

    Args:
        repeated: number of those that are also in training.
    """
    notes = {"sentences of validation that are also in training": repeated} if repeated else {}
    unseen = sorted({tag for tags in valid.tags for tag in tags} - set(training_tags))
    if unseen:
        names = ", ".join(unseen[:_MAX_TAGS]) + (", ..." if len(unseen) > _MAX_TAGS else "")
        notes[f"tags of validation that training does not have ({names})"] = len(unseen)
    return notes


def _groups(sentences: TaggedSentences) -> np.ndarray:
    """Returns a name of what stays together for each sentence: its document, or its text if there are few documents.

    The names are made of the texts, so that the split does not depend on the order of the sentences or documents.
    """
    keys = np.array([comparable(text) for text in sentences.texts], object)
    numbers, index = np.unique(sentences.documents, return_inverse=True)
    if len(numbers) < MIN_DOCUMENTS:
        return keys
    names: list[list[str]] = [[] for _ in numbers]
    for key, document in zip(keys, index):
        names[document].append(key)
    return np.array(["\n".join(name) for name in names], object)[index]
