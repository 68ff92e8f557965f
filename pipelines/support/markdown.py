"""Texts of users in the Markdown of reports: they are shown as they are, and nothing in them is Markdown or HTML."""

import re
import unicodedata

from pipelines.support.examples import excerpt

MAX_NAME = 60  # characters of a name: a longer one is cut
_MARKS = re.compile(r"([\\`*<>|\[\]#~&]|(?<!\w)_|_(?!\w))")  # within a word, _ is no mark
_DIRECTIONS = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)])  # they may turn what follows a text
_ISOLATE, _END = "\N{FIRST STRONG ISOLATE}", "\N{POP DIRECTIONAL ISOLATE}"


def text(words: object, maximum: int | None = MAX_NAME) -> str:
    """Returns a name or a value of the user as one line of Markdown.

    Args:
        maximum: characters; None is any number of them.
    """
    return isolated(escaped(shorter(str(words), maximum)))


def quoted(words: str, maximum: int) -> str:
    """Returns the start of a text of the user, of at most `maximum` characters, in quotation marks."""
    return f"\N{LEFT DOUBLE QUOTATION MARK}{text(excerpt(words, maximum), None)}\N{RIGHT DOUBLE QUOTATION MARK}"


def shorter(words: str, maximum: int | None = MAX_NAME) -> str:
    """Returns a text on one line without control characters. The middle of a longer one is left out."""
    if maximum is not None and len(words) > maximum:
        end = maximum // 3
        words = f"{words[: maximum - end - 1]}\N{HORIZONTAL ELLIPSIS}{words[-end:]}"
    words = " ".join(words.translate(_DIRECTIONS).split())
    return "".join(each for each in words if unicodedata.category(each) not in ("Cc", "Cs"))


def escaped(words: str) -> str:
    """Returns a text as Markdown on one line, in which no character of the text is a mark."""
    return _MARKS.sub(r"\\\1", shorter(words, None))


def isolated(words: str) -> str:
    """Returns a text whose letters from right to left do not change the order of what surrounds it."""
    if any(unicodedata.bidirectional(each) in ("R", "AL") for each in words):
        return f"{_ISOLATE}{words}{_END}"
    return words


def fenced(lines: list[str], language: str = "") -> list[str]:
    """Returns lines as a block of code, also if some of them are the marks of a block."""
    longest = max((len(each) for line in lines for each in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{language}", *lines, fence]
