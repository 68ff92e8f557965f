"""Commands, tasks and flags that do not exist: one line, with the most similar one."""

import contextlib
import dataclasses
import io
import sys
from collections.abc import Callable, Iterator

import tyro

from pipelines.commands.parser_messages import one_line
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
            raise UserError(one_line(messages.getvalue(), _title(arguments, commands, program))) from end
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


def _title(arguments: list[str], commands: dict, program: str) -> str:
    """Returns the program, the command and, where there is one, the task."""
    words, command = [program], commands
    for name in arguments:
        if not isinstance(command, dict) or name not in command:
            break
        words.append(name)
        command = command[name]
    return " ".join(words)


def flags(command) -> Iterator[str]:
    """Yields the flags of an instance of a command's dataclass, and of the dataclasses in it."""
    yield from ("--help", "--help-all")
    for field in dataclasses.fields(command):
        value = getattr(command, field.name)
        if dataclasses.is_dataclass(value):
            yield from flags(value)
        else:
            yield flag(f"no_{field.name}" if value is True else field.name)
