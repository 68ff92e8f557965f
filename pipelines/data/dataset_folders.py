"""Folders that `save_to_disk` of Hugging Face's datasets writes: Arrow files, and state.json with their names."""

import json
from collections.abc import Collection, Iterator
from pathlib import Path

from pipelines.data import class_names, encodings, table_rows
from pipelines.data.class_names import named
from pipelines.data.json_tables import with_languages
from pipelines.data.table_options import TableOptions
from pipelines.data.table_rows import Format, Row
from pipelines.data.typed_tables import batch_rows
from pipelines.support.errors import UserError

_STATE, _INFO, _SPLITS = "state.json", "dataset_info.json", "dataset_dict.json"


def is_folder(path: Path) -> bool:
    """Whether a folder has one split of a dataset, or several."""
    return (path / _STATE).is_file() or (path / _SPLITS).is_file()


def splits(path: Path) -> dict[str, Path]:
    """Returns split -> folder of a dataset; one without splits is "train"."""
    if not (path / _SPLITS).is_file():
        return {"train": path}
    return {name: path / name for name in _read(path / _SPLITS)["splits"]}


def rows(path: Path, options: TableOptions, names: Collection[str] | None = None) -> Iterator[Row]:
    """Yields the rows of a split, with the names of classes in place of their numbers: see `tables.named_chunks`.

    Raises:
        UserError: the folder has several splits, or a file is missing or damaged.
    """
    import pyarrow
    import pyarrow.ipc

    if (path / _SPLITS).is_file():
        splits = _read(path / _SPLITS)["splits"]
        raise UserError(f"{path} has the splits {', '.join(splits)}: give one, such as {path / splits[0]}")
    info = path / _INFO
    classes = class_names.of_features(_read(info).get("features") or {} if info.is_file() else {})
    try:
        for file in _read(path / _STATE)["_data_files"]:
            with pyarrow.memory_map(str(path / file["filename"])) as source:
                for batch in pyarrow.ipc.open_stream(source):
                    table_rows.check_columns(path, batch.schema.names)
                    read = batch.select([name for name in batch.schema.names if names is None or name in names])
                    yield from (with_languages(named(row, classes)) for row in batch_rows(read, options))
    except (pyarrow.ArrowException, OSError) as error:
        if encodings.is_of_system(error):
            raise
        raise encodings.damaged(path, "no dataset of Hugging Face", error) from error


def _read(path: Path) -> dict:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise encodings.damaged(path, "no dataset of Hugging Face", error) from error


FORMAT = Format((), rows, is_folder=is_folder)
