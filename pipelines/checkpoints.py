"""The whole state of a training, bit for bit, in one file."""

import dataclasses
import json
import zipfile
from pathlib import Path

import keras
import numpy as np

from pipelines.errors import UserError
from pipelines.files import written_beside


@dataclasses.dataclass
class Position:
    """Where a training stands, and all it must remember that is no Keras variable.

    Attributes:
        epoch, step: the next batch to train on.
        lowest, best_epoch: what was watched, and the number, of the epoch whose weights are kept; -1 if there is none yet.
        finished: nothing is left to train.
        seconds: spent in training and validation so far, over all processes.
        rows: one dict per epoch that ended: the lines of metrics.csv.
        epoch_seconds: what each of them took (of one that was broken off, its last part).
    """

    epoch: int = 0
    step: int = 0
    lowest: float = float("inf")
    best_epoch: int = -1
    finished: bool = False
    seconds: float = 0.0
    rows: list[dict] = dataclasses.field(default_factory=list)
    epoch_seconds: list[float] = dataclasses.field(default_factory=list)


def state_variables(model: keras.Model) -> list[keras.Variable]:
    """Everything that a training step changes: weights, dropout's seeds, the optimizer, the running metrics, and the states that
    recurrent layers carry from batch to batch.

    Keras's own files leave out the seeds, the metrics and the states.
    """
    carried = [state for layer in model.layers if getattr(layer, "stateful", False) for state in keras.tree.flatten(layer.states)]
    return [*model.variables, *model.optimizer.variables, *model.metrics_variables, *carried]


def save(path: Path, variables: list[keras.Variable], position: Position) -> None:
    arrays = {f"v{i:05d}": keras.ops.convert_to_numpy(variable) for i, variable in enumerate(variables)}
    with written_beside(path, "wb") as file:
        np.savez(file, position=np.array(json.dumps(dataclasses.asdict(position))), **arrays)


def restore(path: Path, variables: list[keras.Variable]) -> Position:
    """Sets `variables` to what `save` wrote, in the same order.

    Raises:
        UserError: the file is damaged, or is of another model.
    """
    try:
        with np.load(path) as saved:
            arrays = [saved[name] for name in sorted(saved.files) if name != "position"]
            position = Position(**json.loads(str(saved["position"])))
    except (zipfile.BadZipFile, OSError, ValueError, KeyError, EOFError) as error:
        raise UserError(f"{path} is damaged: delete the run's folder {path.parent.parent} to train anew") from error
    if [array.shape for array in arrays] != [tuple(variable.shape) for variable in variables]:
        raise UserError(f"{path} belongs to another model: delete the run's folder {path.parent.parent} to train anew")
    for variable, array in zip(variables, arrays, strict=True):
        variable.assign(array)
    return position
