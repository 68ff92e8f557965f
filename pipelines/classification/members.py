"""Calibrates a classifier: how much the logits of its network and of its linear model count."""

import keras
import numpy as np
import tensorflow as tf

from pipelines.classification import networks
from pipelines.classification.config import ClassificationConfig
from pipelines.classification.servable import network_inputs
from pipelines.data import batching
from pipelines.labelled.calibration import Calibration, calibrate
from pipelines.labelled.splits import Labelled
from pipelines.support import console


def calibrated(
    config: ClassificationConfig, model: keras.Model, inputs: dict[str, tf.RaggedTensor], valid: Labelled
) -> tuple[keras.Model, Calibration]:
    """Fits the factors of the logits to the validation texts.

    The logits of a linear model alone keep their factor, which `linear_model.fit` chose on texts that it had left out.

    Args:
        model: of `networks.network`, trained.
        inputs: of the validation texts.

    Returns:
        (the classifier, without a member that does not help; the factors of its logits).
    """
    if config.model == "linear":
        return model, Calibration((1.0,), None)
    names = [networks.NETWORK_LOGITS] + [networks.LINEAR_LOGITS] * bool(config.max_ngrams)
    outputs = [model.get_layer(name).output for name in names]
    order = np.argsort(inputs["ids"].row_lengths().numpy(), kind="stable")
    batches = batching.padded_batches(network_inputs(inputs), valid.labels, order, config.batch_size)
    logits = keras.Model(model.input, outputs).predict(batches, verbose=0)
    logits = logits if isinstance(logits, list) else [logits]
    calibration = calibrate([each[np.argsort(order)] for each in logits], valid.labels)
    if len(names) == 1:
        return model, calibration
    share = calibration.factors[1] / sum(calibration.factors)
    console.say(f"  fitted to the validation texts: {1 - share:.0%} of the network's logits, {share:.0%} of the linear")
    if 0 < share < 1:
        model.get_layer(networks.MEAN_LOGITS).weight = share
        return model, calibration
    kept = keras.Model(model.input, outputs[round(share)], name=model.name)
    return kept, calibration
