"""The model card, model_card.json: what users of an export need to know about it."""

from pathlib import Path

from pipelines.config import TrainingConfig
from pipelines.support.run_result import RunResult

_FIELDS = [
    "schema",
    "run",
    "task",
    "sample",
    "classes",
    "pair",
    "data",
    "rows",
    "characters",
    "class_rows",
    "notes",
    "window",
    "generation_defaults",
    "vocabulary_size",
    "parameters",
    "precision",
    "scores",
    "versions",
]


def make_card(result: RunResult, config: TrainingConfig) -> dict:
    """Returns the card of a run's export, without paths of the machine and without texts of the training data."""
    values = vars(result)
    settings = {name: value for name, value in result.config.items() if name not in ("data", *config.data_files())}
    for field, handle in config.module_handles().items():
        if "://" not in handle:
            settings[field] = Path(handle).name
    return {name: values[name] for name in _FIELDS if values[name] is not None} | {"config": settings}
