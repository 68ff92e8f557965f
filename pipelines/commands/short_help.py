"""`--help`: examples of a command first, then the flags that most users need, grouped by need.

`--help-all` has all flags, as the parser prints them. Commands with few flags have them all in `--help`, too.
"""

import dataclasses
import itertools
import re
import shutil
import textwrap
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import tyro

from pipelines.settings.fields import flag
from pipelines.support.installation import shell_command

# What a user wants to decide -> the fields of its flags. A flag means the same in every command.
NEEDS = {
    "Data": (
        "data", "target", "vectors", "encoder", "task", "input", "valid", "folds", "text_column",
        "pair_columns", "label_column", "source_column", "target_column", "column", "label_type", "documents",
        "max_labels",
    ),
    "Model": ("preset", "model", "recipe", "from_export", "models", "server"),
    "Training": ("minutes", "epochs", "trials", "grid"),
    "Answers": (
        "explain", "next", "search", "score", "temperature", "max_length", "n_best", "beam_width", "pretokenized",
        "near", "word", "sort", "limit", "tool", "reference",
    ),
    "Server": ("open", "engine", "host", "rest_port", "grpc_port", "tls_certificate", "tls_key"),
    "What is written": ("output", "name", "run", "json"),
}  # fmt: skip
_ARGUMENTS, _OTHERS = "Arguments", "Other flags"
_MAX_FLAGS = 15  # a command with more of them shows those of NEEDS, each with its first sentence
_INDENT, _MAX_LINES = 22, 3  # columns of the names of flags, and lines of a flag where only some are shown
_ARGUMENT = type(tyro.conf.arg())  # name, metavar, help and help_behavior_hint: None where they are not stated
_METAVARS = {int: "N", float: "X", str: "TEXT", Path: "PATH"}


class Flag(NamedTuple):
    """A flag or an argument.

    Attributes:
        field: name of the field of the command, or of a dataclass in it.
        usage: how it is written, such as "--data PATH" or "TEXT ...".
        help: what it does, on one line.
        default: such as "(default: 1)"; "" where the help states it.
        positional: whether it has no name on the command line.
    """

    field: str
    usage: str
    help: str
    default: str
    positional: bool


def flags_of(command) -> Iterator[Flag]:
    """Yields the flags of an instance of a command's dataclass, and of the dataclasses in it, without hidden ones."""
    hints = typing.get_type_hints(type(command), include_extras=True)
    for field in dataclasses.fields(command):
        value = getattr(command, field.name)
        if dataclasses.is_dataclass(value):
            yield from flags_of(value)
            continue
        kind, *marks = typing.get_args(hints[field.name]) if _is_annotated(hints[field.name]) else (hints[field.name],)
        if tyro.conf.Suppress not in marks:
            yield _flag(field, value, kind, marks)


def _is_annotated(hint) -> bool:
    return typing.get_origin(hint) is typing.Annotated


def _flag(field: dataclasses.Field, value, kind, marks: list) -> Flag:
    """Returns the flag of a field with its default value, its type, and its annotations."""
    given: dict[str, Any] = {}
    for mark in (mark for mark in marks if isinstance(mark, _ARGUMENT)):
        given |= {name: stated for name, stated in vars(mark).items() if stated is not None}
    positional = tyro.conf.Positional in marks
    metavar = re.sub(r"(\w+) \[\1 \.\.\.\]", r"\1 ...", given.get("metavar", "")) or (
        "" if isinstance(value, bool) else _metavar(kind)
    )
    name = f"--{given['name']}" if "name" in given else flag(f"no_{field.name}" if value is True else field.name)
    default = "" if value in (None, "", ()) or isinstance(value, bool) or positional else f"(default: {value})"
    return Flag(
        field.name,
        metavar if positional else f"{name} {metavar}".strip(),
        field.metadata.get("help") or given.get("help", ""),
        given.get("help_behavior_hint", default),
        positional,
    )


