"""The training step of one of several workers: it computes its rows of the batch, and all apply the same gradient."""

import keras
import tensorflow as tf

from pipelines.training.group import Group
from pipelines.training.own_inputs import OwnInputs


def train_on_parts(model: keras.Model, group: Group, class_weight: dict[int, float] | None) -> tf.Variable:
    """Makes `fit` compute this worker's rows of each batch and apply the gradient of the whole batch.

    Worker i counts with the weight W_i over which its loss is a mean (sample weights or rows), so that loss, gradient,
    its norm and the metrics are those of the whole batch on one worker, and all workers keep equal weights:

        L = (W_1 L_1 + ... + W_n L_n) / (W_1 + ... + W_n)

    Gradients of embeddings, which have the rows that were read, are gathered; others are summed. (Keras's Adam squares
    each row of such a gradient, also those of the same token: their sum would give other weights than one worker's.)

    Args:
        model: compiled with one loss, with the variables of its metrics; trained on (inputs, y) or (inputs, y,
            sample_weight), each [rows, ...]. Where the loss is not a mean over sample weights, sample_weight is 1, or 0
            for a row that does not count. Its rows must be independent: no batch normalization that learns.
        class_weight: as in `keras.Model.fit`.

    Returns:
        A variable to which a worker assigns 1 to request a stop; a step sets it to the number of such workers.
    """
    over_weights = getattr(model.loss, "reduction", None) == "mean_with_sample_weight"
    stops = tf.Variable(0.0, trainable=False)
    classes = class_weight and tf.constant([class_weight[i] for i in range(len(class_weight))])
    model.jit_compile = False  # XLA has no collective operations between processes

    def train_step(data):
        inputs, y, weights = keras.utils.unpack_x_y_sample_weight(data)
        if isinstance(model, OwnInputs):
            inputs = model.own_inputs(inputs)
        if weights is None:
            weights = tf.ones(tf.shape(y)[:1])
        size = tf.reduce_sum(weights)
        counted = tf.reduce_max(weights, axis=1) if over_weights else weights  # [rows], 1 or 0
        rows = tf.reduce_sum(counted)
        sample_weight = weights
        if not over_weights:
            sample_weight = weights * tf.gather(classes, y) if classes is not None else None
        with tf.GradientTape() as tape:
            y_pred = model(inputs, training=True)
            loss = model.compute_loss(x=inputs, y=y, y_pred=y_pred, sample_weight=sample_weight)
            loss = tf.cast(loss, tf.float32) * size
        variables = model.trainable_variables
        gradients = tape.gradient(loss, [variable.value for variable in variables])
        gradients = [
            tf.ensure_shape(gradient, variable.shape) if isinstance(gradient, tf.Tensor) else gradient
            for gradient, variable in zip(gradients, variables)
        ]
        compiled = [metric for metric in model.metrics if metric.name != "loss"]
        states = [variable.value for metric in compiled for variable in metric.variables]
        before = [tf.identity(state) for state in states]
        of_counted = slice(None, tf.cast(rows, tf.int32))  # one row at most does not count, and it is alone
        model.compute_metrics(*(_rows(each, of_counted) for each in (inputs, y, y_pred, sample_weight)))
        increments = [state - value for state, value in zip(states, before)]

        numbers = [loss, size, rows, stops.read_value()]
        gradients, increments, (loss, size, rows, stopping) = _sum_all(group, gradients, increments, numbers)
        model.optimizer.apply([_divided(gradient, size) for gradient in gradients], variables)
        for state, value, increment in zip(states, before, increments):
            state.assign(value + increment)
        tracker = next(metric for metric in model.metrics if metric.name == "loss")
        tracker.update_state(loss / size, sample_weight=rows)
        stops.assign(stopping)
        return model.get_metrics_result()

    model.train_step = train_step
    return stops


def _sum_all(group: Group, gradients: list, *lists: list) -> list[list]:
    """Returns the lists with the sums over all workers in place of their tensors; a gradient may be None."""
    sparse = [each for each in gradients if isinstance(each, tf.IndexedSlices)]
    dense = [each for each in gradients if isinstance(each, tf.Tensor)]
    flat = [*dense, *(tensor for tensors in lists for tensor in tensors)]
    sizes = [each.shape.num_elements() for each in flat]
    values = tf.concat([tf.reshape(tf.cast(each, tf.float32), [size]) for each, size in zip(flat, sizes)], axis=0)
    summed = tf.split(group.sum_step(values), sizes)
    summed = iter([tf.cast(tf.reshape(value, each.shape), each.dtype) for value, each in zip(summed, flat)])
    gathered = iter(group.gather_slices(sparse))
    result = []
    for each in gradients:
        is_sparse = isinstance(each, tf.IndexedSlices)
        result.append(None if each is None else next(gathered) if is_sparse else next(summed))
    return [result, *([next(summed) for _ in tensors] for tensors in lists)]


def _divided(gradient, size):
    if gradient is None:
        return None
    if isinstance(gradient, tf.IndexedSlices):
        return tf.IndexedSlices(gradient.values / size, gradient.indices, gradient.dense_shape)
    return gradient / size


def _rows(tensors, rows: slice):
    """Returns these rows of a nested structure of tensors; None for None."""
    return None if tensors is None else keras.tree.map_structure(lambda tensor: tensor[rows], tensors)
