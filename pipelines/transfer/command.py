"""`train`, `evaluate`, `predict` and `prepare` for `transfer`; two of them are those of all labelled texts."""

import dataclasses
from typing import ClassVar

from pipelines.command_line import PrepareCommand, subset
from pipelines.labelled.command import TO_PREPARE, Evaluate, LabelledTrainCommand, Predict
from pipelines.transfer.config import AUTO, TransferConfig


@dataclasses.dataclass(frozen=True, kw_only=True)
class Train(LabelledTrainCommand):
    """Fine-tune a pretrained text encoder in stages, measure it, and export it as a SavedModel. The same command
    resumes an interrupted run.
    """

    examples: ClassVar = ("--encoder saved_models/encoder/1 {data}",)

    config: TransferConfig = TransferConfig()

    def __call__(self) -> None:
        """Trains, and prints the summary."""
        from pipelines.transfer import recipe

        config = self.resolved()
        self.train(config, fit=recipe.fit_best if config.recipe == AUTO else None)


_ToPrepare = subset(TransferConfig, TO_PREPARE)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Prepare(PrepareCommand):
    """Prepare labelled texts that may be larger than memory, for any encoder."""

    needed: ClassVar = {"encoder": "any"}
    config: _ToPrepare = _ToPrepare()


__all__ = ["Evaluate", "Predict", "Prepare", "Train"]
