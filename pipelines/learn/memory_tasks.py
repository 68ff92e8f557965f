"""The tasks of `learn memory`: random examples whose answer depends on what was read n steps before."""

import dataclasses
from collections.abc import Callable

import numpy as np

SYMBOLS = 4
_SYMBOLS = "abcd"
COPIED = 3
KEYS = 2


@dataclasses.dataclass(frozen=True)
class Task:
    """A synthetic task.

    Attributes:
        examples: (distance, count, random generator) -> inputs float32 [count, time, features] and targets, integers
            [count, answers] or numbers [count, answers, 1]. The answers belong to the last inputs.
        features: size of each input.
        answers: how many.
        classes: that an answer is one of; 1 where it is a number.
        threshold: solved from this accuracy on, or up to this mean squared error.
        about: what is read and asked, as a sentence.
        written: (inputs [time, features], targets [answers] or [answers, 1]) -> the example as a line.
    """

    examples: Callable[[int, int, np.random.Generator], tuple[np.ndarray, np.ndarray]]
    features: int
    answers: int
    classes: int
    threshold: float
    about: str
    written: Callable[[np.ndarray, np.ndarray], str]

    def loss(self, targets, outputs):
        """Returns what is minimized, for each answer: the squared error of a number, or the cross-entropy.

        Args:
            targets: of `examples`.
            outputs: float [count, answers, classes].
        """
        from keras import losses

        if self.classes == 1:
            return losses.mean_squared_error(targets, outputs)
        return losses.sparse_categorical_crossentropy(targets, outputs, from_logits=True)

    def score(self, outputs: np.ndarray, targets: np.ndarray) -> float:
        """Returns the accuracy, or the mean squared error where answers are numbers.

        Args:
            outputs: float [count, answers, classes].
            targets: of `examples`.
        """
        if self.classes == 1:
            return float(np.mean(np.square(outputs - targets)))
        return float(np.mean(outputs.argmax(axis=-1) == targets))

    def is_solved(self, score: float) -> bool:
        """Returns whether a score reaches the threshold."""
        return score <= self.threshold if self.classes == 1 else score >= self.threshold


def copy(distance: int, count: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Returns examples: symbols, `distance` blanks, a mark, blanks; from the mark on, the symbols are the answers.

    Features: one for each symbol, the blank, the mark.
    """
    symbols = random.integers(SYMBOLS, size=(count, COPIED))
    read = np.full((count, 2 * COPIED + distance), SYMBOLS)  # blanks
    read[:, :COPIED] = symbols
    read[:, COPIED + distance] = SYMBOLS + 1
    return np.eye(SYMBOLS + 2, dtype="float32")[read], symbols


def recall(distance: int, count: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Returns examples: each key with a value, in random order, `distance` - 1 blanks, and a key; its value is asked.

    A key and its value are read in the same step. Features: one for each key, one for each value; a blank has none.
    """
    keys = random.permuted(np.tile(np.arange(KEYS), (count, 1)), axis=1)  # [count, keys]
    values = random.integers(SYMBOLS, size=(count, KEYS))
    asked = random.integers(KEYS, size=(count, 1))  # its place
    inputs = np.zeros((count, KEYS + distance, KEYS + SYMBOLS), "float32")
    inputs[:, :KEYS, :KEYS] = np.eye(KEYS)[keys]
    inputs[:, :KEYS, KEYS:] = np.eye(SYMBOLS)[values]
    inputs[:, -1, :KEYS] = np.eye(KEYS)[np.take_along_axis(keys, asked, axis=1)[:, 0]]
    return inputs, np.take_along_axis(values, asked, axis=1)


def adding(distance: int, count: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Returns examples: `distance` numbers from [0, 1), one of each half with a mark; the sum of both is asked.

    Features: the number, the mark. Source: Hochreiter and Schmidhuber 1997, "Long Short-Term Memory", section 5.4.
    """
    numbers, half = random.random((count, distance), "float32"), distance // 2
    places = np.stack([random.integers(half, size=count), random.integers(half, distance, size=count)], axis=1)
    marks = np.zeros_like(numbers)
    np.put_along_axis(marks, places, 1, axis=1)
    sums = np.take_along_axis(numbers, places, axis=1).sum(axis=1)
    return np.stack([numbers, marks], axis=-1), sums[:, None, None]


def _copy_written(inputs: np.ndarray, targets: np.ndarray) -> str:
    read = " ".join((_SYMBOLS + ".?")[index] for index in inputs.argmax(axis=-1))
    return f"{read}   answers: {' '.join(_SYMBOLS[target] for target in targets)}"


def _recall_written(inputs: np.ndarray, targets: np.ndarray) -> str:
    def step(features):
        key, value = features[:KEYS], features[KEYS:]
        if not key.any():
            return "."
        return f"K{key.argmax() + 1}" + (f"={_SYMBOLS[value.argmax()]}" if value.any() else "?")

    return f"{' '.join(map(step, inputs))}   answer: {_SYMBOLS[targets[0]]}"


def _adding_written(inputs: np.ndarray, targets: np.ndarray) -> str:
    return f"{' '.join(f'{number:.2f}' + '*' * int(mark) for number, mark in inputs)}   answer: {targets[0, 0]:.2f}"


TASKS = {
    "copy": Task(
        copy,
        SYMBOLS + 2,
        COPIED,
        SYMBOLS,
        0.95,
        f"{COPIED} symbols of {SYMBOLS} kinds, n blanks, and a mark, from which on the symbols must be given back.",
        _copy_written,
    ),
    "recall": Task(
        recall,
        KEYS + SYMBOLS,
        1,
        SYMBOLS,
        0.95,
        f"{KEYS} keys, each with one of {SYMBOLS} values; n steps after the last one, a key asks for its value.",
        _recall_written,
    ),
    "adding": Task(
        adding,
        2,
        1,
        1,
        1 / 60,
        "n numbers from [0, 1), one of each half with a mark; at the end, the sum of both is asked.",
        _adding_written,
    ),
}
"""Name on the command line -> task. 1/60 is a tenth of the mean squared error of always answering 1 (1/6)."""
