"""`--from`: training starts from the tokenizer and the weights of a finished run."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.classification.config import ClassificationConfig
from pipelines.data import paths
from pipelines.settings import flag
from pipelines.support import console
from pipelines.support.errors import UserError
from pipelines.support.records import read_record
from pipelines.text.special_tokens import END, UNKNOWN

if TYPE_CHECKING:  # the labels are checked before TensorFlow is imported
    import keras
    import numpy as np

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
    "merge",
    "activation",
    "residual",
    "learned_state",
    "pooling",
    "num_heads",
    "positions",
)
# The tokenizer and the first weights are those of the run to continue from.
_WITHOUT_EFFECT = ("vocabulary_size", "max_bytes", "word_vectors")
_LEAST_KNOWN = 0.01  # of the tokens of the new texts: with fewer, nothing can be learned
_FEW_KNOWN = 0.5


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
    defaults = config.defaults()
    for field in _WITHOUT_EFFECT:
        value, default = getattr(config, field), getattr(defaults, field)
        if value not in (default, known["config"].get(field, default)):
            raise UserError(
                f"{flag(field)} {value} has no effect with --from, which keeps the tokenizer and the weights of the "
                "model: leave it out"
            )


def check_known(config: ClassificationConfig, ids: "np.ndarray") -> None:
    """Checks that the model to continue from knows tokens of the new texts, and says so if they are few.

    Args:
        ids: int32 [tokens], all tokens of the training texts.

    Raises:
        UserError: it knows nearly none.
    """
    known, unknown = int((ids > END).sum()), int((ids == UNKNOWN).sum())
    share = known / max(1, known + unknown)
    if share < _LEAST_KNOWN:
        raise UserError(
            f"{paths.shown(config.data)}: the model to continue from knows {known:,} of the {known + unknown:,} tokens "
            "of these texts, and cannot learn others: train a new model, without --from"
        )
    if share < _FEW_KNOWN:
        console.say(
            f"note: the model to continue from knows {share:.0%} of the tokens of these texts, and cannot learn others"
        )


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
