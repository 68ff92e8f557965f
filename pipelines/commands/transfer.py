"""`train|evaluate|predict transfer`."""

import dataclasses
from typing import ClassVar

from pipelines.commands import sentiment
from pipelines.commands.common import Training
from pipelines.configs import base
from pipelines.configs.transfer import DEFAULT_MODELS, PRESETS, TransferConfig


@dataclasses.dataclass(frozen=True, kw_only=True)
class Train(Training):
    """Fine-tune a TF Hub text encoder in stages, measure it, and export it as a SavedModel. The same command goes on after a stop."""

    config: TransferConfig

    def __call__(self) -> None:
        config = base.resolved(self.config, PRESETS, DEFAULT_MODELS)
        self.train("transfer", config, "transfer_report")


@dataclasses.dataclass(frozen=True)
class Evaluate(sentiment.Evaluate):
    """Measure an exported classifier on labelled texts."""

    pipeline: ClassVar[str] = "transfer"


@dataclasses.dataclass(frozen=True)
class Predict(sentiment.Predict):
    """Label texts with an exported classifier."""

    pipeline: ClassVar[str] = "transfer"
