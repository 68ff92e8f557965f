"""`unroll.load`: any export as a fitted estimator."""

import importlib
from pathlib import Path

from pipelines.export.card import read_card
from pipelines.export.exported import versions
from pipelines.python.errors import UserError, user_errors
from pipelines.support.files import with_home
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
    with user_errors():
        folder = _version_at(with_home(str(path)).absolute())
        task = read_card(folder)["task"]
        if task not in TASKS:
            raise UserError(f"{folder} is a model of the task {task}, which this version of Unroll does not have")
        module, name = _ESTIMATORS[TASKS[task].package]
    return getattr(importlib.import_module(f"{__package__}.{module}"), name).from_export(folder)


def _version_at(folder: Path) -> Path:
    """Returns the folder of a version: `folder` itself, or the newest version in it."""
    if (folder / "saved_model.pb").is_file():
        return folder
    found = versions(folder)
    if not found:
        raise UserError(f"no export in {folder}: give the folder of a version, such as saved_models/spam/1")
    return folder / str(found[-1])
