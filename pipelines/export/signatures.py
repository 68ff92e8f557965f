"""Calls a signature for any number of texts: in batches of similar length, on all cores."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import tensorflow as tf

from pipelines.support.quiet import capture_stderr_descriptor


class BatchedSignature:
    """A signature as a function of any number of texts. The results have the order of the texts.

    Args:
        signature: string [batch] -> dict of tensors, batch first: of a servable or of a loaded SavedModel.
        batch_size: number of texts per call.
    """

    def __init__(self, signature: Callable, batch_size: int = 64):
        self._signature = signature
        self._batch_size = batch_size
        self._is_called = False

    def __call__(self, texts) -> dict[str, np.ndarray]:
        """Calls the signature for all `texts`.

        Args:
            texts: sequence of n str, at least one.

        Returns:
            output -> array [n, ...]; strings are returned as str.
        """
        data = np.array([text.encode("utf-8", "surrogatepass") for text in texts], dtype=object)
        order = np.argsort([len(text) for text in data], kind="stable")
        batches = [order[start : start + self._batch_size] for start in range(0, len(order), self._batch_size)]

        def call(rows: np.ndarray) -> dict[str, np.ndarray]:
            outputs = self._signature(text=tf.constant(data[rows], tf.string))
            return {name: value.numpy() for name, value in outputs.items()}

        results = []
        if not self._is_called:  # the first call optimizes the graph, and its C++ code may print lines about oneDNN
            with capture_stderr_descriptor():
                results.append(call(batches[0]))
            self._is_called = True
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            results += pool.map(call, batches[len(results) :])
        original = np.argsort(order)
        return {name: _decoded(np.concatenate([result[name] for result in results])[original]) for name in results[0]}


def _decoded(values: np.ndarray) -> np.ndarray:
    return np.frompyfunc(bytes.decode, 1, 1)(values) if values.dtype == object and values.size else values
