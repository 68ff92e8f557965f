"""Prepared data: a folder that `prepare` writes and `train --data` reads, with TFRecord shards and a manifest.

    manifest.json                        what the data was made from and with, and the checksum of every other file
    tokenizer/                           what `load_tokenizer` reads
    train-00000-of-00016.tfrecord ...    training rows, one tf.train.Example each, in random order
    train-00000-of-00016.index.npy ...   where each row of a shard ends, and its length: uint32 [rows, 2]
    valid.jsonl, test.jsonl              texts to score on, in limited number

Imports no TensorFlow, so that damaged data is refused at once.
"""

import dataclasses
import json
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from pipelines.data.paths import Data
from pipelines.settings import flag
from pipelines.support.errors import UserError
from pipelines.support.files import sha256_of, with_home
from pipelines.support.records import read_record, write_record

FORMAT = 1  # of the folder; a change of the order of rows is a change of the format
MANIFEST = "manifest.json"
TOKENIZER = "tokenizer"
_REMEDY = "prepare the data again"


@dataclasses.dataclass(frozen=True)
class Shard:
    """A file of training rows.

    Attributes:
        name: of the file.
        rows: number of rows.
        tokens: number of tokens of all rows.
    """

    name: str
    rows: int
    tokens: int

    @property
    def index(self) -> str:
        """Name of the file with the ends and the lengths of the rows."""
        return f"{Path(self.name).stem}.index.npy"


@dataclasses.dataclass(frozen=True)
class Prepared:
    """The manifest of prepared data.

    Attributes:
        folder: where the data is.
        task: name of the task in the registry.
        settings: config field -> the value that the preparation fixed.
        source: "name" and "fingerprint" of the data that it was made from.
        shards: of the training rows.
        rows: split -> number of rows.
        files: name -> {"bytes", "sha256"} of every file but the manifest.
        notes: what was left out and why: reason -> number of rows.
        details: what the task keeps, such as the classes.
    """

    folder: Path
    task: str
    settings: dict[str, Any]
    source: dict[str, str]
    shards: tuple[Shard, ...]
    rows: dict[str, int]
    files: dict[str, dict]
    notes: dict[str, int]
    details: dict[str, Any]

    def check_files(self, shards: Collection[int] | None = None) -> None:
        """Reads files and compares their checksums: all of a shard is checked before a row of it is used.

        Args:
            shards: numbers of the shards to check, besides the other files; None: all.

        Raises:
            UserError: a file is missing or has other bytes.
        """
        left_out = {shard.name for i, shard in enumerate(self.shards) if shards is not None and i not in shards}
        for name, expected in self.files.items():
            if name in left_out:
                continue
            path = self.folder / name
            if not path.is_file():
                raise UserError(f"{path} is missing: {_REMEDY}, or copy the whole folder")
            size = path.stat().st_size
            if size != expected["bytes"]:
                raise UserError(f"{path} is damaged ({size:,} bytes instead of {expected['bytes']:,}): {_REMEDY}")
            if sha256_of(path) != expected["sha256"]:
                raise UserError(f"{path} is damaged (its bytes have changed): {_REMEDY}")

    def read_rows(self, split: str) -> list[dict] | None:
        """Returns the rows of `valid` or `test`; None if there is no such split."""
        path = self.folder / f"{split}.jsonl"
        if path.name not in self.files:
            return None
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file]


def write_rows(folder: Path, split: str, rows: Iterable[dict]) -> None:
    """Writes what `Prepared.read_rows` reads."""
    with open(folder / f"{split}.jsonl", "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


@dataclasses.dataclass(frozen=True)
class Contents:
    """What a task has written to a folder. For the attributes see `Prepared`."""

    settings: dict[str, Any]
    shards: list[Shard]
    rows: dict[str, int]
    notes: dict[str, int]
    details: dict[str, Any]


def write_manifest(folder: Path, task: str, source: dict[str, str], contents: Contents) -> None:
    """Writes the manifest of a folder that has all other files. For the arguments see `Prepared`."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    names = {path.relative_to(folder).as_posix(): path for path in files}
    values = {
        "format": FORMAT,
        "task": task,
        "source": source,
        **dataclasses.asdict(contents),
        "files": {name: {"bytes": path.stat().st_size, "sha256": sha256_of(path)} for name, path in names.items()},
    }
    write_record(folder / MANIFEST, values)


def is_prepared(data: Data | None) -> bool:
    """Whether `data` is a folder with a manifest."""
    return isinstance(data, str) and (with_home(data) / MANIFEST).is_file()


def task_of(data: str) -> str:
    """Returns the name of the task that prepared data is for.

    Raises:
        UserError: the manifest is damaged or of another format.
    """
    return _read(with_home(data)).task


def source_of(data: str) -> dict[str, Any]:
    """Returns "name" and "fingerprint" of the data that prepared data was made from.

    Raises:
        UserError: the manifest is damaged or of another format.
    """
    return _read(with_home(data)).source


def fingerprint(data: str) -> str:
    """Returns a checksum of prepared data: of its manifest, which has those of all other files."""
    return sha256_of(with_home(data) / MANIFEST)


def find(data: Data | None, *tasks: str) -> Prepared | None:
    """Returns the manifest if `data` is prepared data, else None.

    Args:
        tasks: name in the registry of the task that is to read it, and its other names.

    Raises:
        UserError: the manifest is damaged, or it is of another task or format.
    """
    if not is_prepared(data):
        return None
    found = _read(with_home(data))
    if found.task not in tasks:
        others = " or ".join(f"`train {task}`" for task in tasks)
        raise UserError(f"{data} was prepared for `train {found.task}`, not for {others}")
    return found


def _read(folder: Path) -> Prepared:
    path = folder / MANIFEST
    values = read_record(path, _REMEDY)
    if values.get("format") != FORMAT:
        raise UserError(
            f"{folder} was prepared by another version of Unroll (format {values.get('format')}, this one has "
            f"{FORMAT}): {_REMEDY}"
        )
    del values["format"]
    shards = tuple(Shard(**shard) for shard in values.pop("shards"))
    return Prepared(folder=folder, shards=shards, **values)


def settled(given, resolved, found: Prepared, limits: tuple[str, ...] = ()):
    """Returns a resolved config with the settings of the prepared data.

    A setting that has its default takes the prepared value.

    Args:
        given: the config before it was resolved.
        limits: settings that training may lower, such as "max_tokens".

    Raises:
        UserError: a setting differs from that of the preparation.
    """
    defaults = {field.name: field.default for field in dataclasses.fields(given)}
    values = {}
    for name, value in found.settings.items():
        value = tuple(value) if isinstance(value, list) else value
        wanted = getattr(given, name)
        if name in limits:
            if wanted is not None and wanted > value:
                raise UserError(
                    f"{flag(name)} {wanted}: {found.folder} was prepared with {value}: lower it, or {_REMEDY}"
                )
            values[name] = min(getattr(resolved, name), value)
        elif wanted not in (defaults[name], value):
            is_switch = isinstance(wanted, bool)
            switch = flag(f"no_{name}" if wanted is False else name)
            shown = switch if is_switch else f"{switch} {wanted}"
            difference = "without it" if is_switch else f"with {value}"
            raise UserError(f"{shown}: {found.folder} was prepared {difference}: leave out {switch}, or {_REMEDY}")
        else:
            values[name] = value
    return dataclasses.replace(resolved, **values)
