"""How large the layers over n-grams of a classifier are. Imports no TensorFlow."""

from typing import NamedTuple

from pipelines.classification.config import ClassificationConfig
from pipelines.linear.limits import MAX_CLASSES_WITH_ENCODER, MAX_DENSE_CLASSES, MAX_FEW_CLASSES, num_weightings
from pipelines.runs import continuing
from pipelines.support.errors import UserError

NGRAM_LOGITS = "ngram_logits"  # name of the linear model over n-grams
NGRAM_PROJECTION = "ngram_projection"  # name of the first layer of the feedforward network over n-grams
_WEIGHTS_PER_TEXT, MAX_WEIGHTS = 400, 10_000_000  # of the linear model, which are then stored
_MAX_NGRAMS_OF_PROJECTION = 20_000  # each has `hidden_size` weights, and every step updates all of them


class Sizes(NamedTuple):
    """The sizes of the layers over n-grams.

    Attributes:
        num_ngrams: of the linear model.
        num_weights: of the linear model, if most of them are not stored.
        num_telling: number of n-grams of the feedforward network of "best".
        num_classes: number of labels that decides how long the n-grams are, how they are weighted and whether all
            weights are stored: that of the first run, if a training continues.
        has_vectors: whether the linear model also reads the vectors of an encoder.
    """

    num_ngrams: int
    num_weights: int
    num_telling: int
    num_classes: int
    has_vectors: bool = False

    @classmethod
    def of(cls, config: ClassificationConfig, num_classes: int, num_texts: int) -> "Sizes":
        """Returns the sizes of a new model. With few training texts, it knows fewer n-grams.

        Raises:
            UserError: there are too many classes for an encoder.
        """
        if config.encoder and num_classes > MAX_CLASSES_WITH_ENCODER:
            raise UserError(
                f"--encoder: the data has {num_classes:,} labels, and an encoder is for {MAX_CLASSES_WITH_ENCODER} at "
                "most: leave it out"
            )
        known = config.num_ngrams(num_texts)
        num_weights = min(known * num_classes, _WEIGHTS_PER_TEXT * num_texts, MAX_WEIGHTS)
        return cls(known, num_weights, min(known, _MAX_NGRAMS_OF_PROJECTION), num_classes, bool(config.encoder))

    @classmethod
    def of_run(cls, config: ClassificationConfig) -> "Sizes":
        """Returns the sizes of the run to continue from.

        Raises:
            UserError: an older version trained it.
        """
        known = continuing.result_of(config)
        shapes, num_classes = known.get("weights", {}), len(known["classes"])
        if f"{NGRAM_LOGITS}/hashes" not in shapes:
            raise UserError("--from: an older version of Unroll trained that model: train again on all texts")
        has_ratios = shapes[f"{NGRAM_LOGITS}/bias"][0] > num_classes
        is_sparse = f"{NGRAM_LOGITS}/starts" in shapes
        return cls(
            num_ngrams=shapes[f"{NGRAM_LOGITS}/hashes"][0],
            num_weights=shapes[f"{NGRAM_LOGITS}/weighted"][0],
            num_telling=shapes.get(f"{NGRAM_PROJECTION}/hashes", [1])[0],
            # A number that gives such a model.
            num_classes=MAX_DENSE_CLASSES + 1 if is_sparse else MAX_FEW_CLASSES + (not has_ratios),
        )

    @property
    def is_sparse(self) -> bool:
        """Whether most weights of the linear model are not stored."""
        return self.num_classes > MAX_DENSE_CLASSES and not self.has_vectors

    @property
    def num_weightings(self) -> int:
        """The number of weightings of the n-grams."""
        return num_weightings(self.num_classes)
