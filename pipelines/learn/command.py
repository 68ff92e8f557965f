"""The command `learn`: ten lessons, worked examples and exercises, computed by Keras's layers and small models."""

import dataclasses
import functools
import itertools
import operator
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import tyro

from pipelines.command_line import RUNS, SAVED_MODELS, RunsFlag, SavedModelsFlag, join_help_lines, print_json
from pipelines.learn.check import NUM_EXERCISES, Check, ExerciseSeed, check_seed
from pipelines.learn.claim import ClaimTest
from pipelines.learn.figures.topic import FigureOf
from pipelines.learn.glossary import Glossary
from pipelines.learn.lessons.registry import LESSONS, make
from pipelines.learn.settings import (
    EVERY,
    NETWORKS,
    Changes,
    check_number,
    parse_changes,
    parse_distances,
    parse_networks,
)
from pipelines.learn.topic import OutputFlag, Topic
from pipelines.support.errors import UserError
from pipelines.support.installation import shell_command

if TYPE_CHECKING:
    from pipelines.learn.steps import Lesson

_SIZES, _LENGTHS = (4, 40), (4, 100)  # so that the heat map fits into a terminal
_MOST_SEEDS = 100


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
class LessonOf(Topic):
    """A lesson of the course: text, numbers, figures and questions; its model is trained at the first call."""

    examples: ClassVar = ("1", "4 --output lesson-4.html", "8 --output lesson-8.ipynb")

    number: tyro.conf.Positional[Literal[tuple(LESSONS)]]  # type: ignore[valid-type]
    """1 to 10, in this order."""
    output: OutputFlag = None
    runs: RunsFlag = RUNS
    """Folder of the runs."""
    saved_models: SavedModelsFlag = SAVED_MODELS
    """Folder of the exported models."""

    def lesson(self) -> "Lesson":
        """Returns the steps, after training the models that do not exist."""
        from pipelines.learn.course import Course

        return make(self.number, Course(self.runs, self.saved_models))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Backward(Topic):
    """The gradient of a recurrent network, step by step: Jacobians, truncation, clipping, RTRL."""

    def lesson(self) -> "Lesson":
        """Returns the steps."""
        from pipelines.learn.backward import backward_lesson

        return backward_lesson()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Exercise(Topic):
    """An exercise of the chapter on recurrent networks, with each step of its solution."""

    examples: ClassVar = ("5", "5 --seed 3")

    number: tyro.conf.Positional[Literal[tuple(range(1, NUM_EXERCISES + 1))]]  # type: ignore[valid-type]
    """1: states of a small network; 2: hidden size; 3: gates at a word; 4: a forget gate over many words; 5: update of
    an LSTM's cell; 6: parameters of RNN, GRU and LSTM; 7: gradients of early steps; 8: truncation; 9: other long
    dependencies; 10: two perplexities; 11: both directions; 12: depth and width."""
    seed: ExerciseSeed = None
    """Other numbers than the book's; the same seed gives the same numbers."""

    def check(self) -> None:
        """Checks the seed."""
        check_seed(self.seed)

    def lesson(self) -> "Lesson":
        """Returns the steps of the solution."""
        from pipelines.learn.exercises.registry import exercise

        return exercise(self.number, self.seed)


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
        check_seed(self.seed)

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
class Memory(Topic):
    """How many steps of training RNN, LSTM, GRU and attention need to remember over a distance."""

    examples: ClassVar = ("", "--task adding --distances 10,50 --networks simple,lstm --output memory.html")

    task: Literal["copy", "recall", "adding"] = "recall"
    """copy: give back symbols after n blanks; recall: the value of a key that was read n steps before; adding: the sum
    of two marked ones of n numbers."""
    distances: Annotated[str, tyro.conf.arg(metavar="N,N,...")] = "5,10,20,40"
    """Distances n between the information and its use, 2 to 500."""
    networks: Annotated[str, tyro.conf.arg(metavar="NAME,NAME,...")] = ",".join(NETWORKS)
    """Which networks: simple, lstm, gru, attention (an LSTM with attention), transformer."""
    seeds: int = 3
    """How many trainings of each network at each distance, from seeds 1, 2, ...; the table has their median."""
    max_steps: int = 1500
    """After so many steps a training ends, solved or not: a multiple of 25."""
    output: OutputFlag = None

    def check(self) -> None:
        """Checks the distances, the names and the numbers."""
        parse_distances(self.distances)
        parse_networks(self.networks)
        if not 1 <= self.seeds <= _MOST_SEEDS:
            raise UserError(f"--seeds {self.seeds}: it must be from 1 to {_MOST_SEEDS}")
        if self.max_steps < 1 or self.max_steps % EVERY:
            raise UserError(f"--max-steps {self.max_steps}: it must be a multiple of {EVERY}, {EVERY} or more")

    def lesson(self) -> "Lesson":
        """Returns the measurements, after the trainings."""
        from pipelines.learn.memory import measure, memory

        distances, networks = parse_distances(self.distances), parse_networks(self.networks)
        return memory(measure(self.task, distances, networks, self.seeds, self.max_steps))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Topics:
    """List the lessons and the topics."""

    json: bool = False
    """Print one JSON object."""

    def __call__(self) -> None:
        """Prints a line for each lesson and each topic."""
        lessons = {f"lesson {number}": line for number, (_, line) in LESSONS.items()}
        topics = {name: _first_line(topic) for name, topic in TOPICS.items() if topic not in (Topics, LessonOf)}
        if self.json:
            print_json({"lessons": lessons, "topics": topics})
            return
        width = max(map(len, [*lessons, *topics]))
        for name, line in {**lessons, **topics}.items():
            print(f"{name.ljust(width)}  {line}")
        print(f"\nStart with `{shell_command()} learn lesson 1`. Each topic has its own --help.")


def _first_line(topic) -> str:
    return topic.__doc__.splitlines()[0]


TOPICS = {
    "lesson": LessonOf,
    "check": Check,
    "exercise": Exercise,
    "glossary": Glossary,
    "claim": ClaimTest,
    "so-long-and": SoLongAnd,
    "figures": FigureOf,
    "backward": Backward,
    "attention": Attention,
    "scaling": Scaling,
    "positions": Positions,
    "memory": Memory,
    "topics": Topics,
}
"""Topic -> class."""

_NEEDED = {Exercise: {"number": 1}, LessonOf: {"number": 1}, Check: {"what": "lesson-1"}}
NAMES = {name: topic(**_NEEDED.get(topic, {})) for name, topic in TOPICS.items()}
"""Topic -> an instance, for `mistyped`."""

_Topic = functools.reduce(
    operator.or_,
    (Annotated[join_help_lines(topic), tyro.conf.subcommand(name)] for name, topic in TOPICS.items()),
)


@dataclasses.dataclass(frozen=True)
class Learn:
    """Ten lessons that train small models, worked examples step by step, and exercises that are checked.

    Without a topic, the lessons and topics are listed. docs/learning.md has the commands for the rest of the material.
    """

    topic: _Topic = Topics()
    json: bool = False
    """Print one JSON object."""

    def __call__(self) -> None:
        """Runs the topic."""
        dataclasses.replace(self.topic, json=self.json or self.topic.json)()
