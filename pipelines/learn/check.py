"""`learn check`: compares a reader's answers to the questions of a lesson or an exercise. It imports nothing heavy."""

import dataclasses
import re
import textwrap
from typing import TYPE_CHECKING, Annotated, ClassVar

import tyro

from pipelines.command_line import RUNS, SAVED_MODELS, RunsFlag, SavedModelsFlag, print_json
from pipelines.learn.lessons.registry import LESSONS, make
from pipelines.learn.questions import checked
from pipelines.support.errors import UserError
from pipelines.support.installation import shell_command

if TYPE_CHECKING:
    from pipelines.learn.steps import Lesson

_WHAT = re.compile(r"(lesson|exercise)[- ]?(\d{1,2})")
NUM_EXERCISES = 12
_WIDTH = 100
ExerciseSeed = Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="")]


def check_seed(seed: int | None) -> None:
    """Checks the seed of random numbers.

    Raises:
        UserError: it is out of range.
    """
    if seed is not None and not 0 <= seed < 2**32:
        raise UserError(f"--seed {seed}: it must be from 0 to {2**32 - 1}")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Check:
    """Check the answers to a lesson or an exercise; without answers, print its questions."""

    examples: ClassVar = ("exercise-5", "exercise-5 0.9 0.95", "lesson-1 .76 many was")

    what: tyro.conf.Positional[Annotated[str, tyro.conf.arg(metavar="LESSON|EXERCISE")]]
    """lesson-1 to lesson-10, or exercise-1 to exercise-12."""
    answers: tyro.conf.Positional[Annotated[tuple[str, ...], tyro.conf.arg(metavar="ANSWER ...")]] = ()
    """One answer for each question, in their order: numbers such as 0.25, 0,25, 25% or 1/4, or words. Negative numbers
    need `--` before the first answer."""
    seed: ExerciseSeed = None
    """Exercises: other numbers than the book's; the same seed gives the same numbers."""
    key: bool = False
    """For teachers: print the right answers."""
    json: bool = False
    """Print one JSON object."""
    runs: RunsFlag = RUNS
    """Folder of the runs."""
    saved_models: SavedModelsFlag = SAVED_MODELS
    """Folder of the exported models."""

    def __call__(self) -> None:
        """Prints the questions, or which answers are right. The exit status is 1 if one is wrong."""
        kind, number = self._asked()
        from pipelines.support.quiet import import_tensorflow

        import_tensorflow()
        lesson = self._lesson(kind, number)
        right = checked(lesson.questions, self.answers) if self.answers else []
        if self.json:
            print_json(self._as_json(lesson, right))
        elif self.answers:
            self._print_checked(lesson, right)
        else:
            self._print_questions(lesson)
        if not all(right):
            raise SystemExit(1)

    def _asked(self) -> tuple[str, int]:
        """Returns lesson or exercise, and its number.

        Raises:
            UserError: there is none of this name, or a flag has no effect.
        """
        check_seed(self.seed)
        match = _WHAT.fullmatch(self.what.strip().lower())
        if not match:
            raise UserError(f"{self.what}: write it as lesson-4 or exercise-5")
        kind, number = match[1], int(match[2])
        last = max(LESSONS) if kind == "lesson" else NUM_EXERCISES
        if not 1 <= number <= last:
            raise UserError(f"{self.what}: there are {kind}-1 to {kind}-{last}")
        if kind == "lesson" and self.seed is not None:
            raise UserError(f"--seed {self.seed}: it is for exercises; lessons have the same questions each time")
        return kind, number

    def _lesson(self, kind: str, number: int) -> "Lesson":
        if kind == "exercise":
            from pipelines.learn.exercises.registry import exercise

            return exercise(number, self.seed)
        from pipelines.learn.course import Course

        return make(number, Course(self.runs, self.saved_models))

    def _as_json(self, lesson: "Lesson", right: list[bool]) -> dict:
        questions = []
        for i, question in enumerate(lesson.questions):
            row = {"question": question.text}
            if self.answers:
                row |= {"given": self.answers[i], "right": right[i]}
            if self.key:
                row |= {"answer": question.answer, "because": question.because}
            questions.append(row)
        counts = {"right": sum(right), "of": len(questions)} if self.answers else {}
        return {"what": lesson.title.partition(":")[0], "seed": self.seed, "questions": questions, **counts}

    def _print_questions(self, lesson: "Lesson") -> None:
        from pipelines.learn.format import format_lesson, format_questions

        given = dataclasses.replace(lesson, steps=lesson.steps[: lesson.given], questions=(), sources=())
        print("\n".join([*format_lesson(given), *format_questions(dataclasses.replace(lesson, sources=()))]))
        if self.key:
            print("\nAnswers")
            for number, question in enumerate(lesson.questions, 1):
                print(f"   {number}. {question.shown()}: {question.because}")
            return
        seed = "" if self.seed is None else f" --seed {self.seed}"
        what = "-".join(lesson.title.partition(":")[0].split())
        answers = " ".join(["ANSWER"] * len(lesson.questions))
        print(f"\nAnswer with `{shell_command()} learn check {what}{seed} {answers}`.")

    def _print_checked(self, lesson: "Lesson", right: list[bool]) -> None:
        for number, (question, given, is_right) in enumerate(
            zip(lesson.questions, self.answers, right, strict=True), 1
        ):
            shown = f" The answer is {question.shown()}." if self.key and not is_right else ""
            verdict = f"{number}. {given}: {'right' if is_right else 'not yet'}. {question.because}{shown}"
            print("\n".join(textwrap.wrap(verdict, _WIDTH, subsequent_indent="   ")))
        print(f"{sum(right)} of {len(right)} are right.")
