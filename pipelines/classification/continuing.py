"""`--from`: what a classifier that continues from a finished run needs of it and of the new texts."""

from typing import TYPE_CHECKING

from pipelines.classification.config import ClassificationConfig
from pipelines.runs.continuing import result_of
from pipelines.support import console, paths
from pipelines.support.errors import UserError
from pipelines.text.special_tokens import END, UNKNOWN

if TYPE_CHECKING:  # the labels are checked before TensorFlow is imported
    import numpy as np

_LEAST_KNOWN = 0.01  # of the tokens of the new texts: with fewer, nothing can be learned
_FEW_KNOWN = 0.5


def check_known(config: ClassificationConfig, ids: "np.ndarray") -> None:
    """Checks that the model to continue from knows tokens of the new texts, and says so if they are few.

    Args:
        ids: int32 [tokens], all tokens of the training texts; those of the model's vocabulary come first.

    Raises:
        UserError: it knows nearly none.
    """
    is_token = (ids > END) | (ids == UNKNOWN)
    known, total = int(((ids > END) & (ids < result_of(config)["vocabulary_size"])).sum()), int(is_token.sum())
    share = known / max(1, total)
    if share < _LEAST_KNOWN:
        raise UserError(
            f"{paths.shown(config.data)}: the model to continue from knows {known:,} of the {total:,} tokens of these "
            "texts: train a new model, without --from"
        )
    if share < _FEW_KNOWN:
        console.say(f"note: the model to continue from knows {share:.0%} of the tokens of these texts")
