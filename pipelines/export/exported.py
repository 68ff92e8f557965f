"""Finds and loads exported models: `saved_models/<name>/<version>/`."""

import dataclasses
from pathlib import Path

from pipelines.support.errors import UserError
from pipelines.support.files import read_json

SAMPLE_SUFFIX = "-sample"
CARD = "model_card.json"


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
        """The model card."""
        return read_json(self.path / CARD)

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
    return sorted(int(path.name) for path in folder.iterdir() if path.name.isdecimal() and path.is_dir())


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
