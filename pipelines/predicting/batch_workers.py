"""What the processes of a batch prediction do: readers cut files into units, actors predict them.

A unit is a row of a Ray data set: "file" and "number" of its part, "content", bytes, and "record", JSON. Of a unit that
is read, the content is the pickled rows; of a predicted one, it is the part. A record with "error" ends the job; one
with "parts" follows the last unit of a file.
"""

import contextlib
import itertools
import json
import os
import pickle
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from pipelines.data.text_chunks import Chunk, Columns
from pipelines.distributed import cluster
from pipelines.export.exported import Exported
from pipelines.predicting import input_files
from pipelines.predicting.file_steps import FileSteps, Predicted, predict_chunk
from pipelines.predicting.typed_files import converted
from pipelines.support import quiet
from pipelines.support.errors import UserError


def read_units(jobs: dict, steps: FileSteps, first: Columns | None) -> Iterator[dict]:
    """Yields the units of a file that are not done: a function for `Dataset.map_batches`.

    Args:
        jobs: a batch of one row with "file", "path" and "done", numbers of parts.
        first: the columns of the first file.
    """
    file, path, done = int(jobs["file"][0]), str(jobs["path"][0]), set(jobs["done"][0])
    try:
        with input_files.here(path) as here:
            like = first and first._replace(path=here if first.path == path else first.path)
            number, num_before = 0, 0
            for chunks in _groups(steps.read(here, like), steps.chunks_per_part):
                if number not in done:
                    yield _unit(file, number, pickle.dumps((chunks, num_before)))
                number += 1
                num_before += sum(len(chunk.rows) for chunk in chunks)
        yield _unit(file, number, record={"parts": number})
    except UserError as error:
        yield _unit(file, 0, record={"error": str(error)})


class Predictor:
    """A loaded model, as a class for `Dataset.map_batches`.

    Args:
        model: "name" and "version"; and "path" of the export on this machine, or "files", a reference of its files:
            path in the export -> bytes.
        steps: of the task.
        versions: of the packages of the driver.
        threads: number of processors that this actor may use.
    """

    def __init__(self, model: dict, steps: FileSteps, versions: dict[str, str], threads: int):
        self._steps = steps
        self._error = cluster.difference(versions)
        if self._error:
            return
        for variable in ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"):
            os.environ[variable] = str(threads)
        try:
            quiet.import_tensorflow()
            with _export_of(model) as exported:  # loading reads all files
                self._predict = steps.load(exported)
        except UserError as error:
            self._error = str(error)

    def __call__(self, units: dict) -> Iterator[dict]:
        """Yields a predicted unit for each unit."""
        for file, number, content, record in zip(*(units[name] for name in ("file", "number", "content", "record"))):
            if self._error:
                yield _unit(file, number, record={"error": self._error})
            elif content:
                yield _unit(file, number, *self._predicted(content))
            else:
                yield _unit(file, number, record=json.loads(record))

    def _predicted(self, content: bytes) -> tuple[bytes, dict]:
        """Returns what `predict_unit` does, or no content and an error of the user."""
        try:
            return predict_unit(self._predict, self._steps, content)
        except UserError as error:
            return b"", {"error": str(error)}


def predict_unit(predict: Callable, steps: FileSteps, content: bytes) -> tuple[bytes, dict]:
    """Predicts the rows of a unit.

    Args:
        predict: see `FileSteps.load`.
        content: of a unit that was read.

    Returns:
        (content of the part, {"counts": see `FileSteps.write`, "poisoned": row of the part -> reason}).
    """
    chunks, num_before = pickle.loads(content)
    predicted: list[Predicted] = []
    poisoned: dict[int, str] = {}
    num_rows = 0
    for chunk in chunks:
        result, reasons = predict_chunk(predict, chunk)
        predicted.append(result)
        poisoned |= {num_rows + row: reason for row, reason in reasons.items()}
        num_rows += len(chunk.rows)
    content, counts = steps.write(predicted, num_before)
    head = steps.head(predicted[0], num_rows) if steps.head else b""
    content = head + content
    return converted(steps.convert, content) if steps.convert else content, {"counts": counts, "poisoned": poisoned}


@contextlib.contextmanager
def _export_of(model: dict) -> Iterator[Exported]:
    """Yields the export: the argument `model` of `Predictor`."""
    if "path" in model:
        yield Exported(model["name"], model["version"], Path(model["path"]))
        return
    import ray

    with tempfile.TemporaryDirectory(prefix="unroll-model-") as name:
        for path, content in ray.get(model["files"]).items():
            (Path(name) / path).parent.mkdir(parents=True, exist_ok=True)
            (Path(name) / path).write_bytes(content)
        yield Exported(model["name"], model["version"], Path(name))


def _groups(chunks: Iterator[Chunk], size: int) -> Iterator[list[Chunk]]:
    while group := list(itertools.islice(chunks, size)):
        yield group


def _unit(file: int, number: int, content: bytes = b"", record: dict | None = None) -> dict:
    """Returns a batch of one unit."""
    return {"file": [int(file)], "number": [int(number)], "content": [content], "record": [json.dumps(record or {})]}
