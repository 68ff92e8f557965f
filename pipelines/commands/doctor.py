"""The command `doctor`: what this machine has, what the data is like, and what training would do with it."""

import dataclasses
import os
from pathlib import Path
from typing import Annotated

import tyro

from pipelines.command_line import RUNS, SAVED_MODELS, RunsFlag, SavedModelsFlag, TableFlags, print_json
from pipelines.runs import inventory
from pipelines.settings.fields import NAME, PATH
from pipelines.support import machine, paths
from pipelines.support.errors import UserError
from pipelines.support.installation import ROOT, called_name, ray_installation
from pipelines.support.numbers import counted, minutes
from pipelines.support.version import VERSION
from pipelines.task import TASKS

_MIN_DISK, _MIN_MEMORY = 2 * 10**9, 2 * 10**9  # a run with --preset full takes up to 2 GB of memory
_MAX_LISTED, _MAX_EXAMPLES, _MAX_TEXT = 12, 3, 80
_MIN_SCRIPT = 0.001  # fraction of the letters
_LOCK, _RAY = ROOT / "requirements.lock", ROOT / "requirements-ray.txt"


@dataclasses.dataclass(frozen=True)
class Doctor:
    """Check this machine and, if given, labelled texts: what was found in them, and what training would do with them.

    It reads everything and changes nothing.
    """

    data: tyro.conf.Positional[Annotated[tuple[str, ...], tyro.conf.arg(metavar="DATA", help_behavior_hint="")]] = ()
    """Labelled texts in the formats of `train classification`. Without it, only the machine is checked."""
    label_column: Annotated[str | None, NAME] = None
    """Column with the label. By default the first column with a usual name (label, class, ...)."""
    valid: Annotated[str | None, PATH] = None
    """Validation texts of your own. Without it, a tenth of DATA is split off, as in training."""
    fold_labels: bool = False
    """Read labels that differ only in case or blanks as the same label, as in training."""
    missing_labels: Annotated[str | None, tyro.conf.arg(metavar="LABEL,LABEL", help_behavior_hint="")] = None
    """Labels that stand for no label, as in training."""
    polarity: bool = False
    """Read the labels as `train sentiment` does: 0 and 1, or neg and pos, are negative and positive."""
    table: TableFlags = TableFlags()
    runs: RunsFlag = RUNS
    """Folder of the runs."""
    saved_models: SavedModelsFlag = SAVED_MODELS
    """Folder of the exported models."""
    json: bool = False
    """Print one JSON object."""

    def __call__(self) -> None:
        """Prints the machine, the data and the advice."""
        if not self.data and (self.valid or self.label_column or any(self.table.given().values())):
            raise UserError("the flags on columns and --valid need DATA: give a file or a folder")
        data = self._data()
        machine = describe_machine(self.runs, self.saved_models)
        if self.json:
            print_json({"machine": machine, "data": data})
            return
        print("\n".join(_machine_lines(machine)))
        if data is not None:
            print("\n".join(["", *_data_lines(paths.shown(self.data), data)]))

    def _data(self) -> dict | None:
        if not self.data:
            return None
        from pipelines.classification import forecast
        from pipelines.labelled import examine

        table = {name: value for name, value in vars(self.table).items() if value is not None}
        table |= {"fold_labels": self.fold_labels, "missing_labels": self.missing_labels}
        config = TASKS["classification"].config_class()(
            data=self.data, valid=self.valid, label_column=self.label_column, **table
        )
        config = config.resolve()

        def needs(splits) -> dict | None:
            expected = forecast.needs(config, splits)
            return expected and expected._asdict()

        return examine.examine(config, self.polarity, needs)


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


