"""Finds and loads exported models: `saved_models/<name>/<version>/`."""

import dataclasses
import re
from pathlib import Path

from pipelines.support.errors import UserError
from pipelines.support.files import read_json, sha256_of

SAMPLE_SUFFIX = "-sample"
CARD = "model_card.json"
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

    def card(self) -> dict:
        """The model card.

        Raises:
            UserError: the file is damaged.
        """
        try:
            return read_json(self.path / CARD)
        except ValueError as error:  # no JSON, or no UTF-8
            raise UserError(f"{self.path / CARD} is damaged ({error}): train the model again") from error

    def load(self):
        """Loads the SavedModel. It has `signatures`; keep the object as long as one of them is used.

        Raises:
            UserError: the folder holds no SavedModel that can be loaded.
        """
        from pipelines.support.quiet import import_tensorflow

        import_tensorflow()
        import tensorflow as tf

        try:
            loaded = tf.saved_model.load(str(self.path))
            loaded.signatures["serving_default"]
            return loaded
        except (OSError, KeyError, ValueError, tf.errors.OpError) as error:
            raise UserError(f"{self.path} holds no SavedModel that can be loaded ({error}): train it again") from error


def versions(folder: Path) -> list[int]:
    """Returns the versions in `saved_models/<name>`, lowest first. As in TF Serving, other folders are ignored."""
    if not folder.is_dir():
        return []
    return sorted(int(path.name) for path in folder.iterdir() if _VERSION.fullmatch(path.name) and path.is_dir())


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

    Without a name it is `default_name` (by default the task's name) or, where that has no version, the one trained on
    the sample.

    Raises:
        UserError: there is none; the message lists what exists, or how to make one.
    """
    default_name = default_name or task
    names = [name] if name else [default_name, default_name + SAMPLE_SUFFIX]
    chosen = next((candidate for candidate in names if versions(root / candidate)), None)
    if chosen is None:
        existing = sorted(path.parent.parent.name for path in root.glob(f"*/*/{CARD}") if path.parent.name.isdecimal())
        known = f"existing: {', '.join(dict.fromkeys(existing))}" if existing else "nothing has been exported yet"
        raise UserError(f"no model {names[0]!r} in {root} ({known}): train one with `python main.py train {task}`")
    found = versions(root / chosen)
    if version is not None and version not in found:
        raise UserError(f"{chosen} has no version {version}; it has {', '.join(map(str, found))}")
    version = found[-1] if version is None else version
    return Exported(chosen, version, root / chosen / str(version))
