"""What a topic of `learn` returns: a lesson of steps, with the numbers that each step computes, and its questions."""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from pipelines.learn.questions import Question

if TYPE_CHECKING:
    from pipelines.inspect.figure import Figure


@dataclasses.dataclass(frozen=True)
class Values:
    """A number, a vector or a matrix with its name.

    Numbers are rounded to `digits` when they are printed, integers are not.
    """

    name: str
    numbers: np.ndarray | float | int
    """[], [n] or [m, n]."""
    rows: tuple[str, ...] = ()
    """Labels of the m rows."""
    columns: tuple[str, ...] = ()
    """Labels of the n columns."""
    digits: int = 3
    before: np.ndarray | float | None = None
    """The same numbers before the reader changed something; differences are printed."""
    infinite: str = "infinite"
    """What is printed for a number that is infinite."""


@dataclasses.dataclass(frozen=True)
class Step:
    """One step of a computation."""

    title: str
    equation: str = ""
    values: tuple[Values, ...] = ()
    layer: str = ""
    """What computed the values, such as keras.layers.SimpleRNN."""
    text: str = ""
    """What to see in the values."""
    picture: tuple[str, ...] = ()
    """Lines that are printed as they are, after the values."""
    command: str = ""
    """The command that shows the same, after `python main.py`."""
    figures: "tuple[Figure, ...]" = ()
    """What the command draws, or what belongs to the values if there is no command."""
    drawing: str = ""
    """An SVG image (figures/svg.py); in text it is left out."""


@dataclasses.dataclass(frozen=True)
class Lesson:
    """The steps of a topic, with its title and the question that it answers."""

    title: str
    question: str
    steps: tuple[Step, ...]
    questions: tuple[Question, ...] = ()
    """For the reader: `learn check` compares the answers."""
    sources: tuple[str, ...] = ()
    """Where the code is that computed it: file.py:function, or file.py:Class.method."""
    given: int = 0
    """How many of the first steps state what the questions need, and not their answers."""


def as_json(lesson: Lesson) -> dict:
    """Returns the lesson for JSON: numbers as lists, not rounded; a number that is not finite becomes None."""
    steps = [
        {
            "title": step.title,
            "equation": step.equation,
            "layer": step.layer,
            "text": step.text,
            "values": [_value_as_json(value) for value in step.values],
            "picture": list(step.picture),
            "command": step.command,
        }
        for step in lesson.steps
    ]
    questions = [each.text for each in lesson.questions]
    return {"title": lesson.title, "question": lesson.question, "steps": steps, "questions": questions}


def _value_as_json(value: Values) -> dict:
    described = {"name": value.name, "numbers": _plain(value.numbers)}
    if value.rows:
        described["rows"] = list(value.rows)
    if value.columns:
        described["columns"] = list(value.columns)
    if value.before is not None:
        described["before"] = _plain(value.before)
    return described


def _plain(numbers) -> list | float | int | None:
    numbers = np.asarray(numbers)
    if numbers.ndim:
        return [_plain(row) for row in numbers]
    return numbers.item() if np.isfinite(numbers) else None
