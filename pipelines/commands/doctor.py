"""The command `doctor`: what this machine has, what the data is like, and what training would do with it."""

import dataclasses
import os
from pathlib import Path
from typing import Annotated, Any, ClassVar

import tyro

from pipelines.command_line import RUNS, SAVED_MODELS, RunsFlag, SavedModelsFlag, print_json
from pipelines.commands import flags_of_tasks, guessed_task
from pipelines.commands.guessed_task import Guess
from pipelines.runs import inventory
from pipelines.settings.fields import PATH, flag
from pipelines.support import machine, paths
from pipelines.support.errors import UserError, suggestion
from pipelines.support.findings import Examined, fact_lines, finding_lines
from pipelines.support.installation import ROOT, called_name, ray_installation
from pipelines.support.version import VERSION
from pipelines.task import TASKS
from pipelines.task_entry import TaskEntry

_MIN_DISK, _MIN_MEMORY = 2 * 10**9, 2 * 10**9  # a run with --preset full takes up to 2 GB of memory
_MAX_LISTED = 12
_LOCK, _RAY = ROOT / "requirements.lock", ROOT / "requirements-ray.txt"


_OWN = ("data", "valid")  # fields whose flags `doctor` declares itself


@dataclasses.dataclass(frozen=True)
class Doctor:
    """Check this machine and, if given, data: what was found in it, what mends it, and what training would do with it.

    It reads everything and changes nothing.
    """

    examples: ClassVar = ("reviews.csv", "train.en --target train.de")

    data: tyro.conf.Positional[Annotated[tuple[str, ...], tyro.conf.arg(metavar="DATA", help_behavior_hint="")]] = ()
    """Data of any task, in the formats of its `train`. Without it, only the machine is checked."""
    task: Annotated[str | None, tyro.conf.arg(metavar="TASK", help_behavior_hint="")] = None
    """Task that the data is for, such as tagging or translation. By default guessed by its content."""
    valid: Annotated[str | None, PATH] = None
    """Validation data of your own, as in training. Without it, a part of DATA is split off."""
    polarity: bool = False
    """Read the labels as `train sentiment` does: 0 and 1, or neg and pos, are negative and positive. The same as
    --task sentiment."""
    runs: RunsFlag = RUNS
    """Folder of the runs."""
    saved_models: SavedModelsFlag = SAVED_MODELS
    """Folder of the exported models."""
    json: bool = False
    """Print one JSON object."""

    def __call__(self) -> None:
        """Prints the machine, the data and the advice."""
        if not self.data and (self.task or self.polarity or self.given()):
            raise UserError("--task, --valid and the flags on columns need DATA: give a file or a folder")
        chosen = self._chosen() if self.data else None
        examined = chosen and self._examined(chosen.task)
        machine = describe_machine(self.runs, self.saved_models)
        if self.json:
            about = {"task": chosen.task, "guessed": bool(chosen.reason)} if chosen else {}
            print_json({"machine": machine, "data": about | examined.to_json() if examined else None})
            return
        print("\n".join(_machine_lines(machine)))
        if examined:
            print("\n".join(["", *_data_lines(paths.shown(self.data), chosen, examined)]))

    def given(self) -> dict[str, Any]:
        """Returns field of a config -> value, for the flags on data that the user gave."""
        return ({} if self.valid is None else {"valid": self.valid}) | flags_of_tasks.given(self)

    def _chosen(self) -> Guess:
        """Returns the task, with an empty reason if the user named it.

        Raises:
            UserError: it does not exist, or cannot be guessed.
        """
        named = "sentiment" if self.polarity and not self.task else self.task
        if named is None:
            return guessed_task.guess(self.data, self.given())
        name = {other: entry.name for entry in TASKS.values() for other in entry.other_names}.get(named, named)
        if name not in TASKS:
            raise UserError(f"--task {named}: no such task{suggestion(named, TASKS) or ': choose ' + ', '.join(TASKS)}")
        if self.polarity and name != "sentiment":
            raise UserError(f"--polarity is for --task sentiment: leave it out, or --task {named}")
        return Guess(name, "")

    def _examined(self, task: str) -> Examined:
        """Returns what the task says about the data.

        Raises:
            UserError: the task has no `examine`, a flag is not one of its own, or the data cannot be read.
        """
        entry = TASKS[task]
        if not entry.has("examine"):
            others = ", ".join(each.name for each in guessed_task.examiners())
            raise UserError(f"--task {task}: doctor does not examine its data; it does that of {others}")
        config_class, given = entry.config_class(), self.given()
        for name in given:
            if name not in config_class.DATA_FIELDS:
                raise UserError(
                    f"{flag(name)} has no effect: `train {task}` does not have it; --task chooses another task"
                )
        data = self.data[0] if len(self.data) == 1 else self.data
        if not isinstance(data, str) and not flags_of_tasks.takes_several(config_class):
            raise UserError(f"`train {task}` reads one --data, and {len(data)} are given: give one file or folder")
        config = config_class(**entry.defaults, **_needed(entry), **given, data=data).resolve()
        config.check()
        return entry.examine().examine(config)


