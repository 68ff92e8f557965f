"""The whole state of a training, bit for bit, in one file."""

import dataclasses
import hashlib
import io
import json
import os
import struct
from pathlib import Path

import keras
import numpy as np

from pipelines.support.errors import UserError
from pipelines.support.files import written_beside


@dataclasses.dataclass
class Position:
    """The position in a training, and the rest of its state that is not in Keras variables.

    Attributes:
        epoch, step: the next batch to train on, both from 0.
        best_value, best_epoch: monitored value and number of the epoch whose weights are kept; -1 if there is none yet.
        finished: whether the training has ended.
        seconds: duration of training and validation so far, over all processes.
        rows: one dict per finished epoch: the rows of metrics.csv.
        epoch_seconds: duration of each of them (of an interrupted epoch, of its last part).
        pace: of the learning rate where the time is limited; see `pacing.Paced.line`.
    """

    epoch: int = 0
    step: int = 0
    best_value: float = float("inf")
    best_epoch: int = -1
    finished: bool = False
    seconds: float = 0.0
    rows: list[dict] = dataclasses.field(default_factory=list)
    epoch_seconds: list[float] = dataclasses.field(default_factory=list)
    pace: list[float] = dataclasses.field(default_factory=list)


def state_variables(model: keras.Model) -> list[keras.Variable]:
    """Returns all variables that a training step changes.

    These are the weights, dropout's seeds, the optimizer's variables, the running metrics, and the states that
    recurrent layers carry from batch to batch. Keras's own files leave out the seeds, the metrics and the states.
    """
    return [*model.variables, *model.optimizer.variables, *model.metrics_variables, *carried_states(model)]


def carried_states(model: keras.Model) -> list[keras.Variable]:
    """Returns the states, [streams, units] each, that recurrent layers carry from batch to batch."""
    stateful = [layer for layer in model.layers if getattr(layer, "stateful", False)]
    return [state for layer in stateful for state in keras.tree.flatten(layer.states)]


_DIGITS = 64  # of the SHA-256 checksum of all other bytes, which is the comment at the end of the zip file


def save(path: Path, variables: list[keras.Variable | np.ndarray], position: Position) -> None:
    """Writes the values of `variables`, the position and a checksum to `path`, atomically."""
    arrays = {f"v{i:05d}": keras.ops.convert_to_numpy(variable) for i, variable in enumerate(variables)}
    with written_beside(path, "w+b") as file:
        np.savez(file, position=np.array(json.dumps(dataclasses.asdict(position))), **arrays)
        file.seek(-2, os.SEEK_END)
        file.write(struct.pack("<H", _DIGITS))  # the length of the comment
        file.seek(0)
        checksum = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0, os.SEEK_END)
        file.write(checksum.encode())


def restore(path: Path, variables: list[keras.Variable], remedy: str | None = None) -> Position:
    """Sets `variables` to the values that `save` wrote, in the same order. See `read`."""
    arrays, position = read(path, [tuple(variable.shape) for variable in variables], remedy)
    for variable, array in zip(variables, arrays, strict=True):
        variable.assign(array)
    return position


def read(
    path: Path, shapes: list[tuple[int, ...]] | None, remedy: str | None = None
) -> tuple[list[np.ndarray], Position]:
    """Returns the values that `save` wrote, in the same order, and the position.

    The checkpoint of a finished training may have no values.

    Args:
        shapes: of the values; None: any.
        remedy: what the user can do if the file cannot be used; by default, delete the run.

    Raises:
        UserError: the file is missing or damaged, or belongs to another model.
    """
    remedy = remedy or f"delete the run's folder {path.parent.parent} to train from scratch"
    if not path.exists():
        raise UserError(f"{path} is missing: no epoch had a finite score, or it was removed: {remedy}")
    data = memoryview(path.read_bytes())
    if hashlib.sha256(data[:-_DIGITS]).hexdigest().encode() != data[-_DIGITS:]:
        raise UserError(f"{path} is damaged: {remedy}")
    with np.load(io.BytesIO(data)) as saved:
        arrays = [saved[name] for name in sorted(saved.files) if name != "position"]
        position = Position(**json.loads(str(saved["position"])))
    if not arrays and position.finished:
        return [], position
    if shapes is not None and [array.shape for array in arrays] != shapes:
        raise UserError(f"{path} belongs to another model: {remedy}")
    return arrays, position
