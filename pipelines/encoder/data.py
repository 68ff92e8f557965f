"""The data of an encoder: texts without labels. Imports no TensorFlow, so that what it refuses is refused at once."""

import collections
import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipelines.data import corpora, folders, labelled_texts, tables, texts
from pipelines.data.prepared import Prepared
from pipelines.data.splits import groups_or_texts, validation_rows
from pipelines.data.table_options import TableOptions
from pipelines.encoder.config import EncoderConfig
from pipelines.shards.first_pass import FirstPass
from pipelines.shards.held_out import Keys, hashes
from pipelines.support import paths
from pipelines.support.errors import UserError
from pipelines.support.paths import Data

# Of prepared data: what is scored after every epoch is limited.
MAX_VALID_CHARACTERS = 2_000_000  # of a text file


@dataclasses.dataclass(frozen=True)
class Splits:
    """The texts for training and validation.

    They can be pickled, so that several trainings share them (pipelines/tune/study.py).

    Attributes:
        train, valid: functions that return an iterator over the texts; None with prepared data.
        rows: split -> number of texts, or of characters.
        notes: what was left out of the data, and why: reason -> texts.
        unit: what `rows` counts.
        data: the prepared data that has the ids of the texts; None if it is other data.
    """

    train: Callable[[], Iterator[str]] | None
    valid: Callable[[], Iterator[str]] | None
    rows: dict[str, int]
    notes: dict[str, int]
    unit: str = "texts"
    data: Prepared | None = None


class Surveyed(NamedTuple):
    """What is known after the first pass of `prepare`.

    Attributes:
        splits: they read the texts again.
        characters: number of characters of all texts.
    """

    splits: Splits
    characters: int


class _Chunk(NamedTuple):
    """Some of the texts.

    Attributes:
        texts: object [n] of str.
        groups: texts of one group (one film) stay together in a split; object [n] of str, or None.
        dropped: reason -> number of rows that were left out while reading.
    """

    texts: np.ndarray
    groups: np.ndarray | None
    dropped: dict[str, int]

    def groups_or_texts(self) -> np.ndarray:
        """Returns what must stay together in a split: the groups, or the texts if there are none."""
        return groups_or_texts(self.groups, self.texts)


def load(config: EncoderConfig) -> Splits:
    """Reads the rows of a table, the files of a folder, or a text file, and splits off validation.

    Raises:
        UserError: the data cannot be read, or is too small to split; or prepared data is damaged.
    """
    found = config.prepared()
    if found:
        found.check_files()
        return Splits(None, None, found.rows, found.notes, found.details["unit"], found)
    if is_text_file(config):
        return _split_text_file(config)
    chunks = list(read_chunks(config))
    all_texts = np.concatenate([chunk.texts for chunk in chunks])
    _require_text(config, len(all_texts))
    groups = np.concatenate([chunk.groups_or_texts() for chunk in chunks])
    in_validation = validation_rows(groups, config.valid_fraction)
    train, valid = all_texts[~in_validation], all_texts[in_validation]
    rows = {"train": len(train), "valid": len(valid)}
    dropped: collections.Counter[str] = collections.Counter()
    for chunk in chunks:
        dropped.update(chunk.dropped)
    return Splits(functools.partial(iter, train), functools.partial(iter, valid), rows, _notes(dropped))


def survey(config: EncoderConfig) -> Surveyed:
    """Reads all texts once, and chooses the validation texts.

    They are those of `load`, but at most about `first_pass.MAX_HELD_OUT`; of a text file at most MAX_VALID_CHARACTERS.
    What is kept has a bounded size.

    Raises:
        UserError: the data cannot be read, or is too small to split.
    """
    if is_text_file(config):
        splits = _split_text_file(config, MAX_VALID_CHARACTERS)
        return Surveyed(splits, sum(splits.rows.values()))
    passed = FirstPass(0, config.seed, None)
    for chunk in read_chunks(config):
        groups = hashes(chunk.groups_or_texts())
        passed.add(Keys(groups, groups), [(text,) for text in chunk.texts], chunk.dropped)
    _require_text(config, passed.rows)
    held_out = passed.held_out(config.valid_fraction)
    train, valid = (functools.partial(_texts_of, config, held_out.groups, is_valid) for is_valid in (False, True))
    rows = {"train": passed.rows - held_out.rows, "valid": held_out.rows}
    return Surveyed(Splits(train, valid, rows, _notes(passed.dropped)), passed.characters)


def _texts_of(config: EncoderConfig, held_out: np.ndarray, is_valid: bool) -> Iterator[str]:
    """Reads all texts again, and yields those of validation or of training.

    Args:
        held_out: hashes of the groups of the validation texts, uint64.
    """
    for chunk in read_chunks(config):
        yield from chunk.texts[np.isin(hashes(chunk.groups_or_texts()), held_out) == is_valid]


def read_chunks(config: EncoderConfig) -> Iterator[_Chunk]:
    """Yields the rows of tables, or the files of a folder or a corpus, in chunks."""
    if config.data is None:
        sample = labelled_texts.read(None)["train"]
        yield _Chunk(sample.texts, sample.groups, sample.dropped)
        return
    files = _files(config.data)
    if not files or (files[0] / "train").is_dir():
        for chunk in labelled_texts.read_chunks(config.data, "train"):
            yield _Chunk(chunk.texts, chunk.groups, chunk.dropped)
    elif files[0].is_dir() and not tables.is_table(files[0]):
        for of_files, dropped in folders.read_texts(files[0]):
            yield _Chunk(of_files, None, dropped)
    else:
        for fields in tables.read_texts(files, TableOptions(config.text_column, encoding=config.encoding)):
            yield _Chunk(*fields)


def is_text_file(config: EncoderConfig) -> bool:
    """Whether the data is one long text, in one file or several.

    Raises:
        UserError: --text-column is given and the data is no table; or the data is refused by `_files`.
    """
    files = _files(config.data)
    is_table = bool(files) and tables.is_table(files[0])
    if config.text_column and not is_table:
        raise UserError(f"--text-column has no effect: {paths.shown(config.data)} is not a table")
    if config.encoding and (not files or files[0].is_dir()):
        raise UserError(f"--encoding has no effect: {paths.shown(config.data)} is no file of text")
    return bool(files) and not is_table and not files[0].is_dir()


def _require_text(config: EncoderConfig, rows: int) -> None:
    if not rows:
        raise UserError(f"{paths.shown(config.data)} has no row with a text: add some")


def _notes(dropped: Mapping[str, int]) -> dict[str, int]:
    """Returns what was left out of the data, and why: reason -> texts."""
    return {f"left out, {reason}": rows for reason, rows in dropped.items()}


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


def _split_text_file(config: EncoderConfig, max_valid: int | None = None) -> Splits:
    """Splits off the end of a text file for validation, at most `max_valid` characters."""
    splits = texts.split_text(config.data, None, config.valid_fraction, max_valid, config.encoding)
    rows = {"train": splits.train.characters, "valid": splits.valid.characters}
    train, valid = (functools.partial(_pieces, part) for part in (splits.train, splits.valid))
    return Splits(train, valid, rows, notes={}, unit="characters")


def _pieces(text: texts.Text) -> Iterator[str]:
    """Yields a text file in pieces, which are tokenized as texts of their own."""
    return texts.chunks(text.pieces())
