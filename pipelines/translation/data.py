"""The data of a translator: pairs of sentences. Imports no TensorFlow, so that what it refuses is refused at once."""

import dataclasses

from pipelines.data import pairs
from pipelines.data.pairs import Pairs
from pipelines.data.splits import seen_in, validation_rows
from pipelines.support.errors import UserError
from pipelines.translation.config import TranslationConfig


@dataclasses.dataclass(frozen=True)
class Splits:
    """The pairs of a run.

    Attributes:
        train, valid, test: pairs; test is None if the data has none.
        pair: languages such as "en-de"; None if unknown.
        notes: what was left out, and why: reason -> pairs.
    """

    train: Pairs
    valid: Pairs
    test: Pairs | None
    pair: str | None
    notes: dict[str, int]


def load(config: TranslationConfig) -> Splits:
    """Reads the pairs; without validation pairs, splits some off by source sentence.

    Training pairs whose source sentence is in validation are left out.

    Raises:
        UserError: the data cannot be read, or no pair is left to train or to validate on.
    """
    pair = pairs.language_pair(config.data, config.target, config.pair)
    parts = pairs.read(config.data, config.target, config.pair)
    if "train" not in parts:
        raise UserError(f"{config.data} has no {' and '.join(f'train.{language}' for language in pair.split('-'))}")
    train, valid = parts["train"], parts.get("valid")
    notes = {f"left out, {reason}": rows for reason, rows in train.dropped.items()}
    if config.valid:
        own = pairs.read(config.valid, config.valid_target, pair)
        valid = own.get("valid") or own.get("train") or own["test"]
    if valid is None:
        held_out = validation_rows(train.source, config.valid_fraction)
        train, valid = train.take(~held_out), train.take(held_out)
    repeated = seen_in(train.source, valid.source)
    if repeated.any():
        notes["left out of training, the same source sentence is in validation"] = int(repeated.sum())
        train = train.take(~repeated)
    if not len(train) or not len(valid):
        purpose = "validate" if len(train) else "train"
        raise UserError(f"{config.data}: no pairs are left to {purpose} on: give more pairs")
    return Splits(train, valid, parts.get("test"), pair, notes)
