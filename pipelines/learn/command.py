"""The command `learn`: worked examples of the teaching material, computed by Keras's layers."""

import dataclasses
import functools
import itertools
import operator
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import tyro

from pipelines.command_line import join_help_lines, print_json
from pipelines.learn.settings import Changes, check_number, parse_changes
from pipelines.support.errors import UserError
from pipelines.support.installation import shell_command

if TYPE_CHECKING:
    from pipelines.learn.steps import Lesson

_SIZES, _LENGTHS = (4, 40), (4, 100)  # so that the heat map fits into a terminal


@dataclasses.dataclass(frozen=True, kw_only=True)
class Topic:
    """What all topics share. The first line of a topic's docstring is its line in the list."""

    json: bool = False
    """Print the steps and their numbers, not rounded, as one JSON object."""

    def __call__(self) -> None:
        """Prints the steps."""
        self.check()
        from pipelines.support.quiet import import_tensorflow

        import_tensorflow()
        from pipelines.learn.format import format_lesson
        from pipelines.learn.steps import as_json

        lesson = self.lesson()
        if self.json:
            print_json(as_json(lesson))
        else:
            print("\n".join(format_lesson(lesson)))

    def check(self) -> None:
        """Checks the flags, before TensorFlow is imported.

        Raises:
            UserError: a flag has a wrong value.
        """

    def lesson(self) -> "Lesson":
        """Returns the steps of the topic."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True, kw_only=True)
class SoLongAnd(Topic):
    """A recurrent language model reads "so long and": states, probabilities, loss and perplexity."""

    set: Annotated[
        tuple[tuple[str, ...], ...],
        tyro.conf.UseAppendAction,
        tyro.conf.arg(metavar="MATRIX[ROW,COLUMN]=NUMBER", help_behavior_hint="(repeatable)"),
    ] = ()
    """A number to change, such as W[0,1]=0.5 or E[so,0]=0. The matrices are E (embeddings), W (input), U (recurrent)
    and V (output). Rows and columns start at 0; a row of E and V can be given by its word. In some shells the brackets
    need quotes."""

    def check(self) -> None:
        """Reads the changes."""
        self._changes()

    def lesson(self) -> "Lesson":
        """Returns the steps, with the numbers before the changes."""
        from pipelines.learn.worked_example import so_long_and

        return so_long_and(self._changes())

    def _changes(self) -> Changes:
        if () in self.set:
            raise UserError("--set needs a number to change, such as W[0,1]=0.5")
        return parse_changes(tuple(itertools.chain.from_iterable(self.set)))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Exercise(Topic):
    """Exercises of the chapter on recurrent networks, with each step of their solution: 1, 5, 6 or 10."""

    examples: ClassVar = ("5",)

    number: tyro.conf.Positional[Literal[1, 5, 6, 10]]
    """1: states of a small network; 5: update of an LSTM's cell; 6: parameters of RNN, GRU and LSTM; 10: two
    perplexities."""

    def lesson(self) -> "Lesson":
        """Returns the steps of the solution."""
        from pipelines.learn.exercises import EXERCISES

        return EXERCISES[self.number]()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Attention(Topic):
    """Attention as a soft look-up in a dictionary: query, keys, scores, weights and the result."""

    query: Annotated[tuple[float, float, float], tyro.conf.arg(metavar="SUBJECT VERB OBJECT")] = (0, 6, 0)
    """How much the query asks for the subject, the verb and the object: three numbers from -10 to 10."""

    def check(self) -> None:
        """Checks the numbers of the query."""
        for number in self.query:
            check_number(f"--query {' '.join(f'{x:g}' for x in self.query)}", number)

    def lesson(self) -> "Lesson":
        """Returns the steps of the look-up."""
        from pipelines.learn.attention import attention

        return attention(self.query)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scaling(Topic):
    """Why attention divides the dot product by sqrt(d), measured on random vectors."""

    seed: int = 1
    """Seed of the random vectors."""

    def check(self) -> None:
        """Checks the seed."""
        if not 0 <= self.seed < 2**32:
            raise UserError(f"--seed {self.seed}: it must be from 0 to {2**32 - 1}")

    def lesson(self) -> "Lesson":
        """Returns the measurements."""
        from pipelines.learn.scaling import scaling

        return scaling(self.seed)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Positions(Topic):
    """How attention knows the order of the words: sines and cosines as a picture, and rotary positions."""

    length: int = 20
    """Positions in the picture, 4 to 100."""
    size: int = 16
    """Features of each position, an even number from 4 to 40."""

    def check(self) -> None:
        """Checks that the picture fits into a terminal."""
        if not _LENGTHS[0] <= self.length <= _LENGTHS[1]:
            raise UserError(f"--length {self.length}: it must be from {_LENGTHS[0]} to {_LENGTHS[1]}")
        if not _SIZES[0] <= self.size <= _SIZES[1] or self.size % 2:
            raise UserError(f"--size {self.size}: it must be an even number from {_SIZES[0]} to {_SIZES[1]}")

    def lesson(self) -> "Lesson":
        """Returns the steps."""
        from pipelines.learn.positions import positions

        return positions(self.length, self.size)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Topics:
    """List the topics."""

    json: bool = False
    """Print one JSON object."""

    def __call__(self) -> None:
        """Prints a line for each topic."""
        lines = {name: topic.__doc__.splitlines()[0] for name, topic in TOPICS.items() if topic is not Topics}
        if self.json:
            print_json({"topics": lines})
            return
        width = max(map(len, lines))
        for name, line in lines.items():
            print(f"{name.ljust(width)}  {line}")
        print(f"\nStart with `{shell_command()} learn so-long-and`. Each topic has its own --help.")


TOPICS = {
    "so-long-and": SoLongAnd,
    "exercise": Exercise,
    "attention": Attention,
    "scaling": Scaling,
    "positions": Positions,
    "topics": Topics,
}
"""Topic -> class."""

NAMES = {name: Exercise(number=1) if topic is Exercise else topic() for name, topic in TOPICS.items()}
"""Topic -> an instance, for `mistyped`."""

_Topic = functools.reduce(
    operator.or_,
    (Annotated[join_help_lines(topic), tyro.conf.subcommand(name)] for name, topic in TOPICS.items()),
)


@dataclasses.dataclass(frozen=True)
class Learn:
    """Worked examples of the teaching material, step by step, computed by Keras's layers.

    Without a topic, the topics are listed. docs/learning.md has the commands that show the rest of the material.
    """

    topic: _Topic = Topics()
    json: bool = False
    """Print one JSON object."""

    def __call__(self) -> None:
        """Runs the topic."""
        dataclasses.replace(self.topic, json=self.json or self.topic.json)()