def _data_lines(name: str, data: dict) -> list[str]:
    columns, rows = data["columns"], data["rows"]
    values = {}
    if columns:
        grouped = f", groups in {columns['group']!r}" if columns["group"] else ""
        values["columns"] = f"text in {columns['text']!r}, label in {columns['label']!r}{grouped}"
        others = [column for column in columns["all"] if column not in (columns["text"], columns["label"])]
        values["not used"] = _joined([column for column in others if column != columns["group"]]) or "-"
    values["texts"] = (
        ", ".join(f"{n:,} {split}" for split, n in rows.items()) if len(rows) > 1 else f"{rows['train']:,}"
    )
    values["left out"] = _joined([f"{reason} {n:,}" for reason, n in data["left_out"].items()]) or "none"
    values["labels"] = _joined([f"{label}: {n:,}" for label, n in data["labels"].items()])
    values["scripts"] = _joined(
        [f"{script} {100 * part:.1f} %" for script, part in data["scripts"].items() if part >= _MIN_SCRIPT]
    )
    for unit in ("characters", "words"):
        values[unit] = ", ".join(f"{name} {length:,}" for name, length in data[unit].items())
    values["duplicates"] = f"{counted(data['repeated'], 'text')} also in an earlier row"
    values["contradictions"] = f"{counted(data['contradicting'], 'text')} with several labels"
    lines = [f"data {name}", "", *(f"  {title:<16}{value}" for title, value in values.items())]
    for each in data["contradictions"][:_MAX_EXAMPLES]:
        labels = ", ".join(f"{label} {n:,}" for label, n in each["labels"].items())
        lines.append(f"  {'':<16}{labels}: {' '.join(each['text'].split())[:_MAX_TEXT]}")
    lines += [f"  {'leaks':<16}{counted(n, 'text')} of {split} also in training" for split, n in data["leaks"].items()]
    return [*lines, "", *_training_lines(data), *_warnings(data)]


def _training_lines(data: dict) -> list[str]:
    if "refusal" in data:
        return ["training", "", f"  would be refused: {data['refusal']}"]
    training = data["training"]
    kept_together = "rows with the same url stay together" if training["groups"] else "equal texts stay together"
    return [
        "training",
        "",
        f"  would learn {len(training['classes'])} labels from {counted(training['train'], 'text')} and validate on "
        f"{training['validation']:,} ({kept_together})",
        f"  always predicting the most frequent label would be right on {100 * training['always_most_frequent']:.1f} % "
        "of the validation texts",
        *_expected(training["expected"]),
        *(f"  {note}: {n:,}" for note, n in training["notes"].items()),
    ]


def _expected(expected: dict | None) -> list[str]:
    if expected is None:
        return []
    time = minutes(expected["seconds"]) or "a minute"
    return [f"  would take about {time} on two processors, and {expected['memory'] / 1e9:.1f} GB of memory"]


def _warnings(data: dict) -> list[str]:
    notes = []
    if data["replacement_characters"]:
        notes.append(f"{counted(data['replacement_characters'], 'text')} with the character U+FFFD, decoded wrongly")
    if data["zero_width_characters"]:
        notes.append(f"{counted(data['zero_width_characters'], 'text')} with invisible characters (zero-width spaces)")
    training = data.get("training")
    notes += training["doubtful_labels"] if training else []
    if training and training["rare"]:
        notes.append(f"few training texts have the label {_joined(training['rare'])}: its scores will say little")
    if training and training["not_in_validation"]:
        notes.append(f"no validation text has the label {_joined(training['not_in_validation'])}")
    free = machine.free_memory()
    if training and free and training["expected"] and training["expected"]["memory"] > free:
        notes.append(f"{inventory.size(free)} of memory are free: `{called_name()} prepare` makes data that takes less")
    if training and training["validation"] < 100:
        notes.append(f"{training['validation']} validation texts are few: --valid-fraction or --valid gives more")
    return [f"  note: {text}" for text in notes]


def _joined(items: list[str]) -> str:
    rest = f" and {len(items) - _MAX_LISTED} more" if len(items) > _MAX_LISTED else ""
    return ", ".join(items[:_MAX_LISTED]) + rest
