"""The data of an encoder: texts without labels. Imports no TensorFlow, so that what it refuses is refused at once."""

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path

from pipelines.data import corpora, folders, labelled_texts, tables, texts
from pipelines.data.splits import validation_rows
from pipelines.data.table_options import TableOptions
from pipelines.encoder.config import EncoderConfig
from pipelines.support.errors import UserError


@dataclasses.dataclass(frozen=True)
class Splits:
    """The texts for training and validation.

    Attributes:
        train, valid: functions that return an iterator over the texts.
        rows: split -> number of texts, or of characters.
        notes: what was left out of the data, and why: reason -> texts.
        unit: what `rows` counts.
    """

    train: Callable[[], Iterator[str]]
    valid: Callable[[], Iterator[str]]
    rows: dict[str, int]
    notes: dict[str, int]
    unit: str = "texts"


def load(config: EncoderConfig) -> Splits:
    """Reads the rows of a table, the files of a folder, or a text file, and splits off validation.

    Raises:
        UserError: the data cannot be read, or is too small to split.
    """
    path = _path(config.data)
    if config.text_column and not (path and tables.is_table(path)):
        raise UserError(f"--text-column has no effect: {config.data or 'the embedded sample'} is not a table")
    if path is None or (path / "train").is_dir():
        labelled = labelled_texts.read(config.data)["train"]
        all_texts, groups, dropped = labelled.texts, labelled.groups, labelled.dropped
    elif path.is_dir():
        (all_texts, dropped), groups = folders.texts(path), None
    elif tables.is_table(path):
        all_texts, groups, dropped = tables.read_texts(path, TableOptions(config.text_column))
    else:
        return _load_text_file(config)
    in_validation = validation_rows(all_texts if groups is None else groups, config.valid_fraction)
    train, valid = all_texts[~in_validation], all_texts[in_validation]
    notes = {f"left out, {reason}": rows for reason, rows in dropped.items()}
    return Splits(lambda: iter(train), lambda: iter(valid), {"train": len(train), "valid": len(valid)}, notes)


def _path(data: str | None) -> Path | None:
    """Returns the path of the user's own data; None for the embedded sample and the corpora."""
    return None if data is None or corpora.named(data, "labelled texts") else corpora.existing(data, "text")


def _load_text_file(config: EncoderConfig) -> Splits:
    splits = texts.split_text(config.data, None, config.valid_fraction)
    rows = {"train": splits.train.characters, "valid": splits.valid.characters}
    return Splits(
        lambda: texts.chunks(splits.train.pieces()),
        lambda: texts.chunks(splits.valid.pieces()),
        rows,
        notes={},
        unit="characters",
    )
