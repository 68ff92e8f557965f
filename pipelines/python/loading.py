"""`unroll.load`: any export as a fitted estimator."""

from pathlib import Path

from pipelines.export.card import read_card
from pipelines.export.exported import versions
from pipelines.python.errors import UserError, user_errors
from pipelines.support.files import with_home
from pipelines.task import TASKS


def load(path: str | Path):
    """See `unroll.load`."""
    with user_errors():
        folder = _version_at(with_home(str(path)).absolute())
        task = read_card(folder)["task"]
        if task not in TASKS:
            raise UserError(f"{folder} is a model of the task {task}, which this version of Unroll does not have")
        if TASKS[task].estimator is None:
            raise UserError(f"{folder} is a model of the task {task}, which has no class in Python")
    return TASKS[task].estimator_class().from_export(folder)


def _version_at(folder: Path) -> Path:
    """Returns the folder of a version: `folder` itself, or the newest version in it."""
    if (folder / "saved_model.pb").is_file():
        return folder
    found = versions(folder)
    if not found:
        raise UserError(f"no export in {folder}: give the folder of a version, such as saved_models/spam/1")
    return folder / str(found[-1])
