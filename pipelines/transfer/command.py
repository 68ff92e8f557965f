"""`train`, `evaluate` and `predict` for `transfer`. Its `evaluate` and `predict` are those of all labelled texts."""

import dataclasses

from pipelines.labelled.command import Evaluate, LabelledTrainCommand, Predict
from pipelines.transfer.config import TransferConfig


@dataclasses.dataclass(frozen=True, kw_only=True)
class Train(LabelledTrainCommand):
    """Fine-tune a pretrained text encoder in stages, measure it, and export it as a SavedModel. The same command
    resumes an interrupted run.
    """

    config: TransferConfig = TransferConfig()

    def __call__(self) -> None:
        """Trains, and prints the summary."""
        from pipelines.transfer import recipe

        config = self.config.resolve()
        self.train(config, fit=recipe.fit_best if config.recipe else None)


__all__ = ["Evaluate", "Predict", "Train"]
