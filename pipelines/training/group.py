"""The processes that train one model together: what they send one another, with TensorFlow's collective operations.

A collective operation returns when every worker of the group has called it; all workers call the same ones in the same
order. If a worker is lost, the call of each other one raises a `tf.errors.OpError`.
"""

import contextlib
import json
import socket
from collections.abc import Iterator

import numpy as np
import tensorflow as tf

from pipelines.data.part import Part
from pipelines.support.errors import UserError

_GROUP = 2**20  # key of the group; MultiWorkerMirroredStrategy counts its own groups from 1
# An instance of a collective operation has one shape for all time: its key is a channel and the number of elements.
_CHANNEL = 2**24
_LENGTHS, _VALUES, _STATES, _ROWS, _STEP, _ARRAYS, _INTEGERS, _FIRST_GATHER = range(8)
_PIECES = 4  # of a step's sum, which travel at the same time: almost twice as fast as one on loopback
_MIN_PIECE = 2**16  # elements: below this, latency costs more
_ROUND = 256  # rows of a gathered tensor: there are not too many different shapes


class Group:
    """One of the workers that train together; alone it sends nothing.

    Attributes:
        part: index of this worker and number of workers.
    """

    def __init__(self, part: Part):
        self.part = part
        self._strategy = None
        self._reduce_of: dict = {}
        if part.count > 1:
            # It starts this process's server of TF_CONFIG, waits for the other workers, and, every half minute, checks
            # that they live. The workers are no replicas in its sense: each has plain variables of its own.
            self._strategy = tf.distribute.MultiWorkerMirroredStrategy()
            self._hint = "nccl" if tf.config.list_physical_devices("GPU") else "ring"

    @property
    def is_chief(self) -> bool:
        """Whether this worker writes the run's files."""
        return self.part.index == 0

    def close(self) -> None:
        """Ends the checks on the other workers, which may end from now on."""
        self._strategy = None

    def exchange(self, value) -> list:
        """Returns the values of all workers, in the order of the workers.

        Args:
            value: what JSON can hold.
        """
        if self.part.count == 1:
            return [value]
        data = np.frombuffer(json.dumps(value).encode(), np.uint8)
        lengths = np.zeros(self.part.count, np.int32)
        lengths[self.part.index] = len(data)
        lengths = self._sum(lengths, _LENGTHS)
        rows = np.zeros((self.part.count, lengths.max()), np.int32)
        rows[self.part.index, : len(data)] = data
        rows = self._sum(rows, _VALUES)
        return [json.loads(bytes(row[:length].astype(np.uint8))) for row, length in zip(rows, lengths)]

    def from_chief(self, value):
        """Returns the chief's value; see `exchange`."""
        return self.exchange(value if self.is_chief else None)[0]

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Runs the block on all workers, first on the chief: its files are then there for the others.

        Raises:
            UserError: on all workers, if the block raises one on any worker.
        """
        if not self.is_chief and (problem := self.from_chief(None)):
            raise UserError(problem)
        problem = None
        try:
            yield
        except UserError as error:
            problem = str(error)
            if not self.is_chief:
                problem = f"worker {self.part.index} on {socket.gethostname()}: {problem}"
        if self.is_chief:
            self.from_chief(problem)
            if problem:
                raise UserError(problem)
        problem = next(filter(None, self.exchange(problem)), None)
        if problem:
            raise UserError(problem)

    def array_from_chief(self, array: np.ndarray) -> np.ndarray:
        """Returns the chief's array; those of the others have its shape."""
        kind = np.float32 if array.dtype.kind in "fV" else np.int64  # V: bfloat16
        sent = array.astype(kind) if self.is_chief else np.zeros(array.shape, kind)
        return self._sum(sent, _INTEGERS if kind is np.int64 else _ARRAYS).astype(array.dtype)

    def join_rows(self, rows: np.ndarray, total: int) -> np.ndarray:
        """Returns the rows of all workers, float32 [total, n].

        Args:
            rows: float32 [part.size(total), n], the rows of this worker.
        """
        if self.part.count == 1:
            return rows
        joined = np.zeros((total, rows.shape[1]), np.float32)
        joined[self.part.rows(total)] = rows
        return self._sum(joined, _STATES)

    def sum_step(self, values):
        """Returns the sum over the workers of float32 [n], in the graph of the training step."""
        size = max(_MIN_PIECE, -(-values.shape[0] // _PIECES))
        pieces = [values[start : start + size] for start in range(0, values.shape[0], size)]
        first = _key(_STEP, _PIECES * values.shape[0])  # a stage of a training may have other trainable weights
        return tf.concat([self._reduce(piece, first + i) for i, piece in enumerate(pieces)], axis=0)

    def gather_slices(self, slices: list[tf.IndexedSlices]) -> list[tf.IndexedSlices]:
        """Returns the slices of all workers, one worker's after the other, in the graph of the training step.

        The workers have different numbers of slices; missing ones are zeros that are added to row 0.
        """
        if not slices:
            return []
        lengths = tf.stack([tf.shape(each.indices)[0] for each in slices])
        lengths = self._reduce(-(-lengths // _ROUND) * _ROUND, _key(_ROWS, len(slices)), "Max")
        return [self._gather(each, lengths[i], _FIRST_GATHER + i) for i, each in enumerate(slices)]

    def _gather(self, slices: tf.IndexedSlices, length, channel: int) -> tf.IndexedSlices:
        values = tf.reshape(slices.values, [tf.shape(slices.indices)[0], -1])
        # One operation sends both: the bits of an index travel as a float.
        indices = tf.bitcast(tf.cast(slices.indices, tf.int32), tf.float32)[:, None]
        rows = tf.concat([indices, values], axis=1)  # [n, 1 + size]
        rows = tf.pad(rows, [[0, length - tf.shape(rows)[0]], [0, 0]])
        gathered = tf.raw_ops.CollectiveGatherV2(
            input=rows,
            group_size=self.part.count,
            group_key=_GROUP,
            instance_key=_key(channel, length * tf.shape(rows)[1]),
            ordering_token=[],
            communication_hint=self._hint,
        )
        shape = tf.concat([[self.part.count * length], slices.dense_shape[1:]], axis=0)
        values = tf.ensure_shape(tf.reshape(gathered[:, 1:], shape), [None, *slices.values.shape[1:]])
        indices = tf.cast(tf.bitcast(gathered[:, 0], tf.int32), slices.indices.dtype)
        return tf.IndexedSlices(values, indices, slices.dense_shape)

    def _sum(self, values: np.ndarray, channel: int) -> np.ndarray:
        """Returns the sum over the workers of an array that has the same shape on all."""
        flat = tf.constant(values.reshape(-1))
        key = tf.constant(_key(channel, values.size))
        # One trace for each shape: the group's own, and what TensorFlow takes for too many of the same function.
        reduce = self._reduce_of.setdefault((values.size, flat.dtype), tf.function(self._reduce))
        summed = reduce(flat, key)
        return summed.numpy().reshape(values.shape)

    def _reduce(self, values, key, operation: str = "Add"):
        return tf.raw_ops.CollectiveReduceV2(
            input=values,
            group_size=self.part.count,
            group_key=_GROUP,
            instance_key=key,
            ordering_token=[],
            merge_op=operation,
            final_op="Id",
            communication_hint=self._hint,
        )


def _key(channel: int, num_elements):
    return channel * _CHANNEL + num_elements % _CHANNEL


_groups = [Group(Part())]


def current() -> Group:
    """Returns the group of this process."""
    return _groups[-1]


@contextlib.contextmanager
def joined(part: Part) -> Iterator[None]:
    """Makes this process a worker of the group of TF_CONFIG, for as long as the context lasts.

    It must be entered before the first operation of the process. It returns when all workers have entered it.
    """
    _groups.append(Group(part))
    try:
        yield
    finally:
        _groups.pop().close()
