"""Runs, whose weights at several epochs can be looked at."""

import re
from pathlib import Path

from pipelines.inspect.trace import Trace, traces
from pipelines.runs import inventory
from pipelines.settings.config import from_dict
from pipelines.support.errors import UserError
from pipelines.task import TASKS

_KEPT = re.compile(r"epoch-(\d{4})\.npz")


class TrainedRun:
    """A run, with its model rebuilt from its folder.

    Attributes:
        run: its place and its records.
        config: of the run.
        model: inference model, with the weights of the best epoch.
        task: module of its task.
        splits: its data, read again.
        encoded: its data, encoded again.
        tokenizer: of the run.

    Args:
        root: folder of the runs.
        named: folder, task/name or name of the run.

    Raises:
        UserError: there is no such run, it is damaged, or it has not finished an epoch.
    """

    def __init__(self, root: Path, named: str):
        from pipelines.training import fit

        self.run = inventory.find_run(root, named)
        if self.run.state == "damaged":
            raise UserError(
                f"{self.run.title} is damaged: a record in {self.run.path} was cut or edited: train it again"
            )
        if not (self.run.path / "checkpoints" / "best.npz").is_file():
            raise UserError(f"{self.run.title} has not finished an epoch yet: wait, or start its `train` command again")
        entry = TASKS[self.run.task]
        self.task = entry.task()
        config = from_dict(entry.config_class(), self.run.record["config"])
        self.splits = entry.load(config)
        self.tokenizer = self.task.load_tokenizer(self.run.path / "tokenizer")
        self.config = self.task.complete_config(config, self.splits, self.tokenizer)
        self.encoded = self.task.encode(self.config, self.splits, self.tokenizer, self.run.path)
        self.model = self.task.build(self.config, self.splits, self.tokenizer, self.encoded, training=False)
        fit.restore_best(self.model, self.run.path)
        self._servable = self.task.make_servable(self.config, self.splits, self.tokenizer, self.model)

    @property
    def title(self) -> str:
        """Task and name of the run."""
        return self.run.title

    def epochs(self) -> list[int]:
        """Returns the epochs whose weights were kept; 0 is before the training.

        Raises:
            UserError: none were kept.
        """
        names = (path.name for path in (self.run.path / "checkpoints").iterdir())
        found = sorted(int(match[1]) for match in map(_KEPT.fullmatch, names) if match)
        if not found:
            raise UserError(f"{self.title} kept no weights of its epochs: train it with --keep-checkpoints N")
        return found

    def validation_loss(self, epoch: int) -> float | None:
        """Returns the validation loss after an epoch; None before the training."""
        import pandas as pd

        rows = pd.read_csv(self.run.path / "metrics.csv").set_index("epoch")
        return float(rows.loc[epoch, "val_loss"]) if epoch in rows.index else None

    def load_epoch(self, epoch: int) -> None:
        """Gives `model` the weights after an epoch; 0 is before the training."""
        from pipelines.training import checkpoints, fit

        checkpoints.restore(fit.kept_weights(self.run.path, epoch), self.model.weights)

    def trace(self, text: str, epoch: int) -> Trace:
        """Returns what the model computed for a text with the weights after an epoch.

        Raises:
            UserError: the network has no layer that can be traced.
        """
        import tensorflow as tf

        from pipelines.networks.traced import is_traceable

        if not is_traceable(self.model):
            raise UserError(f"{self.title} has no recurrent layer and no attention: there is nothing to trace")
        self.load_epoch(epoch)
        outputs = self._servable.trace(text=tf.constant([text]))
        return traces(self.title, {name: value.numpy() for name, value in outputs.items()})[0]
