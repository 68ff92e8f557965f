"""Parquet files. For other tables whose cells have types see json_tables.py, workbooks.py and dataset_folders.py."""

import json
from collections.abc import Collection, Iterator
from pathlib import Path

from pipelines.data import class_names, encodings, table_rows
from pipelines.data.class_names import named
from pipelines.data.json_tables import with_languages
from pipelines.data.table_options import TableOptions
from pipelines.data.table_rows import Format, Row
from pipelines.support.errors import UserError

_BATCH_ROWS = 1000


def parquet(path: Path, options: TableOptions, names: Collection[str] | None = None) -> Iterator[Row]:
    """Yields the rows of a Parquet file: see `tables.named_chunks`.

    Numbers of classes become their names, where the file has them.
    """
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            columns = file.schema_arrow.names
            table_rows.check_columns(path, columns)
            if len(set(columns)) < len(columns):
                raise UserError(f"{path} has several columns of one name: give each column another name")
            read = None if names is None else [name for name in columns if name in names]
            description = json.loads((file.schema_arrow.metadata or {}).get(b"huggingface", b"{}"))
            classes = class_names.of_features(description.get("info", {}).get("features") or {})
            for batch in file.iter_batches(_BATCH_ROWS, columns=read):
                yield from (with_languages(named(row, classes)) for row in batch_rows(batch, options))
    except (pyarrow.ArrowException, OSError) as error:
        if encodings.is_of_system(error):
            raise
        raise encodings.damaged(path, "no Parquet file", error) from error


def batch_rows(batch, options: TableOptions) -> list[dict]:
    """Returns the rows of a record batch. Not all programs that write Parquet check that strings are UTF-8."""
    import pyarrow

    try:
        return batch.to_pylist()
    except UnicodeDecodeError:
        errors = "replace" if options.encoding_errors == "strict" else options.encoding_errors
        columns = {}
        for name, values in zip(batch.schema.names, batch.columns, strict=True):
            if pyarrow.types.is_string(values.type) or pyarrow.types.is_large_string(values.type):
                cells = values.cast(pyarrow.large_binary()).to_pylist()
                columns[name] = [None if cell is None else cell.decode("utf-8", errors) for cell in cells]
            else:
                columns[name] = values.to_pylist()
        return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


PARQUET = Format((".parquet",), parquet)
