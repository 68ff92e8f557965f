"""Helpers of the layers' tests, for all backends: TensorFlow, JAX and Torch."""

import contextlib
import functools
from unittest import mock

import keras
import numpy as np
import pytest
from keras import ops
from keras.src.backend.common import dtypes

BACKEND = keras.backend.backend()
needs_tensorflow = pytest.mark.skipif(BACKEND != "tensorflow", reason="only TensorFlow has graphs and SavedModels")


def numpy_of(outputs):
    return keras.tree.map_structure(ops.convert_to_numpy, outputs)


def float32_of(outputs):
    return keras.tree.map_structure(lambda x: ops.convert_to_numpy(ops.cast(x, "float32")), outputs)


def close(got, expected, atol=1e-5, rtol=1e-7):
    """Asserts that two arrays, or two structures of arrays, are close. Lists and tuples count as the same structure."""
    for a, b in zip(keras.tree.flatten(numpy_of(got)), keras.tree.flatten(numpy_of(expected)), strict=True):
        np.testing.assert_allclose(a, b, atol=atol, rtol=rtol)


def normal(*shape, seed=0, dtype="float32"):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def randomized(layer, *shapes, seed=1, scale=0.5):
    """Builds the layer with random weights. If a bias were zero, no test would notice an equation without it."""
    layer.build(*shapes)
    rng = np.random.default_rng(seed)
    for variable in layer.trainable_variables:
        variable.assign(rng.normal(scale=scale, size=variable.shape) + (variable.name == "gamma"))
    return layer


def call(layer, *args, static=(), **kwargs):
    """Returns layer(*args, **kwargs) as numpy arrays. Keyword arguments are arrays, bool or None; the layer is built.

    `static` names keyword arguments that give a shape: integers that stay integers in compiled code.

    On JAX the call is compiled as a whole: to compile each operation by itself takes ten times longer. The states of
    the layer's seed generators do not change there.
    """
    if BACKEND != "jax":
        return numpy_of(layer(*args, **kwargs))
    import jax

    options = {name: x for name, x in kwargs.items() if x is None or isinstance(x, bool) or name in static}
    arrays = {name: value for name, value in kwargs.items() if name not in options}

    def function(values, args, arrays):
        with keras.StatelessScope(state_mapping=list(zip(layer.variables, values, strict=True))):
            return layer(*args, **arrays, **options)

    return numpy_of(jax.jit(function)([variable.value for variable in layer.variables], args, arrays))


def trains(model, inputs, targets, loss="mse", compiled=True):
    """Asserts that a training step changes every weight.

    `compiled` is what users get (on TensorFlow with XLA), but it is slow.
    """
    model.compile("adam", loss, run_eagerly=BACKEND == "tensorflow" and not compiled)
    old_weights = model.get_weights()
    model.fit(inputs, targets, verbose=0)
    assert all(np.abs(old - new).max() > 0 for old, new in zip(old_weights, model.get_weights(), strict=True))


def in_float64(test):
    """Runs the test with real float64. By default JAX, and keras.ops on JAX and Torch, replace float64 by float32."""

    @functools.wraps(test)
    def run(*args, **kwargs):
        with contextlib.ExitStack() as stack:
            if BACKEND == "jax":
                import jax

                stack.enter_context(jax.enable_x64(True))
            stack.enter_context(mock.patch.dict(dtypes.BIT64_TO_BIT32_DTYPE, float64="float64"))
            test(*args, **kwargs)

    return run


def value_and_gradients(loss, variables):
    """Returns the function from a list (arrays, then values of the variables) to (loss(*arrays), its gradients)."""

    def at(points):
        arrays, values = points[: len(points) - len(variables)], points[len(points) - len(variables) :]
        with keras.StatelessScope(state_mapping=list(zip(variables, values, strict=True))):
            return loss(*arrays)

    if BACKEND == "jax":
        import jax

        function = jax.jit(jax.value_and_grad(at))
    elif BACKEND == "torch":
        import torch

        def function(points):
            points = [point.detach().clone().requires_grad_() for point in points]
            total = at(points)
            return total, list(torch.autograd.grad(total, points))

    else:
        import tensorflow as tf

        @tf.function
        def function(points):
            with tf.GradientTape() as tape:
                tape.watch(points)
                total = at(points)
            return total, tape.gradient(total, points)

    return lambda points: numpy_of(function([ops.convert_to_tensor(p) for p in points]))


def check_gradients(loss, variables, arrays):
    """Asserts that each gradient in a random direction equals the central difference. The test must be `in_float64`."""
    points = [*arrays, *numpy_of([variable.value for variable in variables])]
    assert {point.dtype.name for point in points} == {"float64"}
    function = value_and_gradients(loss, variables)
    _, gradients = function(points)
    rng = np.random.default_rng(2)
    for k, gradient in enumerate(gradients):
        direction = rng.normal(size=points[k].shape)
        ends = [function([*points[:k], points[k] + step * direction, *points[k + 1 :]])[0] for step in (1e-5, -1e-5)]
        difference = (ends[0] - ends[1]) / 2e-5
        assert abs(difference) > 1e-8, "the gradient is zero, so this check is void: choose another loss"
        np.testing.assert_allclose(np.sum(gradient * direction), difference, rtol=1e-6, atol=1e-8)


def ops_without_xla(function):
    """Returns the names of all ops of a tf.function with an input signature. Asserts that none needs XLA.

    TF Serving disables XLA.
    """
    graph = function.get_concrete_function().graph.as_graph_def()
    names = {node.op for part in (graph.node, *(f.node_def for f in graph.library.function)) for node in part}
    assert not [name for name in names if name.startswith("Xla")]
    return names
