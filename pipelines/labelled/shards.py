"""Writes the prepared data of a task on labelled texts: its shards, and the texts to score on."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pipelines.data import prepared
from pipelines.data.prepared import Contents
from pipelines.labelled.config import LabelledConfig
from pipelines.labelled.sharded import Rows, Surveyed
from pipelines.shards import shard_writer
from pipelines.shards.shard_writer import Row

SETTINGS = ("max_bytes", "valid_fraction", "text_column", "label_column", "positive")  # that the preparation fixes


def write(
    config: LabelledConfig,
    surveyed: Surveyed,
    folder: Path,
    encode: Callable[[Rows], Iterator[Row]],
    bytes_per_character: int,
) -> Contents:
    """Writes the shards and the texts to score on.

    Args:
        folder: exists; the manifest is not written.
        encode: yields the rows of the shards; it reads all of `Rows.training`.
        bytes_per_character: of the rows, about; for the number of shards.

    Raises:
        UserError: a class has no training text, or validation is empty.
    """
    passed = Rows(config, surveyed.train)
    num_shards = shard_writer.num_shards(bytes_per_character * surveyed.train.characters)
    shards = shard_writer.write(folder, encode(passed), num_shards, config.seed)
    parts = {name: passed.own(texts, name) for name, texts in surveyed.own.items()}
    parts.setdefault("valid", passed.held_out)
    passed.check(len(parts["valid"]))
    for name, rows in parts.items():
        prepared.write_rows(folder, name, rows)
    num_rows = {"train": sum(shard.rows for shard in shards)} | {name: len(rows) for name, rows in parts.items()}
    details: dict[str, Any] = {"classes": list(surveyed.train.classes), "class_rows": passed.class_rows.tolist()}
    settings = {name: getattr(config, name) for name in SETTINGS}
    return Contents(settings, shards, num_rows, surveyed.notes | passed.notes, details)
