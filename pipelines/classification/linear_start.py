"""The linear model over n-grams that a training continues from (`--from`)."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from layers.known_ngrams import NO_HASH
from pipelines.classification.config import ClassificationConfig
from pipelines.classification.sizes import NGRAM_LOGITS
from pipelines.linear.linear_problem import Fitted, Known
from pipelines.linear.ngrams import is_token
from pipelines.runs import continuing

_TOKEN_WEIGHTS = np.array([1.0, 2.0, 4.0])  # a training chooses one of them


class Start(NamedTuple):
    """The weights of an `NGramLogits` layer, with zeros for new labels.

    Attributes:
        hashes: of its n-grams, int32 [k], ascending.
        weighted, ratios: of the n-grams, float32 [weightings, k, classes].
        bias, min_norm: float32 [weightings, classes].
        repeats: see `NGramLogits`.
        counts: number of the texts that it was fitted to, and of those of each class, float [1 + classes].
    """

    hashes: np.ndarray
    weighted: np.ndarray
    ratios: np.ndarray
    bias: np.ndarray
    min_norm: np.ndarray
    repeats: float
    counts: np.ndarray

    @classmethod
    def of_run(cls, config: ClassificationConfig, num_classes: int) -> "Start":
        """Returns the linear model of the run to continue from. The labels of the run are the first of `num_classes`.

        Raises:
            UserError: the run is damaged.
        """
        weights = _weights_of(config)
        num_known, num_used = len(continuing.result_of(config)["classes"]), len(weights["hashes"])

        def by_weighting(name: str) -> np.ndarray:  # [weightings, ..., classes]
            values = weights[name]
            values = values[:num_used] if values.ndim == 2 else values
            values = np.moveaxis(values.reshape(*values.shape[:-1], -1, num_known), -2, 0)
            return np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, num_classes - num_known)])

        ratios = np.sqrt(by_weighting("squared"))
        ratios[0] = ratios[0, :, :1]  # inverse frequencies, which are the same for all labels
        return cls(
            weights["hashes"],
            by_weighting("weighted"),
            ratios,
            by_weighting("bias"),
            by_weighting("min_norm"),
            float(weights["repeats"][0]),
            _counts_of(config, num_classes),
        )

    def known(self, hashes: np.ndarray, one_decision: bool) -> Known:
        """Returns the model at n-grams, those of `hashes`: int32 [k], ascending, with all that it has.

        Args:
            one_decision: whether there is one decision between two classes, each of which has half of its logit.
        """
        places = np.searchsorted(hashes, self.hashes)
        classes = slice(1, None) if one_decision else slice(None)
        scale = np.float32(2 if one_decision else 1)
        of_weightings = []
        for weighted, ratios, bias, min_norm in zip(self.weighted, self.ratios, self.bias, self.min_norm, strict=True):
            shape = len(hashes), weighted[:, classes].shape[1]
            all_ratios, weights = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
            all_ratios[places] = ratios[:, classes]
            weights[places] = scale * weighted[:, classes] / np.where(ratios > 0, ratios, 1)[:, classes]
            of_weightings.append(Fitted(all_ratios, weights, scale * bias[classes], min_norm[classes]))
        counts = np.append(self.counts[:1], self.counts[1:][classes])
        return Known(of_weightings, counts, self._token_weight(), self.repeats)

    def _token_weight(self) -> float:
        """Returns how much n-grams of tokens weigh: the rarest of them, beside the rarest ones of characters."""
        of_tokens = is_token(self.hashes)
        if of_tokens.all() or not of_tokens.any():
            return 1.0
        ratio = self.ratios[0, of_tokens, 0].max() / self.ratios[0, ~of_tokens, 0].max()
        return float(_TOKEN_WEIGHTS[np.abs(np.log(_TOKEN_WEIGHTS / ratio)).argmin()])


class SparseStart(NamedTuple):
    """The weights of a `SparseNGramLogits` layer, with none for new labels.

    Attributes:
        hashes: of its n-grams, int32 [k], ascending.
        ratios: of the n-grams, float32 [k]; 0 of one that the model does not know.
        weights: float32 [k, classes].
        bias: float32 [classes].
        min_norm, repeats: see `SparseNGramLogits`.
        counts: as of `Start`.
    """

    hashes: np.ndarray
    ratios: np.ndarray
    weights: sparse.csr_array
    bias: np.ndarray
    min_norm: float
    repeats: float
    counts: np.ndarray

    @classmethod
    def of_run(cls, config: ClassificationConfig, num_classes: int) -> "SparseStart":
        """Returns the linear model of the run to continue from; see `Start.of_run`."""
        weights = _weights_of(config)
        num_used = len(weights["hashes"])
        ratios, starts = np.sqrt(weights["squared"][:num_used]), weights["starts"][: num_used + 1]
        values = weights["weighted"][: starts[-1]] / np.repeat(ratios, np.diff(starts))
        return cls(
            weights["hashes"],
            ratios,
            sparse.csr_array((values, weights["classes"][: starts[-1]], starts), (num_used, num_classes)),
            np.pad(weights["bias"], (0, num_classes - len(weights["bias"]))),
            float(weights["min_norm"][0]),
            float(weights["repeats"][0]),
            _counts_of(config, num_classes),
        )

    def at(self, hashes: np.ndarray) -> "SparseStart":
        """Returns the model at n-grams, those of `hashes`: int32 [k], ascending, with all that it has."""
        places, ratios = np.searchsorted(hashes, self.hashes), np.zeros(len(hashes), np.float32)
        ratios[places] = self.ratios
        sizes = np.zeros(len(hashes) + 1, np.int64)
        sizes[places + 1] = np.diff(self.weights.indptr)
        shape = (len(hashes), self.weights.shape[1])
        weights = sparse.csr_array((self.weights.data, self.weights.indices, np.cumsum(sizes)), shape)
        return self._replace(hashes=hashes, ratios=ratios, weights=weights)


def _weights_of(config: ClassificationConfig) -> dict[str, np.ndarray]:
    """Returns the weights of the layer over n-grams of the run to continue from: name -> values.

    Those of "hashes" are the ones that are used; the others are at the end.
    """
    prefix = f"{NGRAM_LOGITS}/"
    all_weights = continuing.weights_of(config)
    weights = {name.removeprefix(prefix): value for name, value in all_weights.items() if name.startswith(prefix)}
    return weights | {"hashes": weights["hashes"][weights["hashes"] != NO_HASH]}


def _counts_of(config: ClassificationConfig, num_classes: int) -> np.ndarray:
    """Returns `Start.counts`."""
    result = continuing.result_of(config)
    rows = np.array([result["rows"]["train"], *result["class_rows"].values()], float)
    return np.pad(rows, (0, 1 + num_classes - len(rows)))
