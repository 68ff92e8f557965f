"""Unroll's entry point: `python main.py train|evaluate|predict|tune TASK`, `serve`, `check PATH`, `list` and so on.

Parses the command line and imports nothing heavy before it knows the command, so that `--help` and a mistyped flag
answer immediately. Results go to stdout, progress and messages to stderr.
"""

import contextlib
import dataclasses
import functools
import itertools
import operator
import signal
import sys
import threading
from typing import Annotated

import tyro

from pipelines.command_line import RUNS, SAVED_MODELS, TrainCommand, join_help_lines, print_error
from pipelines.commands import compare, doctor, short_help
from pipelines.commands.check import Check
from pipelines.commands.list import List
from pipelines.commands.mistyped import check_names, parsed
from pipelines.commands.remove import Remove
from pipelines.commands.serve import Serve
from pipelines.inspect import command as inspect
from pipelines.learn import command as learn
from pipelines.runs.repeat import Start, find_start
from pipelines.support.errors import UserError, is_disk_full, too_long_name
from pipelines.support.installation import called_name
from pipelines.support.version import VERSION
from pipelines.task import TASKS
from pipelines.task_entry import TaskEntry
from pipelines.tune import command as tune

_DESCRIPTIONS = {
    "Train": "Train {}, measure it, and export it as a SavedModel. The same command resumes an interrupted run.",
    "Evaluate": "Measure {}.",
    "Predict": "Use {}.",
    "Tune": "Search for the best settings of {}, or compare settings. The same command resumes.",
    "Prepare": "Prepare the data of {}: `train --data DIR` then reads it in parts, whatever its size.",
}
_HELP = {
    "Train": "Train a model on text: the embedded sample, a corpus that is downloaded, or your own files.",
    "Evaluate": "Measure an exported model on text that it has not seen.",
    "Predict": "Use an exported model: label, tag, continue or translate text.",
    "Tune": "Train with many settings: a search for the best ones, or a comparison.",
    "Prepare": "Prepare a corpus that may be larger than memory: tokenized, shuffled, in shards that train reads.",
}
_DESCRIPTION = "Unroll: train, measure, export and serve text models. --version prints the version."
_OTHER_COMMANDS = {
    "serve": Serve(),
    "check": Check(""),
    "list": List(),
    "compare": compare.Compare(),
    "remove": Remove(""),
    "doctor": doctor.Doctor(),
    "learn": learn.Learn(),
    "inspect": inspect.Inspect(inspect.NAMES["gates"]),
}


@dataclasses.dataclass(frozen=True)
class _OtherCommand:
    """In the place of all commands with tasks but the one that the arguments name: tyro takes long to read those."""


def _task_defaults(command: str, start: Start | None) -> dict[str, object]:
    """Returns task -> an instance of its class for `command`, a key of _HELP, with the defaults; tasks may lack it."""
    defaults = {}
    for entry in TASKS.values():
        made = tune.command_of(entry) if command == "Tune" else getattr(entry.command(), command, None)
        if made is None:
            continue
        default = join_help_lines(made)(task=entry.name)
        if command in ("Train", "Tune", "Prepare"):
            config = dataclasses.replace(default.config, **entry.defaults)
            if command == "Train" and start and start.task == entry.name:
                config = start.config
            default = dataclasses.replace(default, config=config)
        defaults[entry.name] = default
    return defaults


def _with_tasks(command: str, defaults: dict[str, object]):
    """Returns the dataclass of a command whose only field is the union of the tasks' classes, for tyro."""
    if not defaults:
        return Annotated[_OtherCommand, tyro.conf.subcommand(command.lower(), description=_HELP[command])]
    subcommands = [
        Annotated[
            type(default),
            tyro.conf.subcommand(
                name, default=default, description=_DESCRIPTIONS[command].format(TASKS[name].description)
            ),
        ]
        for name, default in defaults.items()
    ]
    fields = [("task", functools.reduce(operator.or_, subcommands))]
    made = dataclasses.make_dataclass(command, fields, frozen=True)
    return Annotated[made, tyro.conf.subcommand(command.lower(), description=_HELP[command])]


@functools.cache  # tyro takes half a second to read the types
def _commands(start: Start | None, named: str) -> tuple[object, dict]:
    """Returns the union of all commands for tyro, and command -> default instance, or task or topic -> instance.

    Args:
        named: the command that the arguments name; the tasks of others are left out.
    """
    defaults = {command: _task_defaults(command, start) if command.lower() == named else {} for command in _HELP}
    commands = [_with_tasks(*item) for item in defaults.items()]
    with_flags = {"doctor": doctor.with_flags, "compare": compare.with_flags}
    others = _OTHER_COMMANDS | ({named: with_flags[named]()} if named in with_flags else {})
    for name, default in others.items():
        commands.append(Annotated[join_help_lines(type(default)), tyro.conf.subcommand(name)])
    names = {command.lower(): instances for command, instances in defaults.items()}
    return functools.reduce(operator.or_, commands), names | others | {
        "learn": learn.NAMES,
        "inspect": inspect.NAMES,
    }


