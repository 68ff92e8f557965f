"""The messages of tyro, boxes of several lines that name Python's types, as one line like every other error."""

import itertools
import re
from collections.abc import Callable

from pipelines.support.errors import suggestion

_FRAME, _RULE = "│|╭╮╰╯+ ", "─-"  # the second of each where the terminal has ASCII alone
# What papers call a choice -> its name here.
_OTHER_NAMES = {"concat": "additive", "bahdanau": "additive", "multiplicative": "general", "bilinear": "general"}
NEEDS_QUOTES = "a text with spaces needs quotes"
_UNEXPECTED = re.compile(r"Unrecognized options: (.*)")
_NUMBER = re.compile(r"int\(\)|<class 'int'>")


def one_line(message: str, title: str, about_unexpected: Callable[[list[str]], str] = lambda _: NEEDS_QUOTES) -> str:
    """Returns what is wrong with the arguments, in one line.

    Args:
        message: what tyro printed.
        title: program and command, such as "main.py train sentiment".
        about_unexpected: arguments that the command does not take -> what to do with them.
    """
    lines = [line.strip(_FRAME) for line in message.splitlines()[1:]]
    lines = ["" if not line.strip(_RULE) else line for line in lines]
    whole = " ".join(filter(None, lines))
    text = " ".join(itertools.takewhile(bool, itertools.dropwhile(lambda line: not line, lines)))
    if found := _UNEXPECTED.match(text):
        unexpected = found[1].split(", ")
        text = f"{' '.join(unexpected)} is not expected here: {about_unexpected(unexpected)}"
    return f"{_reworded(text, whole)} (`{title} --help-all` has all flags)"


def _reworded(text: str, whole: str) -> str:
    """Returns a message in the words of the command line.

    Args:
        text: the message.
        whole: the same with what follows the first rule.
    """
    if found := re.match(r"Error parsing (\S+): (.*)", text):
        return f"{found[1]} {_values(found[2])}: it must be {_kind(whole)}"
    if found := re.match(r"Missing value for argument '(.*?)'\. Expected (\d+) values", text):
        return f"{found[1]} needs {'a value' if found[2] == '1' else f'{found[2]} values'}"
    if found := re.match(r"invalid choice '(.*)' for argument '(.*?)'\. Expected one of \((.*?),?\)", text):
        name = found[2] if found[2].startswith("-") else found[2].rpartition(".")[2].replace("_", "-")
        choices = [each for each in re.findall(r"'(.*?)'", found[3]) if each != "None"]
        choices.sort(key=lambda each: (len(each) if each.isdecimal() else 0, each))  # tyro has them in any order
        other = _OTHER_NAMES.get(found[1].lower())
        hint = f"; did you mean {other}?" if other in choices else suggestion(found[1], choices)
        return f"{name} {found[1]}: choose {', '.join(choices)}{hint}"
    if found := re.match(r"Missing from .*?: (\S+) ?(.*?)(?: \(required\))?$", text):
        return f"{found[1]} is missing{f': {found[2]}' if found[2] else ''}"
    if found := re.match(r"Expected one of \{(.*)\}", text):
        return f"the next word is missing: choose {found[1]}"
    return text


def _values(reason: str) -> str:
    """Returns the values that a message names: those in the last list, else in the last quotes."""
    listed = re.findall(r"\[('.*?')\]", reason)
    quoted = re.findall(r"'(.*?)'", listed[0] if listed else reason)
    return " ".join(quoted if listed else quoted[-1:])


def _kind(text: str) -> str:
    if _NUMBER.search(text):
        return "a whole number"
    if "float:" in text or "<class 'float'>" in text:
        return "a number"
    return "numbers" if "arguments" in text else "a value of another type"
