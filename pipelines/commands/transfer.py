"""`train|evaluate|predict transfer`."""

import dataclasses
from typing import Annotated, ClassVar

from pipelines.commands import sentiment
from pipelines.commands.common import RUNS, SAVED_MODELS, NameFlag, Runs, SavedModels, print_json
from pipelines.configs import base
from pipelines.configs.transfer import DEFAULT_MODELS, PRESETS, TransferConfig


@dataclasses.dataclass(frozen=True)
class Train:
    """Fine-tune a TF Hub text encoder in stages, measure it, and export it as a SavedModel. The same command goes on after a stop."""

    config: TransferConfig
    run: Annotated[str | None, NameFlag] = None
    """Name of the run's folder. By default made from the data's name and the settings."""
    name: Annotated[str | None, NameFlag] = None
    """Name of the exported model. By default transfer (transfer-sample for the embedded sample)."""
    runs: Runs = RUNS
    """Folder of the runs."""
    saved_models: SavedModels = SAVED_MODELS
    """Folder of the exported models."""
    json: bool = False
    """Print the result as one JSON object."""

    def __call__(self) -> None:
        from pipelines import run

        config = base.resolved(self.config, PRESETS, DEFAULT_MODELS)
        result = run.train("transfer", config, run.Place(self.runs, self.saved_models, self.run, self.name))
        if self.json:
            print_json(result)
        else:
            from pipelines import transfer_report

            print(transfer_report.summary(result))


@dataclasses.dataclass(frozen=True)
class Evaluate(sentiment.Evaluate):
    """Measure an exported classifier on labelled texts."""

    pipeline: ClassVar[str] = "transfer"


@dataclasses.dataclass(frozen=True)
class Predict(sentiment.Predict):
    """Label texts with an exported classifier."""

    pipeline: ClassVar[str] = "transfer"
