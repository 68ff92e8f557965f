"""Training steps that compute the two halves of each batch in parallel.

A small model has too little work in one operation to use several cores.
"""

import keras
import tensorflow as tf
from keras import ops


def train_on_split_batches(model: keras.Model) -> None:
    """Makes `fit` compute the two halves of each batch independently, and so in parallel.

    Half i counts with the weight W_i over which its loss is a mean (sample weights or rows), so that the loss and its
    gradient are those of the whole batch:

        L = (W_1 L_1 + W_2 L_2) / (W_1 + W_2)

    With a GPU, which is faster with larger batches, the model stays as it is.

    Args:
        model: compiled with one Keras loss; trained on (inputs, y) or (inputs, y, sample_weight), each [batch, ...].
            Its rows must be independent: no batch normalization that learns.
    """
    if tf.config.list_physical_devices("GPU"):
        return
    over_weights = model.loss.reduction == "mean_with_sample_weight"

    def train_step(data):
        inputs, y, weights = keras.utils.unpack_x_y_sample_weight(data)
        rows = ops.shape(y)[0]

        def compute(half: slice):
            x, y_true, sample_weight = (_rows(tensors, half) for tensors in (inputs, y, weights))
            y_pred = model(x, training=True)
            loss = model.compute_loss(x=x, y=y_true, y_pred=y_pred, sample_weight=sample_weight)
            size = ops.sum(sample_weight) if over_weights else ops.cast(ops.shape(y_true)[0], loss.dtype)
            return loss * size, size, (x, y_true, y_pred, sample_weight)

        with tf.GradientTape() as tape:
            # A single row is in both halves: oneDNN aborts the process on products of zero rows.
            halves = slice(None, ops.maximum(rows // 2, 1)), slice(rows // 2, None)
            sums, sizes, outputs = zip(*map(compute, halves))
            loss = ops.add(*sums) / ops.add(*sizes)
        variables = model.trainable_variables
        model.optimizer.apply(tape.gradient(loss, [variable.value for variable in variables]), variables)
        next(metric for metric in model.metrics if metric.name == "loss").update_state(loss, sample_weight=rows)
        for half, valid in zip(outputs, (slice(None, rows // 2), slice(None))):  # a single row counts once
            model.compute_metrics(*(_rows(tensors, valid) for tensors in half))
        return model.get_metrics_result()

    model.train_step = train_step


def _rows(tensors, rows: slice):
    """Returns these rows of a nested structure of tensors; None for None."""
    return None if tensors is None else keras.tree.map_structure(lambda tensor: tensor[rows], tensors)
