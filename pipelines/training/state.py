"""The state of a training. Several workers have a part of it each; the checkpoint holds the whole."""

import dataclasses
from pathlib import Path

import keras
import numpy as np

from pipelines.training import checkpoints
from pipelines.training.checkpoints import Position
from pipelines.training.group import Group


class State:
    """All variables that a checkpoint holds.

    Workers have equal variables, except the states that recurrent layers carry: each worker has those of its streams,
    and the checkpoint those of all. So training can continue with another number of workers.

    Args:
        model: with all its variables.
        group: the workers that train it.
    """

    def __init__(self, model: keras.Model, group: Group):
        self._model, self._group = model, group
        self._carried = checkpoints.carried_states(model)
        variables = checkpoints.state_variables(model)
        self._equal = variables[: len(variables) - len(self._carried)]
        streams = self._carried[0].shape[0] if self._carried else 0
        self._streams = sum(group.exchange(streams))
        self._joined: list[np.ndarray] = []  # the states of all streams, of a checkpoint

    def save(self, path: Path, position: Position) -> None:
        """Writes the checkpoint, if this worker is the chief; all workers call it at the same step.

        That of a finished training is the position alone: the weights that count are those of the best epoch.
        """
        if position.finished:
            if self._group.is_chief:
                checkpoints.save(path, [], position)
            return
        joined = [
            self._group.join_rows(keras.ops.convert_to_numpy(keras.ops.cast(each, "float32")), self._streams)
            for each in self._carried
        ]
        if self._group.is_chief:
            checkpoints.save(path, [*self._equal, *joined], position)

    def restore(self, path: Path) -> Position:
        """Sets the variables of the chief to those of the checkpoint, and keeps the states of all streams for `share`.

        Raises:
            UserError: see `checkpoints.restore`.
        """
        shapes = [tuple(variable.shape) for variable in self._equal] + self._joined_shapes()
        arrays, position = checkpoints.read(path, shapes)
        if not arrays:
            return position
        for variable, array in zip(self._equal, arrays):
            variable.assign(array)
        self._joined = arrays[len(self._equal) :]
        if self._group.part.count == 1:
            self._assign_carried(self._joined)
        return position

    def share(self, position: Position | None) -> Position:
        """Gives all workers the position and the variables of the chief, but each its own streams and dropout.

        Args:
            position: of the chief; the others have None.
        """
        if self._group.part.count == 1:
            return position
        for variable in self._equal:
            variable.assign(self._group.array_from_chief(keras.ops.convert_to_numpy(variable)))
        joined = self._joined or [np.zeros(shape, np.float32) for shape in self._joined_shapes()]
        self._assign_carried([self._group.array_from_chief(array) for array in joined])
        self._separate_random_numbers()
        return Position(**self._group.from_chief(position and dataclasses.asdict(position)))

    def _joined_shapes(self) -> list[tuple[int, ...]]:
        return [(self._streams, *variable.shape[1:]) for variable in self._carried]

    def _assign_carried(self, joined: list[np.ndarray]) -> None:
        for variable, array in zip(self._carried, joined):
            variable.assign(array[self._group.part.rows(self._streams)])

    def _separate_random_numbers(self) -> None:
        """Makes the dropout of each worker another one; the chief, whose state is saved, keeps its own.

        What the model itself draws, such as the tokens of the sampled softmax, is the same for all workers.
        """
        for layer in self._model._flatten_layers(include_self=False):
            generator = getattr(layer, "seed_generator", None)
            if isinstance(generator, keras.random.SeedGenerator):
                seed = keras.ops.convert_to_numpy(generator.state)
                generator.state.assign(seed + np.array([_STRIDE * self._group.part.index % 2**32, 0], seed.dtype))


_STRIDE = 0x9E3779B1  # odd: different for all workers, and far from the seeds of other layers
