"""Training steps whose halves are computed side by side: what a small model computes at a time is too little to be shared among cores."""

import keras
import tensorflow as tf
from keras import ops


def learn_by_halves(model: keras.Model) -> None:
    """Makes `fit` compute the two halves of each batch independently, on as many cores as TensorFlow runs operations at a time.

    Each half counts by W_i, what its loss is a mean over (weights or rows), so that the loss and its gradient are those of the whole batch:

        L = (W_1 L_1 + W_2 L_2) / (W_1 + W_2)

    Where there is a GPU, which wants more at a time rather than less, the model stays as it is.

    Args:
        model: compiled with one Keras loss; to be trained on (inputs, y) or (inputs, y, sample_weight), each [batch, ...]. Its rows must
            not see one another: no batch normalisation that learns.
    """
    if tf.config.list_physical_devices("GPU"):
        return
    over_weights = model.loss.reduction == "mean_with_sample_weight"

    def train_step(data):
        inputs, y, weights = keras.utils.unpack_x_y_sample_weight(data)
        rows = ops.shape(y)[0]

        def computed(half: slice):
            x, true = keras.tree.map_structure(lambda tensor: tensor[half], (inputs, y))
            counted = None if weights is None else weights[half]
            y_pred = model(x, training=True)
            loss = model.compute_loss(x=x, y=true, y_pred=y_pred, sample_weight=counted)
            size = ops.sum(counted) if over_weights else ops.cast(ops.shape(true)[0], loss.dtype)
            return loss * size, size, (x, true, y_pred, counted)

        with tf.GradientTape() as tape:
            # A single row is in both: oneDNN ends the process at products of no rows.
            halves = slice(None, ops.maximum(rows // 2, 1)), slice(rows // 2, None)
            sums, sizes, seen = zip(*map(computed, halves))
            loss = ops.add(*sums) / ops.add(*sizes)
        variables = model.trainable_variables
        model.optimizer.apply(tape.gradient(loss, [variable.value for variable in variables]), variables)
        next(metric for metric in model.metrics if metric.name == "loss").update_state(loss, sample_weight=rows)
        for half, new in zip(seen, (slice(None, rows // 2), slice(None))):  # a single row counts once
            model.compute_metrics(*(None if part is None else keras.tree.map_structure(lambda tensor: tensor[new], part) for part in half))
        return model.get_metrics_result()

    model.train_step = train_step
