"""Models that are solved, not trained by steps: the head on the frozen encoder's vectors, and n-grams beside it."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import keras
import numpy as np

from pipelines.data import batching
from pipelines.labelled.calibration import Calibration, calibrate_together, fit_factors
from pipelines.labelled.describe import text_weight
from pipelines.labelled.labelled_splits import Labelled, LabelledSplits
from pipelines.linear import limits, linear_model
from pipelines.linear.linear_model import Choice
from pipelines.linear.text_model import TextModel
from pipelines.pretrained import frozen, vector_model
from pipelines.pretrained.vector_model import Vectors
from pipelines.support import console
from pipelines.text.normalization import Cutter
from pipelines.transfer import networks
from pipelines.transfer.config import TransferConfig

_PRIOR = 1.0  # of `fit_factors`: a few validation texts do not move the scale of the logits far
_SHARES = 0.7, 0.3  # of the network and of n-grams beside it, which a few validation texts do not change much


@dataclasses.dataclass(frozen=True)
class Network:
    """A network, and what its head is computed from.

    Attributes:
        config: complete.
        splits: the texts and labels.
        cut: makes of a text what the encoder reads.
        model: of `networks.network`.
        run: the run's folder, which keeps the vectors; None keeps nothing.
    """

    config: TransferConfig
    splits: LabelledSplits
    cut: Cutter
    model: keras.Model
    run: Path | None

    def vectors(self, parts: Sequence[Labelled]) -> np.ndarray:
        """Returns what the head reads of texts, float32 [n, features]: the vectors of the encoder as it is now."""
        features = keras.Model(self.model.input, self.model.get_layer(networks.DROPOUT).input)
        name = f"{self.config.signature} {self.config.output_key} {self.config.drop_layers}"
        encode, size = _function(features, self.cut), features.output.shape[-1]
        return np.concatenate([frozen.vectors_of(encode, data.texts, size, self.run, name) for data in parts])

    def labels(self, parts: Sequence[Labelled]) -> np.ndarray:
        """Returns the class ids of texts, int [n]."""
        return np.concatenate([data.labels for data in parts])

    def text_weight(self, parts: Sequence[Labelled]) -> np.ndarray | None:
        """Returns the weights of texts, float [n]; None if all weigh 1."""
        weights = [text_weight(self.config, self.splits, data) for data in parts]
        return None if weights[0] is None else np.concatenate(weights)

    def logits(self, data: Labelled) -> np.ndarray:
        """Returns the network's logits of texts, float32 [n, classes]."""
        return frozen.vectors_of(_function(self.model, self.cut), data.texts, len(self.splits.classes), None)


def solve(network: Network, with_valid: bool = False) -> None:
    """Gives the layer that scores the classes the weights of logistic regression on the vectors of the encoder.

    How much it is regularised is chosen by a fit to the training texts and its loss on the validation texts. A network
    that starts from this head, in place of a random one, changes less of what the encoder knows (Kumar et al. 2022,
    "Fine-Tuning can Distort Pretrained Features and Underperform Out-of-Distribution").

    Args:
        with_valid: whether it is then fitted once more, to the training and the validation texts.
    """
    train, valid = network.splits.train, network.splits.valid
    vectors, of_valid = network.vectors([train]), network.vectors([valid])
    found = []
    for cost in vector_model.COSTS:
        fitted = _fit(network, [train], vectors, cost)
        (factor,), loss = fit_factors(fitted.logits(of_valid)[None], valid.labels, _PRIOR)
        found.append((loss, cost, factor, fitted))
    _, cost, factor, fitted = min(found, key=lambda each: each[0])
    if with_valid:
        fitted = _fit(network, [train, valid], np.concatenate([vectors, of_valid]), cost)
    network.model.get_layer(networks.LOGITS).set_weights([np.float32(factor * values) for values in fitted])


def _fit(network: Network, parts: Sequence[Labelled], vectors: np.ndarray, cost: float) -> vector_model.VectorModel:
    num_classes = len(network.splits.classes)
    exclude = num_classes > 2
    decisions = np.arange(num_classes)[:, None] == network.labels(parts)  # [classes, n]
    decisions = decisions if exclude else decisions[1:]
    return vector_model.fit(vectors, decisions, network.text_weight(parts), cost, exclude).of_classes()


@dataclasses.dataclass(frozen=True)
class Beside:
    """The linear model over n-grams beside a network.

    Attributes:
        model: string [batch] -> logits [batch, classes].
        weights: of the network's logits, and of its own.
        choice: its settings.
        calibration: of the weighted sum of the logits; None: it is not known yet.
    """

    model: TextModel
    weights: tuple[float, ...]
    choice: Choice | None
    calibration: Calibration | None = None


def fit_beside(network: Network) -> Beside:
    """Fits the linear model over n-grams to the training texts.

    If the network's encoder is frozen, the head becomes a part of it: both are fitted together, and their logits are
    added. Beside an encoder that was trained it counts as much as that helps on the validation texts.
    """
    train, valid = network.splits.train, network.splits.valid
    fading = limits.FADING_BESIDE_NETWORK if network.config.trains else limits.FADING
    model = TextModel(train.texts, len(network.splits.classes), network.config.max_bytes, fading)
    console.say("fitting the linear model over n-grams ...")
    choice = _fit_model(network, model, [train])
    if not network.config.trains:
        return Beside(model, (1.0, 1.0), choice)
    of_texts = frozen.vectors_of(batching.of_texts(model.__call__), valid.texts, len(network.splits.classes), None)
    calibration = calibrate_together(network.logits(valid), of_texts, valid.labels, _SHARES)
    return Beside(model, tuple(member["share"] for member in calibration.members), choice, calibration)


def fit_beside_again(network: Network, beside: Beside) -> None:
    """Fits the linear model, and the head of a frozen encoder with it, to the training and the validation texts."""
    parts = [network.splits.train, network.splits.valid]
    _fit_model(network, beside.model, parts, linear_model.kept(beside.choice, sum(map(len, parts))))


def _fit_model(
    network: Network, model: TextModel, parts: Sequence[Labelled], choice: Choice | None = None
) -> Choice | None:
    vectors = None
    if not network.config.trains:
        vectors = Vectors(network.model.get_layer(networks.LOGITS), network.vectors(parts))
    texts, labels, weight = (
        np.concatenate([data.texts for data in parts]),
        network.labels(parts),
        network.text_weight(parts),
    )
    return model.fit(texts, labels, weight, network.config.seed, choice, vectors)


def _function(model: keras.Model, cut: Cutter):
    """Returns a model of strings as a function that TensorFlow traces once."""
    return batching.of_texts(lambda text: model(cut(text), training=False))
