"""The members of a classifier, its network and its linear model: how much the logits of each count."""

from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf

from pipelines.classification import networks
from pipelines.classification.config import ClassificationConfig
from pipelines.data import batching
from pipelines.labelled.calibration import Calibration, calibrate, calibrate_together
from pipelines.labelled.labelled_splits import Labelled
from pipelines.linear import limits

Inputs = dict[str, tf.RaggedTensor]  # of `Encoded`


def calibrated(
    config: ClassificationConfig, model: keras.Model, inputs: Inputs, valid: Labelled
) -> tuple[keras.Model, Calibration]:
    """Fits the factors of the logits to the validation texts.

    Args:
        model: of `networks.network`, trained.
        inputs: of the validation texts.

    Returns:
        (the classifier, without a member that does not help; the factors of its logits).
    """
    names = [networks.NETWORK_LOGITS] * (config.model != "linear") + [networks.LINEAR_LOGITS] * bool(config.max_ngrams)
    outputs = [model.get_layer(name).output for name in names]
    computed = _computing(config, keras.Model(model.input, outputs), inputs)()
    # In "best" it is the linear model alone, unless the network shows that it helps: few texts may favour it by chance.
    start = (0.0, 1.0) if config.model == "best" else None
    if len(names) == 1:
        return model, calibrate(computed, valid.labels, start)
    calibration = calibrate_together(*computed, valid.labels, start)
    share = calibration.members[1]["share"]
    if 0 < share < 1:
        model.get_layer(networks.MEAN_LOGITS).weight = share
        return model, calibration
    model.get_layer(networks.NGRAM_LOGITS).fading = limits.FADING  # no network answers short texts in its place
    return keras.Model(model.input, outputs[round(share)], name=model.name), calibration


def validator(
    config: ClassificationConfig, model: keras.Model, inputs: Inputs, valid: Labelled
) -> Callable[[], dict[str, float]]:
    """Returns a function that scores all members together: the network is to know what the linear model does not.

    Args:
        inputs: of the validation texts; with columns, the network reads those.
    """
    linear = keras.Model(model.input, [model.get_layer(networks.LINEAR_LOGITS).output])
    compute_linear = _computing(config, linear, inputs)
    compute_network: Callable[[], list[np.ndarray]] = list
    if config.model != "linear":
        network = keras.Model(model.input, [model.get_layer(networks.NETWORK_LOGITS).output])
        if networks.COLUMNS in inputs:
            network = networks.network_of_columns(model)
        compute_network = _computing(config, network, inputs)
    bias = model.get_layer(networks.NGRAM_LOGITS).bias
    logits_of_linear: dict[bytes, list[np.ndarray]] = {}  # by the bias: no training step changes the linear model

    def validate() -> dict[str, float]:
        known = bias.numpy().tobytes()
        if known not in logits_of_linear:
            logits_of_linear[known] = compute_linear()
        scores = calibrate([*compute_network(), *logits_of_linear[known]], valid.labels).scores(valid.labels)
        return {f"val_{name}": value for name, value in scores.items()}

    return validate


def _computing(config: ClassificationConfig, part: keras.Model, inputs: Inputs) -> Callable[[], list[np.ndarray]]:
    """Returns a function that computes the outputs of a part of the model, each [n, classes], in the texts' order."""
    order = np.argsort(inputs["ids"].row_lengths().numpy(), kind="stable")
    read = {each.name: inputs[each.name] for each in part.inputs}
    no_labels = np.zeros(len(order), np.int32)
    batches = batching.padded_batches(read, no_labels, order, config.batch_size)
    names = list(read)

    @tf.function(input_signature=[tf.TensorSpec([None, None], read[name].dtype) for name in names], autograph=False)
    def compute(*values):
        outputs = part(dict(zip(names, values)) if isinstance(part.input, dict) else values[0], training=False)
        return outputs if isinstance(outputs, list) else [outputs]

    def compute_all() -> list[np.ndarray]:
        found = [[each.numpy() for each in compute(*(batch[name] for name in names))] for batch, *_ in batches]
        return [np.concatenate(of_member)[np.argsort(order)] for of_member in zip(*found, strict=True)]

    return compute_all