def _metavar(kind) -> str:
    """Returns the placeholder of a value of this type."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return next(_metavar(each) for each in arguments if each is not types.NoneType)
    if origin is Literal:
        return f"{{{','.join(map(str, arguments))}}}"
    return f"{_metavar(arguments[0])} ..." if origin is tuple else _METAVARS.get(kind, "TEXT")


def brief(text: str) -> str:
    """Returns the first sentence of a help, and what happens without the flag."""
    first, *others = re.split(r"(?<=\.) (?=[A-Z])", text)
    return " ".join([first, *(each for each in others if each.startswith(("By default", "Without it")))])


def help_of_command(command, title: str, description: str, examples: list[str]) -> str:
    """Returns the help of a command.

    Args:
        command: instance of its dataclass, with the help of each field in its metadata.
        title: program and command, such as "main.py train sentiment".
        description: what it does.
        examples: arguments, such as "train sentiment --data reviews.csv".
    """
    flags = list(flags_of(command))
    shows_all = len(flags) <= _MAX_FLAGS
    groups = {_ARGUMENTS: [each for each in flags if each.positional]}
    named = [each for each in flags if not each.positional]
    for need, names in NEEDS.items():
        groups[need] = [each for name in names for each in named if each.field == name]
    if shows_all:
        groups[_OTHERS] = [each for each in named if each not in itertools.chain(*groups.values())]
    arguments = "".join(f" {each.usage}" for each in flags if each.positional)
    lines = [*_first_lines(examples, description), *_wrapped(f"usage: {title}{arguments} [flags]")]
    for need, found in groups.items():
        lines += ["", need] if found else []
        for each in found:
            lines += _flag_lines(each, shows_all)
    return "\n".join(lines if shows_all else [*lines, "", f"`{title} --help-all` has all {len(flags)} flags"])


def help_of_commands(names: dict[str, str], title: str, description: str, examples: list[str], kind: str) -> str:
    """Returns the help of a command that is followed by a name, or of the program.

    Args:
        names: name -> what it does.
        kind: of the names, such as "task".
    """
    width = max(map(len, names)) + 4
    lines = [*_first_lines(examples, description), f"usage: {title} {kind.upper()} ...", ""]
    for name, text in names.items():
        lines += _beside(f"  {name}", text, width)
    return "\n".join([*lines, "", *_wrapped(f"Each {kind} has its own help: `{title} {kind.upper()} --help`")])


def first_commands() -> dict[str, str]:
    """Returns three commands, each with what it does. The data is that of a checkout where there is one."""
    data = "docs/examples/support.csv" if Path("docs/examples/support.csv").is_file() else "messages.csv"
    return {
        f"doctor {data}": "what is in the data",
        f"train classification --data {data}": "train a model, measure it, and export it",
        'predict classification "You took the money twice"': "use the model",
    }


def first_steps() -> str:
    """Returns what a user reads who gives no command."""
    steps = [f"  {shell_command()} {command}\n      {text}" for command, text in first_commands().items()]
    more = f"`{shell_command()} train sentiment` needs no data. `{shell_command()} --help` has all commands."
    return "\n".join(["A command is missing. Three first steps:", "", *steps, "", more])


def _first_lines(examples: list[str], description: str) -> list[str]:
    shown = [f"  {shell_command()} {each}".rstrip() for each in examples]
    return [f"example{'s' * (len(shown) > 1)}:", *shown, "", *_wrapped(description), ""]


def _flag_lines(each: Flag, whole: bool) -> list[str]:
    text = f"{each.help if whole else brief(each.help)} {each.default}".strip()
    return _beside(f"  {each.usage}", text, _INDENT, None if whole else _MAX_LINES)


def _beside(left: str, text: str, indent: int, max_lines: int | None = None) -> list[str]:
    """Returns lines with a text beside what is on the left, or below where that is long."""
    lines = _wrapped(text, " " * indent, max_lines)
    if len(left) >= indent:
        choices = left if len(left) <= _width() else left.replace(",", ", ")
        return [*_wrapped(choices.strip(), "  "), *lines]
    return [left.ljust(indent) + lines[0][indent:], *lines[1:]] if lines else [left]


def _width() -> int:
    return min(shutil.get_terminal_size().columns, 100)


def _wrapped(text: str, indent: str = "", max_lines: int | None = None) -> list[str]:
    paragraphs = [" ".join(each.split()) for each in text.split("\n\n")]
    wrapped = [
        textwrap.wrap(
            each,
            _width(),
            initial_indent=indent,
            subsequent_indent=indent,
            max_lines=max_lines,
            placeholder=" ...",
            break_long_words=False,
            break_on_hyphens=False,
        )
        for each in paragraphs
    ]
    return [line for lines in wrapped for line in lines]