def parse(arguments: list[str] | None = None):
    """Returns the command that the arguments name. Exits with status 2 and a message if they cannot be read.

    Raises:
        UserError: a command, a task or a flag does not exist.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments == ["--version"]:
        print(f"Unroll {VERSION}")
        sys.exit()
    start = find_start(arguments, RUNS, SAVED_MODELS)
    arguments = list(start.arguments) if start else arguments
    commands, names = _commands(start, "".join(arguments[:1]))
    asked = set(itertools.takewhile(lambda word: word != "--", arguments))
    if asked & {"-h", "--help"}:
        check_names(arguments, names, called_name())
        print(_help(arguments, names))
        sys.exit(0)
    if not arguments:
        print_error(short_help.first_steps())
        sys.exit(2)
    arguments = ["--help" if word == "--help-all" and word in asked else word for word in arguments]
    markers = (tyro.conf.OmitArgPrefixes, tyro.conf.OmitSubcommandPrefixes, tyro.conf.FlagCreatePairsOff)

    def read(given: list[str]):
        return tyro.cli(commands, prog=called_name(), args=given, config=markers, description=_DESCRIPTION)

    command = parsed(read, arguments, names, called_name())
    return command.task if type(command).__name__ in _HELP else command


def _help(arguments: list[str], names: dict) -> str:
    """Returns what --help prints for a program, a command, or a command and its task, topic or inspection."""
    command, words = names, []
    for word in arguments:
        if not isinstance(command, dict) or word not in command:
            break
        words.append(word)
        command = command[word]
    title = " ".join([called_name(), *words])
    if not isinstance(command, dict):
        entry = TASKS.get(getattr(command, "task", None) or "") if words[0].title() in _HELP else None
        description = _DESCRIPTIONS[words[0].title()].format(entry.description) if entry else type(command).__doc__
        return short_help.help_of_command(command, title, description, _examples(words, command, entry))
    if not words:
        texts = {name.lower(): text for name, text in _HELP.items()}
        texts |= {name: type(default).__doc__.partition("\n")[0] for name, default in _OTHER_COMMANDS.items()}
        return short_help.help_of_commands(texts, title, _DESCRIPTION, [*short_help.first_commands()], "command")
    name, default = next(iter(command.items()))
    if words[0].title() in _HELP:
        texts, kind = {name: TASKS[name].description for name in command}, "task"
        description, examples = _HELP[words[0].title()], _examples([*words, name], default, TASKS[name])
    else:
        texts = {name: type(each).__doc__.partition("\n")[0] for name, each in command.items()}
        kind = {"learn": "topic", "inspect": "inspection"}[words[0]]
        description, examples = type(_OTHER_COMMANDS[words[0]]).__doc__, _examples([*words, name], default, None)
    return short_help.help_of_commands(texts, title, description, examples, kind)


def _examples(words: list[str], command, entry: TaskEntry | None) -> list[str]:
    """Returns the examples of a command, with the data and the text of its task."""
    values = {"data": entry.example_data, "text": entry.example_text} if entry else {}
    return [" ".join([*words, each.format(**values)]).strip() for each in getattr(command, "examples", ("",))]


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; returns the exit status."""
    command = None
    try:
        command = parse(arguments)
        sys.stdout.reconfigure(errors="backslashreplace")  # texts that are not valid UTF-8 can still be printed
        with contextlib.nullcontext() if isinstance(command, Serve) else _terminated_as_interrupted():
            command()
    except UserError as error:
        print_error(f"error: {error}")
        return 2
    except KeyboardInterrupt:
        resumable = isinstance(command, TrainCommand | tune.TuneCommand)
        resume = " The same command continues from the last checkpoint." if resumable else ""
        print_error(f"interrupted.{resume}")
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except Exception as error:
        if is_disk_full(error):
            print_error(
                "error: the disk is full: no half-written file was kept. Free some space and repeat the same command."
            )
            return 2
        if isinstance(error, OSError) and error.filename is not None:
            print_error(f"error: {too_long_name(error) or f'{error.filename}: {error.strerror}'}")
            return 2
        raise
    return 0


@contextlib.contextmanager
def _terminated_as_interrupted():
    """Treats SIGTERM as Ctrl-C, so that temporary files are removed. `serve` ends in its own way."""
    if threading.current_thread() is not threading.main_thread():  # no other thread can handle signals
        yield
        return

    def interrupt(number, frame):
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


if __name__ == "__main__":
    sys.exit(main())
