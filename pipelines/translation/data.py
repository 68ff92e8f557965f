"""The data of a translator: pairs of sentences. Imports no TensorFlow, so that what it refuses is refused at once."""

import dataclasses
from typing import NamedTuple

from pipelines.data import pairs
from pipelines.data.pairs import Chunks, Pairs
from pipelines.data.prepared import Prepared
from pipelines.data.splits import seen_in, validation_rows
from pipelines.shards.held_out import HeldOut
from pipelines.support.errors import UserError
from pipelines.translation import survey as surveys
from pipelines.translation.config import TranslationConfig
from pipelines.translation.survey import Survey


@dataclasses.dataclass(frozen=True)
class ShardedPairs:
    """Training pairs in the shards of prepared data, as ids.

    Attributes:
        data: the prepared data.
        too_long: number of pairs that are not in the shards because they are too long.
    """

    data: Prepared
    too_long: int

    def __len__(self) -> int:
        return self.data.rows["train"]


@dataclasses.dataclass(frozen=True)
class Splits:
    """The pairs of a run.

    Attributes:
        train: in memory, or in the shards of prepared data.
        valid, test: pairs; test is None if the data has none.
        pair: languages such as "en-de"; None if unknown.
        notes: what was left out, and why: reason -> pairs.
    """

    train: Pairs | ShardedPairs
    valid: Pairs
    test: Pairs | None
    pair: str | None
    notes: dict[str, int]


def load(config: TranslationConfig) -> Splits:
    """Reads the pairs; without validation pairs, splits some off by source sentence.

    Training pairs whose source sentence is in validation are left out.

    Raises:
        UserError: the data cannot be read, or no pair is left to train or to validate on; or prepared data is damaged.
    """
    found = config.prepared()
    if found:
        return _prepared(config, found)
    chunks, pair = find(config)
    parts = {name: pairs.joined(part()) for name, part in chunks.items()}
    train, valid = parts["train"], parts.get("valid")
    notes = {f"left out, {reason}": rows for reason, rows in train.dropped.items()}
    if valid is None:
        held_out = validation_rows(train.source, config.valid_fraction)
        train, valid = train.take(~held_out), train.take(held_out)
    repeated = seen_in(train.source, valid.source)
    if repeated.any():
        notes[surveys.REPEATED] = int(repeated.sum())
        train = train.take(~repeated)
    require_pairs(config, len(train), len(valid))
    return Splits(train, valid, parts.get("test"), pair, notes)


def require_pairs(config: TranslationConfig, num_train: int, num_valid: int) -> None:
    """Checks that there are pairs to train and to validate on.

    Raises:
        UserError: there are none.
    """
    if not num_train or not num_valid:
        purpose = "validate" if num_train else "train"
        raise UserError(f"{config.data}: no pairs are left to {purpose} on: give more pairs")


def too_long(max_tokens: int) -> str:
    """Returns the reason of pairs that are left out because they are too long."""
    return f"left out of training, more than {max_tokens} tokens"


class Surveyed(NamedTuple):
    """What is known after the first pass of `prepare`.

    Attributes:
        chunks: reads the pairs again.
        train: about the training pairs.
        own: split -> the pairs of splits that have files of their own, "valid" and "test".
        pair: languages such as "en-de"; None if unknown.
        notes: what was left out and why: reason -> number of pairs.
    """

    chunks: Chunks
    train: Survey
    own: dict[str, Pairs]
    pair: str | None
    notes: dict[str, int]


def survey(config: TranslationConfig) -> Surveyed:
    """Reads all pairs once, in chunks.

    Raises:
        UserError: the data cannot be read, or no pair is left to train on.
    """
    chunks, pair = find(config)
    own, others = {}, {}
    for name, split in (("valid", "validation"), ("test", "test")):
        if name in chunks:
            own[name], count = surveys.lowest(chunks[name]())
            others |= {surveys.too_many(split): count} if count else {}
    own_valid = HeldOut.of_texts(own["valid"].source) if "valid" in own else None
    found = surveys.survey(chunks["train"](), config.valid_fraction, config.seed, own_valid)
    require_pairs(config, len(found.sample), 1)
    notes = {f"left out, {reason}": count for reason, count in found.dropped.items()}
    return Surveyed(chunks["train"], found, own, pair, notes | others)


def find(config: TranslationConfig) -> tuple[dict[str, Chunks], str | None]:
    """Finds the pairs for training and, where they have files of their own, those of "valid" and "test".

    Returns:
        (split -> chunks, the languages).
    """
    options = config.pair_options()
    pair = pairs.language_pair(config.data, config.target, config.pair, options)
    parts = pairs.find(config.data, config.target, config.pair, options=options)
    if "train" not in parts:
        raise UserError(f"{config.data} has no {' and '.join(f'train.{language}' for language in pair.split('-'))}")
    if config.valid:
        own_options = pairs.usable_options(config.valid, config.valid_target, options)
        own = pairs.find(config.valid, config.valid_target, pair, options=own_options)
        parts["valid"] = own.get("valid") or own.get("train") or own["test"]
    return parts, pair


def _prepared(config: TranslationConfig, data: Prepared) -> Splits:
    """Returns the splits of prepared data; the training pairs stay in its shards, which are all checked."""
    data.check_files()
    notes = dict(data.notes)
    train = ShardedPairs(data, notes.pop(too_long(data.settings["max_tokens"]), 0))
    valid, test = (_pairs(data.read_rows(split)) for split in ("valid", "test"))
    return Splits(train, valid, test, config.pair, notes)


def _pairs(rows: list[dict] | None) -> Pairs | None:
    if rows is None:
        return None
    return Pairs.of([(row["source"], row["target"]) for row in rows])