def with_flags() -> Doctor:
    """Returns the command with the flags on data of all tasks. Each is declared in the configs alone."""
    packages = {entry.package: entry for entry in reversed(guessed_task.examiners())}
    declared = {entry.name: entry.config_class() for entry in reversed(packages.values())}
    flags = flags_of_tasks.flags_of(declared, lambda config: [name for name in config.DATA_FIELDS if name not in _OWN])
    return flags_of_tasks.with_flags(Doctor, flags)


def _needed(entry: TaskEntry) -> dict[str, str]:
    """Returns the fields that the config needs for data, but those that choose the network."""
    needed = getattr(getattr(entry.command(), "Prepare", None), "needed", {})
    return {name: value for name, value in needed.items() if name not in ("preset", "model")}


def describe_machine(runs: Path, saved_models: Path) -> dict:
    """Returns the facts about this machine, and "advice": what should be changed."""
    from pipelines.data.corpora import cache_folder

    folders = {"runs": runs, "saved_models": saved_models, "cache": cache_folder()}
    facts = {
        "unroll": VERSION,
        "python": machine.python(),
        "packages": machine.differences_from_lock(_LOCK, ROOT / "requirements.txt") if _LOCK.is_file() else None,
        "ray": machine.optional_package("ray", _RAY),
        "processor": machine.processor(),
        "threads": {name: os.environ[name] for name in machine.THREAD_VARIABLES if name in os.environ},
        "free_memory": machine.free_memory(),
        "free_disk": {name: machine.free_disk(folder) for name, folder in folders.items()},
        "gpus": machine.gpus(),
    }
    return facts | {"advice": _advice(facts)}


def _advice(facts: dict) -> list[str]:
    advice = []
    if facts["packages"]:
        advice.append("packages differ from requirements.lock: `make` installs those of the lock")
    if facts["free_memory"] is not None and facts["free_memory"] < _MIN_MEMORY:
        advice.append("less than 2 GB of memory is free: end other programs, or train with --preset quick")
    for name, free in facts["free_disk"].items():
        if free < _MIN_DISK:
            advice.append(f"less than 2 GB of disk is free for {name}: `{called_name()} list` shows what runs take")
    features = facts["processor"]["features"]
    if features and not {"avx2", "asimd"} & set(features):
        advice.append("the processor has no AVX2: TensorFlow runs, but slowly")
    return advice


def _machine_lines(facts: dict) -> list[str]:
    python, processor = facts["python"], facts["processor"]
    packages = facts["packages"]
    if packages is None:
        listed = "there is no requirements.lock to compare with"
    else:
        listed = "as in requirements.lock" if not packages else _joined(packages)
    memory = "unknown" if facts["free_memory"] is None else f"{inventory.size(facts['free_memory'])} free"
    threads = ", ".join(f"{name}={value}" for name, value in facts["threads"].items())
    values = {
        "Unroll": facts["unroll"],
        "Python": f"{python['version']}, {python['executable']}, {python['system']}",
        "packages": listed,
        "Ray": _ray_text(**facts["ray"]),
        "processor": f"{processor['name']}; {processor['cores']} of {processor['of']} cores; "
        f"{' '.join(processor['features']) or 'features unknown'}",
        "threads": threads or "chosen by TensorFlow",
        "memory": memory,
        "disk": ", ".join(f"{inventory.size(free)} free for {name}" for name, free in facts["free_disk"].items()),
        "GPU": "; ".join(facts["gpus"]) or "none that nvidia-smi lists",
    }
    lines = ["machine", "", *(f"  {name:<12}{value}" for name, value in values.items())]
    return lines + [f"  note: {text}" for text in facts["advice"]]


def _ray_text(installed: str | None, required: str | None) -> str:
    if installed is None:
        return f"not installed; `{ray_installation()}` adds what --ray needs"
    if required is None:
        return installed
    return f"{installed}, as in {_RAY.name}" if installed == required else f"{installed} ({_RAY.name} has {required})"


def _data_lines(name: str, chosen: Guess, examined: Examined) -> list[str]:
    title = f"{chosen.task}, guessed: {chosen.reason}; --task chooses another one" if chosen.reason else chosen.task
    lines = [f"data {name}", "", *fact_lines({"task": title}), *examined.lines]
    return [*lines, "", *finding_lines(examined.findings)]


def _joined(items: list[str]) -> str:
    rest = f" and {len(items) - _MAX_LISTED} more" if len(items) > _MAX_LISTED else ""
    return ", ".join(items[:_MAX_LISTED]) + rest
