"""Commands, tasks and flags that do not exist: one line, with the most similar one."""

import contextlib
import dataclasses
import functools
import io
import shlex
import sys
from collections.abc import Callable, Iterator
from typing import Any

import tyro

from pipelines.commands.parser_messages import NEEDS_QUOTES, one_line
from pipelines.settings.fields import flag
from pipelines.support.errors import UserError, suggestion
from pipelines.task import TASKS

_OTHER_NAMES = {other: entry.name for entry in TASKS.values() for other in entry.other_names}


def parsed(parse: Callable, arguments: list[str], commands: dict, program: str):
    """Returns `parse(arguments)`, with a UserError of one line for each mistake.

    Args:
        parse: reads the arguments; it exits with status 2 and a message on stderr if they are wrong.
        commands: command -> an instance of its dataclass, or, for commands with tasks, task -> instance; for `learn`
            and `inspect`, topic or inspection -> instance.
        program: name of the program in messages.

    Raises:
        UserError: the arguments name a command, a task or a flag that does not exist, or have another mistake.
        SystemExit: they ask for help.
    """
    messages = io.StringIO()
    try:
        with contextlib.redirect_stderr(messages):
            return parse(arguments)
    except SystemExit as end:
        if end.code == 2:
            check_names(arguments, commands, program)
            words, command = _command(arguments, commands)
            about = functools.partial(_about_unexpected, arguments, len(words), command)
            raise UserError(one_line(messages.getvalue(), " ".join([program, *words]), about)) from end
        sys.stderr.write(messages.getvalue())
        raise


def check_names(arguments: list[str], commands: dict, program: str) -> None:
    """Checks that the command, the task and the flags exist. For the arguments see `parsed`.

    Raises:
        UserError: one of them does not exist.
    """
    command, title = commands, program
    kinds = ("command", {"learn": "topic", "inspect": "inspection"}.get("".join(arguments[:1]), "task"))
    for kind, name in zip(kinds, arguments):
        if not isinstance(command, dict):
            break
        if name.startswith("-"):
            return
        if name not in command and _OTHER_NAMES.get(name.lower()) in command:
            raise UserError(f"no {kind} {name!r}; did you mean {_OTHER_NAMES[name.lower()]}?")
        if name not in command:
            raise UserError(f"no {kind} {name!r}{suggestion(name, command) or ': choose ' + ', '.join(command)}")
        command, title = command[name], f"{title} {name}"
    if isinstance(command, dict):
        return
    known = set(flags(command))
    for argument in arguments:
        name = argument.partition("=")[0].replace("_", "-")
        if argument == "--":
            return
        if name.startswith("--") and name not in known:
            raise UserError(f"no flag {name}{suggestion(name, known)} (`{title} --help-all` lists all flags)")
        if name in _without_flag(command):
            raise UserError(f"`{title}` takes its {name[2:]} without a flag: leave out {name}")


def _without_flag(command) -> set[str]:
    """Returns the fields of a command that are arguments without a flag, as flags."""
    (marker,) = tyro.conf.Positional[str].__metadata__
    fields = dataclasses.fields(command)
    return {flag(field.name) for field in fields if marker in getattr(field.type, "__metadata__", ())}


def _command(arguments: list[str], commands: dict) -> tuple[list[str], Any]:
    """Returns the words of the command and, where there is one, of the task; and what `commands` has for them."""
    words, command = [], commands
    for name in arguments:
        if not isinstance(command, dict) or name not in command:
            break
        words.append(name)
        command = command[name]
    return words, command


def _about_unexpected(arguments: list[str], num_words: int, command, unexpected: list[str]) -> str:
    """Returns what to do with arguments that a command does not take.

    Args:
        num_words: how many of the arguments name the command.
        unexpected: those that it does not take.
    """
    if isinstance(command, dict) or _without_flag(command):
        return NEEDS_QUOTES
    begins = [i for i, each in enumerate(arguments) if i >= num_words and each == unexpected[0]]
    if begins and arguments[begins[0] - 2 : begins[0] - 1] == ["--pair-columns"]:
        return f"the two columns have a comma between them: {','.join(arguments[begins[0] - 1 : begins[0] + 1])}"
    if begins and begins[0] > num_words and not arguments[begins[0] - 1].startswith("--"):
        return NEEDS_QUOTES  # what stands before it is the begin of a flag's value
    name = _flag_of_example(command)
    return (
        f"this command takes no text without a flag{f'; did you mean {name} {shlex.join(unexpected)}?' if name else ''}"
    )


def _flag_of_example(command) -> str | None:
    """Returns the flag with a value that the first example of a command begins with."""
    example = next(iter(getattr(command, "examples", ())), "").replace("{data}", "--data DATA").split()
    has_value = len(example) > 1 and example[0] in flags(command) and not example[1].startswith("--")
    return example[0] if has_value else None


def flags(command) -> Iterator[str]:
    """Yields the flags of an instance of a command's dataclass, and of the dataclasses in it."""
    yield from ("--help", "--help-all")
    for field in dataclasses.fields(command):
        value = getattr(command, field.name)
        if dataclasses.is_dataclass(value):
            yield from flags(value)
        else:
            yield flag(f"no_{field.name}" if value is True else field.name)
