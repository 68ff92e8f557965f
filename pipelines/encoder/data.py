"""The data of an encoder: texts without labels. Imports no TensorFlow, so that what it refuses is refused at once."""

import dataclasses
import functools
from collections.abc import Callable, Iterator
from pathlib import Path

from pipelines.data import corpora, folders, labelled_texts, paths, tables, texts
from pipelines.data.paths import Data
from pipelines.data.splits import validation_rows
from pipelines.data.table_options import TableOptions
from pipelines.encoder.config import EncoderConfig
from pipelines.support.errors import UserError


@dataclasses.dataclass(frozen=True)
class Splits:
    """The texts for training and validation.

    They can be pickled, so that several trainings share them (pipelines/tune/study.py).

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
    files = _files(config.data)
    is_table = bool(files) and tables.is_table(files[0])
    if config.text_column and not is_table:
        raise UserError(f"--text-column has no effect: {paths.shown(config.data)} is not a table")
    path = files[0] if files else None
    if path is None or (path / "train").is_dir():
        labelled = labelled_texts.read(config.data)["train"]
        all_texts, groups, dropped = labelled.texts, labelled.groups, labelled.dropped
    elif path.is_dir():
        (all_texts, dropped), groups = folders.texts(path), None
    elif is_table:
        all_texts, groups, dropped = tables.read_texts(files, TableOptions(config.text_column))
    else:
        return _load_text_file(config)
    in_validation = validation_rows(all_texts if groups is None else groups, config.valid_fraction)
    train, valid = all_texts[~in_validation], all_texts[in_validation]
    notes = {f"left out, {reason}": rows for reason, rows in dropped.items()}
    rows = {"train": len(train), "valid": len(valid)}
    return Splits(functools.partial(iter, train), functools.partial(iter, valid), rows, notes)


def _files(data: Data | None) -> list[Path]:
    """Returns the paths of the user's own data; none for the embedded sample and the corpora.

    Raises:
        UserError: a path does not exist, or some files are tables and some are not.
    """
    if data is None or corpora.named(data, "labelled texts"):
        return []
    if isinstance(data, str):
        return [corpora.existing(data, "text")]
    files = corpora.existing_files(data, "text")
    other = next((path for path in files if tables.is_table(path) != tables.is_table(files[0])), None)
    if other:
        raise UserError(f"{other} and {files[0]}: one is a table and the other is not: give files of one kind")
    return files


def _load_text_file(config: EncoderConfig) -> Splits:
    splits = texts.split_text(config.data, None, config.valid_fraction)
    rows = {"train": splits.train.characters, "valid": splits.valid.characters}
    train, valid = (functools.partial(_chunks, part) for part in (splits.train, splits.valid))
    return Splits(train, valid, rows, notes={}, unit="characters")


def _chunks(text: texts.Text) -> Iterator[str]:
    """Yields the chunks of a text file."""
    return texts.chunks(text.pieces())
