"""Training steps whose halves are computed side by side: what a small model computes at a time is too little to be shared among cores."""

import keras
import tensorflow as tf
from keras import ops


def learn_by_halves(model: keras.Model) -> None:
    """Makes `fit` compute the two halves of each batch independently, on as many cores as TensorFlow runs operations at a time.

    Each half counts by the weights W_i of its places, so that the loss and its gradient are those of the whole batch:

        L = (W_1 L_1 + W_2 L_2) / (W_1 + W_2)

    Args:
        model: compiled with a loss that is a mean over sample weights, and no metrics; to be trained on (inputs, y, sample_weight),
            each [batch, ...].
    """

    def train_step(data):
        inputs, y, weights = keras.utils.unpack_x_y_sample_weight(data)
        rows = ops.shape(y)[0]

        def summed(half: slice):
            y_pred = model(keras.tree.map_structure(lambda x: x[half], inputs), training=True)
            total = ops.sum(weights[half])
            return model.compute_loss(y=y[half], y_pred=y_pred, sample_weight=weights[half]) * total, total

        with tf.GradientTape() as tape:
            # A single row is in both: oneDNN ends the process at products of no rows.
            sums, totals = zip(summed(slice(None, ops.maximum(rows // 2, 1))), summed(slice(rows // 2, None)))
            loss = ops.add(*sums) / ops.add(*totals)
        variables = model.trainable_variables
        model.optimizer.apply(tape.gradient(loss, [variable.value for variable in variables]), variables)
        for metric in model.metrics:  # the loss alone
            metric.update_state(loss, sample_weight=rows)
        return {metric.name: metric.result() for metric in model.metrics}

    model.train_step = train_step
