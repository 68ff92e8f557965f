"""Unroll's front door: `python main.py train|evaluate|predict PIPELINE`, `serve`, `check PATH`.

Reads the command line and imports nothing heavy before it knows what to do, so that `--help` and a mistyped flag answer at
once. Results go to stdout, progress and messages to stderr.
"""

import dataclasses
import sys
from typing import Annotated

import tyro

from pipelines.commands import char_lm, check, encoder, nmt, sentiment, serve, transfer
from pipelines.commands.common import Training, tell
from pipelines.errors import UserError, is_disk_full


@dataclasses.dataclass(frozen=True)
class Train:
    """Train a pipeline on text: embedded, downloaded or your own."""

    pipeline: (
        Annotated[sentiment.Train, tyro.conf.subcommand("sentiment")]
        | Annotated[char_lm.Train, tyro.conf.subcommand("char-lm")]
        | Annotated[nmt.Train, tyro.conf.subcommand("nmt")]
        | Annotated[transfer.Train, tyro.conf.subcommand("transfer")]
        | Annotated[encoder.Train, tyro.conf.subcommand("encoder")]
    )


@dataclasses.dataclass(frozen=True)
class Evaluate:
    """Measure an exported model on text that it has not seen."""

    pipeline: (
        Annotated[sentiment.Evaluate, tyro.conf.subcommand("sentiment")]
        | Annotated[char_lm.Evaluate, tyro.conf.subcommand("char-lm")]
        | Annotated[nmt.Evaluate, tyro.conf.subcommand("nmt")]
        | Annotated[transfer.Evaluate, tyro.conf.subcommand("transfer")]
    )


@dataclasses.dataclass(frozen=True)
class Predict:
    """Answer with an exported model."""

    pipeline: (
        Annotated[sentiment.Predict, tyro.conf.subcommand("sentiment")]
        | Annotated[char_lm.Predict, tyro.conf.subcommand("char-lm")]
        | Annotated[nmt.Predict, tyro.conf.subcommand("nmt")]
        | Annotated[transfer.Predict, tyro.conf.subcommand("transfer")]
    )


Command = (
    Annotated[Train, tyro.conf.subcommand("train")]
    | Annotated[Evaluate, tyro.conf.subcommand("evaluate")]
    | Annotated[Predict, tyro.conf.subcommand("predict")]
    | Annotated[serve.Serve, tyro.conf.subcommand("serve")]
    | Annotated[check.Check, tyro.conf.subcommand("check")]
)


def parse(arguments: list[str] | None = None):
    """The command that the arguments name. Ends the process with status 2 and a message where they name none."""
    markers = (tyro.conf.OmitArgPrefixes, tyro.conf.OmitSubcommandPrefixes, tyro.conf.FlagCreatePairsOff)
    command = tyro.cli(
        Command, prog="main.py", args=arguments, config=markers,
        description="Unroll: train, measure, export and serve text models. Each command has a --help of its own.",
    )  # fmt: skip
    return getattr(command, "pipeline", command)


def main(arguments: list[str] | None = None) -> int:
    command = None
    try:
        command = parse(arguments)
        sys.stdout.reconfigure(errors="backslashreplace")  # a text that is not UTF-8 can be shown all the same
        command()
    except UserError as error:
        tell(f"error: {error}")
        return 2
    except KeyboardInterrupt:
        tell("interrupted. The same command goes on from the last checkpoint." if command_trains(command) else "interrupted.")
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except Exception as error:
        if is_disk_full(error):
            tell("error: the disk is full: nothing half-written was kept. Make room and run the same command again.")
            return 2
        if isinstance(error, OSError) and error.filename is not None:
            tell(f"error: {error.filename}: {error.strerror}")
            return 2
        raise
    return 0


def command_trains(command) -> bool:
    return isinstance(command, Training)


if __name__ == "__main__":
    sys.exit(main())
