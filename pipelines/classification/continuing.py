"""`--from`: training starts from the tokenizer and the weights of a finished run."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.classification.config import ClassificationConfig
from pipelines.config import flag
from pipelines.data import paths
from pipelines.support.errors import UserError
from pipelines.support.records import read_record

if TYPE_CHECKING:  # the labels are checked before TensorFlow is imported
    import keras

_NETWORK_FIELDS = (
    "model",
    "tokenizer",
    "max_ngrams",
    "max_characters",
    "ngram_buckets",
    "embedding_size",
    "hidden_size",
    "num_layers",
    "bidirectional",
    "pooling",
    "num_heads",
)


def run_of(config: ClassificationConfig) -> Path:
    """Returns the folder of the run to continue from: `start_weights` is <run>/checkpoints/best.npz."""
    return Path(config.start_weights).parent.parent


def check(config: ClassificationConfig, classes: tuple[str, ...]) -> None:
    """Checks that the new data has the labels of the run to continue from, and that the network is the same.

    Raises:
        UserError: they are not.
    """
    known = _result(config)
    if list(classes) != known["classes"]:
        raise UserError(
            f"{paths.shown(config.data)}: its labels ({', '.join(classes)}) are not those of the model to continue "
            f"from ({', '.join(known['classes'])}): train a new model, without --from"
        )
    for field in _NETWORK_FIELDS:
        value = getattr(config, field)
        kept = known["config"].get(field, value)
        if value != kept:
            raise UserError(f"{flag(field)} {value}: the model to continue from has {kept}: leave out the flag")


def num_texts(config: ClassificationConfig) -> int:
    """Returns the number of texts that the first of the runs was trained on: it limits the number of n-grams."""
    known = _result(config)
    first = known["config"].get("start_weights")
    return num_texts(dataclasses.replace(config, start_weights=first)) if first else known["rows"]["train"]


def restore_weights(config: ClassificationConfig, model: "keras.Model") -> None:
    """Gives `model` the weights of the run to continue from.

    Raises:
        UserError: its network is another one, or the checkpoint is damaged.
    """
    from pipelines.training import checkpoints

    remedy = "with --from, leave out the flags that change the network, or continue from another export"
    checkpoints.restore(Path(config.start_weights), model.weights, remedy)


def _result(config: ClassificationConfig) -> dict:
    return read_record(run_of(config) / "result.json", "continue from another export")
