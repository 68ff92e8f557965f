"""`unroll.load`: any export as a fitted estimator."""

import importlib
from pathlib import Path

from pipelines.export.exported import CARD, versions
from pipelines.python.errors import UserError
from pipelines.support.files import read_json
from pipelines.task import TASKS

# Package of the task -> (module in this folder, class).
_ESTIMATORS = {
    "classification": ("classifier", "TextClassifier"),
    "transfer": ("classifier", "TextClassifier"),
    "tagging": ("tagger", "Tagger"),
    "language_model": ("language_model", "LanguageModel"),
    "translation": ("translator", "Translator"),
    "encoder": ("encoder", "TextEncoder"),
}


def load(path: str | Path):
    """See `unroll.load`."""
    folder = _version_at(Path(path).expanduser().absolute())
    try:
        task = read_json(folder / CARD)["task"]
        module, name = _ESTIMATORS[TASKS[task].package]
    except FileNotFoundError as error:
        raise UserError(f"{folder} has no {CARD}: it is no export of Unroll") from error
    except (ValueError, LookupError, TypeError) as error:
        raise UserError(
            f"{folder / CARD} is damaged, or of another version of Unroll: train the model again"
        ) from error
    return getattr(importlib.import_module(f"pipelines.python.{module}"), name).from_export(folder)


def _version_at(folder: Path) -> Path:
    """Returns the folder of a version: `folder` itself, or the newest version in it."""
    if (folder / "saved_model.pb").is_file():
        return folder
    found = versions(folder)
    if not found:
        raise UserError(f"no export in {folder}: give the folder of a version, such as saved_models/spam/1")
    return folder / str(found[-1])
