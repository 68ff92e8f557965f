"""The command `tune TASK`: trains with many settings, and reports which are best. Imports nothing heavy."""

import dataclasses
import functools
import itertools
from typing import Annotated

import tyro

from pipelines.command_line import RUNS, SAVED_MODELS, RunsFlag, SavedModelsFlag, print_json
from pipelines.settings.config import TrainingConfig
from pipelines.settings.fields import NAME
from pipelines.support.errors import UserError
from pipelines.task_entry import TaskEntry
from pipelines.tune import values

_DEFAULT_TRIALS = 20


@dataclasses.dataclass(frozen=True, kw_only=True)
class TuneCommand:
    """The flags of every `tune`, and what it does."""

    task: tyro.conf.Suppress[str] = ""
    """Name of the task in the registry."""
    trials: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint=f"(default: {_DEFAULT_TRIALS})")] = None
    """Search: maximum number of trainings. The first one is the preset."""
    minutes: Annotated[float | None, tyro.conf.arg(metavar="M", help_behavior_hint="")] = None
    """Start no other training after this time, and stop those that run at the end of their epoch. The time counts over
    all processes: the same command with more minutes, or more trials, continues."""
    fields: Annotated[tuple[str, ...], tyro.conf.arg(metavar="FIELD [FIELD ...]", help_behavior_hint="")] = ()
    """Search over these fields alone. By default over all that have a range for the model and whose flag is not
    given."""
    grid: Annotated[
        tuple[tuple[str, ...], ...],
        tyro.conf.UseAppendAction,
        tyro.conf.arg(metavar="FIELD=A,B", help_behavior_hint="(repeatable)"),
    ] = ()
    """Do not search: train with each of these values, such as num_layers=1,2,4, and compare them in one report. Of
    several fields, all combinations are trained; those joined by + change together, such as
    window+batch_size=16+64,64+16. No model is exported."""
    equal_parameters: bool = False
    """Grid: choose --hidden-size so that all networks have about as many parameters as the first one."""
    seeds: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="(default: 1)")] = None
    """Grid: train each point with N seeds, from --seed on, and report means with their 95 % intervals."""
    parallel: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="")] = None
    """Trainings at a time. They share the cores. By default one per core as memory allows, or one per GPU; for a grid
    on this machine one, because its report compares times."""
    ray: Annotated[str | None, tyro.conf.arg(metavar="ADDRESS|local", help_behavior_hint="")] = None
    """Run the trainings on a Ray cluster whose machines share the folder of --runs: HOST:PORT of its head, ray://...,
    auto, or local for this machine."""
    run: Annotated[str | None, NAME] = None
    """Name of the folder in runs/tune. By default made from the task, the data's name and the settings."""
    name: Annotated[str | None, NAME] = None
    """Search: name of the exported model, as in `train`."""
    runs: RunsFlag = RUNS
    """Folder of the runs."""
    saved_models: SavedModelsFlag = SAVED_MODELS
    """Folder of the exported models."""
    json: bool = False
    """Print the result as one JSON object."""
    config: TrainingConfig = TrainingConfig()

    def __call__(self) -> None:
        """Searches, or trains the grid, and prints the result."""
        if () in self.grid:
            raise UserError("--grid needs a field and its values, such as --grid num_layers=1,2,4")
        if self.grid:
            result, text = self.compare()
        else:
            self._check(False)
            space = values.searched(self.config, tuple(field.replace("-", "_") for field in self.fields))
            from pipelines.tune import run_search

            result, text = run_search.run(self, space, self.trials or _DEFAULT_TRIALS)
        if self.json:
            print_json(result)
        else:
            print(text)

    def compare(self) -> tuple[dict, str]:
        """Trains the points of --grid; returns the result for --json, and the lines for the terminal."""
        self._check(True)
        found = values.parse_grid(itertools.chain.from_iterable(self.grid), self.config)
        from pipelines.tune import grid

        return grid.run(self, found)

    @property
    def seconds(self) -> float | None:
        """The value of --minutes in seconds."""
        return None if self.minutes is None else 60 * self.minutes

    def _check(self, is_grid: bool) -> None:
        """Checks the flags that are not the config's.

        Raises:
            UserError: one cannot be used, or has no effect.
        """
        for name, value, minimum in (
            ("trials", self.trials, 1),
            ("seeds", self.seeds, 1),
            ("parallel", self.parallel, 1),
        ):
            if value is not None and value < minimum:
                raise UserError(f"--{name} {value}: it must be at least {minimum}")
        if self.minutes is not None and not 0 < self.minutes < float("inf"):
            raise UserError(f"--minutes {self.minutes:g}: it must be above 0")
        if is_grid:
            without_effect = {"trials": self.trials, "fields": self.fields, "name": self.name}
            reason = "--grid trains the given points and exports no model"
        else:
            without_effect = {"equal-parameters": self.equal_parameters, "seeds": self.seeds}
            reason = "it needs --grid"
        for name, value in without_effect.items():
            if value:
                raise UserError(f"--{name} has no effect here: {reason}")
        for name, reason in (
            ("folds", "a search compares trainings on one validation set"),
            ("recipe", "it is a search of its own, of `train transfer`"),
            ("vectors", "with word vectors nothing is trained"),
            ("checkpoint", "a checkpoint is trained already"),
        ):
            if getattr(self.config, name, None):
                raise UserError(f"--{name} has no effect here: {reason}")
        if self.ray is not None:
            from pipelines.distributed import cluster

            cluster.check(self.ray)


def command_of(entry: TaskEntry) -> type[TuneCommand]:
    """Returns the command of a task, with the flags of its config."""
    return _command(entry.config_class(), entry.command().Train.examples[0])


@functools.cache
def _command(config_class: type[TrainingConfig], example: str) -> type[TuneCommand]:
    fields = [("config", config_class, config_class())]
    return dataclasses.make_dataclass(
        "TuneTask",
        fields,
        bases=(TuneCommand,),
        namespace={"examples": (f"{example} --trials 20", f"{example} --minutes 60")},
        frozen=True,
        kw_only=True,
    )
