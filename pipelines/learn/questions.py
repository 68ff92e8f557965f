"""Questions to the reader, and whether an answer is right. It imports neither NumPy nor TensorFlow."""

import dataclasses
import re
from collections.abc import Sequence
from fractions import Fraction

from pipelines.support.errors import UserError
from pipelines.support.numbers import counted

_TOLERANCE = 0.01  # of a number, relative: two correct digits
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?", re.IGNORECASE)
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:[,.'\u2019\u00a0\u202f ]\d{3})+")


@dataclasses.dataclass(frozen=True)
class Question:
    """A question whose answer is one number or one word.

    Attributes:
        text: the question.
        answer: the right answer; of several words that are right, all of them.
        because: where the answer comes from, one sentence.
        tolerance: by how much a number may differ.
    """

    text: str
    answer: float | int | tuple[str, ...]
    because: str
    tolerance: float | None = None

    def is_right(self, given: str) -> bool:
        """Returns whether an answer is right.

        Raises:
            UserError: the answer is a number, and `given` is none.
        """
        if isinstance(self.answer, tuple):
            return _word(given) in map(_word, self.answer)
        allowed = self.allowed() * (1 + 1e-9)
        return any(abs(number - self.answer) <= allowed for number in numbers_of(given))

    def allowed(self) -> float:
        """Returns by how much an answer that is a number may differ: by 1 % if nothing is stated, an integer by 0."""
        if self.tolerance is not None:
            return self.tolerance
        return 0.0 if isinstance(self.answer, int) else abs(self.answer) * _TOLERANCE  # type: ignore[arg-type]

    def shown(self) -> str:
        """Returns the right answer for a reader."""
        if isinstance(self.answer, tuple):
            return " or ".join(self.answer)
        return f"{self.answer:,}" if isinstance(self.answer, int) else f"{self.answer:.4g}"


def checked(questions: Sequence[Question], answers: Sequence[str]) -> list[bool]:
    """Returns for each question whether its answer is right.

    Raises:
        UserError: there are more or fewer answers than questions, or one is no number where a number is asked for.
    """
    if len(answers) != len(questions):
        raise UserError(
            f"{counted(len(answers), 'answer')} for {counted(len(questions), 'question')}: give one answer for each, "
            "in their order"
        )
    return [question.is_right(answer) for question, answer in zip(questions, answers, strict=True)]


def numbers_of(given: str) -> list[float]:
    """Returns the numbers that an answer may mean: 0.25 of `.25`, `0,25`, `25 %` and `1/4`, both of `1,234`.

    Raises:
        UserError: it is no number.
    """
    text = given.strip().replace("\u2212", "-")
    percent = text.endswith("%")
    text = text.removesuffix("%").strip()
    found = []
    if _THOUSANDS.fullmatch(text):
        found.append(float(re.sub(r"[^-+\d]", "", text)))
    numerator, slash, denominator = (part.strip() for part in text.partition("/"))
    if slash and all(_NUMBER.fullmatch(part) for part in (numerator, denominator)) and float(denominator):
        found.append(float(Fraction(numerator) / Fraction(denominator)))
    elif _NUMBER.fullmatch(decimal := text.replace(",", ".")):
        found.append(float(decimal))
    if not found:
        raise UserError(f"{given!r} is no number: write it as 0.25, 0,25, 25% or 1/4")
    return [number / 100 for number in found] + found if percent else found


def _word(text: str) -> str:
    return " ".join(re.sub(r"[^\w\s]", " ", text.lower()).split())
