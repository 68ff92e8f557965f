"""Finds and loads exported models: `saved_models/<name>/<version>/`."""

import dataclasses
import re
from pathlib import Path

from pipelines.export.card import Card, read_card
from pipelines.support.errors import UserError, shortened, suggestion
from pipelines.support.files import sha256_of
from pipelines.support.installation import shell_command
from pipelines.task import TASKS

SAMPLE_SUFFIX = "-sample"
_VERSION = re.compile("0|[1-9][0-9]*")


@dataclasses.dataclass(frozen=True)
class Exported:
    """One version of an exported model."""

    name: str
    version: int
    path: Path

    @property
    def title(self) -> str:
        """Name and version, such as "sentiment/3"."""
        return f"{self.name}/{self.version}"

    def card(self) -> Card:
        """The model card.

        Raises:
            UserError: see `read_card`.
        """
        return read_card(self.path)

    def load(self):
        """Loads the SavedModel. It has `signatures`; keep the object as long as one of them is used.

        Raises:
            UserError: the folder holds no SavedModel that can be loaded.
        """
        from pipelines.support.quiet import capture_stderr_descriptor, import_tensorflow

        import_tensorflow()
        import tensorflow as tf

        try:
            with capture_stderr_descriptor():
                loaded = tf.saved_model.load(str(self.path))
            loaded.signatures["serving_default"]
            return loaded
        except Exception as error:  # of a damaged file, TensorFlow raises whatever its code meets
            reason = shortened(error)
            raise UserError(f"{self.path} holds no SavedModel that can be loaded ({reason}): train it again") from error


def version_of(path: Path) -> int | None:
    """Returns the version that a folder's name is; None if it is none, such as "007" or the superscript 2."""
    return int(path.name) if _VERSION.fullmatch(path.name) else None


def versions(folder: Path) -> list[int]:
    """Returns the versions in `saved_models/<name>`, lowest first. As in TF Serving, other folders are ignored."""
    if not folder.is_dir():
        return []
    found = [version_of(path) for path in folder.iterdir() if path.is_dir()]
    return sorted(version for version in found if version is not None)


def files_of(folder: Path) -> dict[str, dict]:
    """Returns the files of an export: path in `folder` -> {"bytes": size, "sha256": checksum}."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        path.relative_to(folder).as_posix(): {"bytes": path.stat().st_size, "sha256": sha256_of(path)} for path in paths
    }


def difference(folder: Path, files: dict[str, dict]) -> str | None:
    """Compares an export with the result of `files_of`; files that were added do not count.

    Returns:
        What is different; None if nothing is.
    """
    if not folder.is_dir():
        return "it does not exist"
    for name, expected in files.items():
        path = folder / name
        if not path.is_file():
            return f"{name} is missing"
        if path.stat().st_size != expected["bytes"]:
            return f"{name} has {path.stat().st_size} bytes instead of {expected['bytes']}"
        if sha256_of(path) != expected["sha256"]:
            return f"{name} has changed"
    return None


def find_export(
    root: Path, task: str, name: str | None = None, version: int | None = None, default_name: str | None = None
) -> Exported:
    """Returns the export to use: `version` (by default the newest) of `name`.

    Without a name it is `default_name` (by default the task's name); where that has no version, the only export of the
    task; else the one trained on the sample.

    Args:
        task: name in the registry.

    Raises:
        UserError: there is none, there are several, or it is an export of another task; the message lists those that
            exist, or how to make one.
    """
    tasks = {export: _task_of(root / export) for export in _names(root)}
    package = TASKS[task].package
    usable = [export for export, other in tasks.items() if other is None or TASKS[other].package == package]
    chosen = name or _default(task, default_name or task, usable, tasks, root)
    listed = f"existing: {', '.join(usable)}" if usable else f"no {task} model has been exported yet"
    if chosen not in tasks:
        like = suggestion(chosen, usable)
        raise UserError(
            f"no model {chosen!r} in {root} ({listed}){like or f': train one with `{shell_command()} train {task}`'}"
        )
    if chosen not in usable:
        raise UserError(
            f"{chosen} is a model of the task {tasks[chosen]}, not of {task} ({listed}): use `{tasks[chosen]}` in the "
            "command, or give another --name"
        )
    found = versions(root / chosen)
    if version is not None and version not in found:
        raise UserError(f"{chosen} has no version {version}; it has {', '.join(map(str, found))}")
    version = found[-1] if version is None else version
    return Exported(chosen, version, root / chosen / str(version))


def _names(root: Path) -> list[str]:
    """Returns the names of all exports."""
    folders = sorted(root.iterdir()) if root.is_dir() else []
    return [folder.name for folder in folders if versions(folder)]


def _task_of(folder: Path) -> str | None:
    """Returns the task of the newest version of an export; None if its card does not name one of ours."""
    try:
        task = read_card(folder / str(versions(folder)[-1])).get("task")
    except UserError:  # the card is reported when it is needed
        return None
    return task if task in TASKS else None


def _default(task: str, default_name: str, usable: list[str], tasks: dict[str, str | None], root: Path) -> str:
    """Returns the name of the export to use where the user gave none."""
    if default_name in usable:
        return default_name
    own = [export for export in usable if tasks[export] == task and not export.endswith(SAMPLE_SUFFIX)]
    if default_name == task and len(own) > 1:
        raise UserError(f"there are several {task} models in {root}: choose one with --name ({', '.join(own)})")
    if default_name == task and own:
        return own[0]
    sample = default_name + SAMPLE_SUFFIX
    return sample if sample in usable else default_name
