"""Unroll's entry point: `python main.py train|evaluate|predict TASK`, `serve`, `check PATH`.

Parses the command line and imports nothing heavy before it knows the command, so that `--help` and a mistyped flag
answer immediately. Results go to stdout, progress and messages to stderr.
"""

import contextlib
import dataclasses
import functools
import operator
import signal
import sys
import threading
from typing import Annotated

import tyro

from pipelines.command_line import TrainCommand, join_help_lines, print_error
from pipelines.commands.check import Check
from pipelines.commands.serve import Serve
from pipelines.support.errors import UserError, is_disk_full
from pipelines.task import TASKS
from pipelines.version import VERSION

_DESCRIPTIONS = {
    "Train": "Train {}, measure it, and export it as a SavedModel. The same command resumes an interrupted run.",
    "Evaluate": "Measure {}.",
    "Predict": "Use {}.",
}


def _task_commands(command: str):
    """Returns the union of the classes named `command` ("Train", "Evaluate" or "Predict") of all tasks, for tyro."""
    subcommands = []
    for entry in TASKS.values():
        if command == "Train" or entry.has_predictions:
            make = join_help_lines(getattr(entry.command(), command))
            default = make(task=entry.name)
            if command == "Train":
                default = dataclasses.replace(default, config=dataclasses.replace(default.config, **entry.defaults))
            description = _DESCRIPTIONS[command].format(entry.description)
            subcommands.append(
                Annotated[make, tyro.conf.subcommand(entry.name, default=default, description=description)]
            )
    return functools.reduce(operator.or_, subcommands)


@dataclasses.dataclass(frozen=True)
class Train:
    """Train a model on text: the embedded sample, a corpus that is downloaded, or your own files."""

    task: _task_commands("Train")


@dataclasses.dataclass(frozen=True)
class Evaluate:
    """Measure an exported model on text that it has not seen."""

    task: _task_commands("Evaluate")


@dataclasses.dataclass(frozen=True)
class Predict:
    """Use an exported model: label, continue or translate text."""

    task: _task_commands("Predict")


Command = (
    Annotated[Train, tyro.conf.subcommand("train")]
    | Annotated[Evaluate, tyro.conf.subcommand("evaluate")]
    | Annotated[Predict, tyro.conf.subcommand("predict")]
    | Annotated[join_help_lines(Serve), tyro.conf.subcommand("serve")]
    | Annotated[join_help_lines(Check), tyro.conf.subcommand("check")]
)


def parse(arguments: list[str] | None = None):
    """Returns the command that the arguments name. Exits with status 2 and a message if they name none."""
    if (sys.argv[1:] if arguments is None else arguments) == ["--version"]:
        print(f"Unroll {VERSION}")
        sys.exit()
    markers = (tyro.conf.OmitArgPrefixes, tyro.conf.OmitSubcommandPrefixes, tyro.conf.FlagCreatePairsOff)
    description = (
        "Unroll: train, measure, export and serve text models. Each command has its own --help; --version prints the "
        "version."
    )
    command = tyro.cli(Command, prog="main.py", args=arguments, config=markers, description=description)
    return command.task if isinstance(command, Train | Evaluate | Predict) else command


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
        resume = " The same command continues from the last checkpoint." if isinstance(command, TrainCommand) else ""
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
            print_error(f"error: {error.filename}: {error.strerror}")
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
