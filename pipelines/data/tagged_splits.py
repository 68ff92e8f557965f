"""Splits tagged sentences into training and validation: whole documents, or sentences by a hash of their text."""

import collections
from collections.abc import Collection, Iterable, Sequence

import numpy as np

from pipelines.data.splits import comparable, seen_in, validation_rows
from pipelines.data.tagged_sentences import TaggedSentences
from pipelines.support.errors import UserError
from pipelines.support.numbers import counted, listed

MIN_DOCUMENTS = 10  # with fewer of them, sentences are split off in place of documents
MAX_TAGS = 2000  # a CRF's memory is that of tags x tags for each token of a batch
FROM_TEMPLATES = (
    "sentences of validation that are a training sentence with other words in its spans: the scores say little of "
    "sentences that are not"
)
_MIN_FROM_TEMPLATES = 0.5  # of the sentences of validation
_MIN_WORDS_OF_A_TEMPLATE = 3
_MIN_DOUBTFUL = 10  # fewer tags may be more than the tokens of a tiny file


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
    notes |= notes_to_score(valid, test, repeated, {tag for tags in train.tags for tag in tags})
    notes |= _note_on_templates(train, valid)
    return train, valid, test, notes


def require_training(splits: Iterable[str]) -> None:
    """Raises a UserError if "train" is not among the splits of the data."""
    if "train" not in splits:
        raise UserError(f"the data has no training sentences, only {' and '.join(splits)}: give files with --data")


def require_tags(name: str, tags: Sequence[str]) -> None:
    """Raises a UserError if the training sentences of the data `name` have only one tag."""
    if len(tags) < 2:
        raise UserError(f"{name}: all tokens have the tag {tags[0]!r}; at least two tags are needed")


def check_number_of_tags(name: str, num_tags: int, num_words: int) -> None:
    """Checks the data `name` before it is split.

    Args:
        num_tags, num_words: numbers of different tags and tokens.

    Raises:
        UserError: there are too many tags, or more of them than different tokens.
    """
    if num_tags > max(num_words, _MIN_DOUBTFUL):
        raise UserError(
            f"{name}: {num_tags:,} different tags, but {counted(num_words, 'different token')}: is the tag the first "
            "column? Then give --token-column 2 --column 1"
        )
    if num_tags > MAX_TAGS:
        raise UserError(
            f"{name}: {num_tags:,} different tags, and {MAX_TAGS:,} are the most: name the right column with --column"
        )


def own_validation(splits: Iterable[str]) -> str:
    """Returns the split of --valid that has the validation sentences."""
    return next(name for name in ("valid", "train", "test") if name in splits)


def notes_to_score(
    valid: TaggedSentences, test: TaggedSentences | None, repeated: int, training_tags: Collection[str]
) -> dict[str, int]:
    """Returns what there is to know about the sentences to score on: note -> number of sentences or tokens.

    Args:
        repeated: number of validation sentences that are also in training.
    """
    notes = {"sentences of validation that are also in training": repeated} if repeated else {}
    for name, part in {"validation": valid, "test": test}.items():
        unknown = unknown_tags(part, training_tags) if part else {}
        if unknown:
            notes[f"tokens of {name} with tags that training does not have ({listed(unknown)})"] = sum(unknown.values())
    return notes


def unknown_tags(sentences: TaggedSentences, known: Collection[str]) -> dict[str, int]:
    """Returns tag -> number of tokens for the tags that are not among `known`, in alphabetical order."""
    known = frozenset(known)
    found = collections.Counter(tag for tags in sentences.tags for tag in tags if tag not in known)
    return dict(sorted(found.items()))


def _note_on_templates(train: TaggedSentences, valid: TaggedSentences) -> dict[str, int]:
    """Returns the note on validation sentences that are training sentences with other words in their spans.

    They come from templates. The note is for data where at least half of the sentences are such.
    """
    known = {_template(*sentence) for sentence in zip(train.tokens, train.tags, strict=True)}
    templates = [_template(*sentence) for sentence in zip(valid.tokens, valid.tags, strict=True)]
    found = sum(template is not None and template in known for template in templates)
    return {FROM_TEMPLATES: found} if found and found >= _MIN_FROM_TEMPLATES * len(templates) else {}


def _template(tokens: Sequence[str], tags: Sequence[str]) -> tuple[str, ...] | None:
    """Returns the words of a sentence with labels in place of its spans; None without a span or with few other words.

    Args:
        tags: in IOB2 where they mark spans.
    """
    num_spans = sum(tag.startswith("B-") for tag in tags)
    if not num_spans or tags.count("O") < _MIN_WORDS_OF_A_TEMPLATE:
        return None
    words = zip(tokens, tags, strict=True)
    return tuple(token.casefold() if tag == "O" else tag for token, tag in words if not tag.startswith("I-"))


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
