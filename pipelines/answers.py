"""Many texts through one signature: in batches of similar length, on all cores, in the order they came."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import tensorflow as tf


class Answers:
    """A signature as a function of any number of texts.

    Args:
        signature: string [batch] -> dict of tensors, batch first: of a servable or of a loaded SavedModel.
        batch_size: texts per call.
    """

    def __init__(self, signature: Callable, batch_size: int = 64):
        self._signature = signature
        self._batch_size = batch_size

    def __call__(self, texts) -> dict[str, np.ndarray]:
        """texts: sequence of str [n] -> dict of arrays [n, ...]; strings come back as str."""
        data = np.array([text.encode("utf-8", "surrogatepass") for text in texts], dtype=object)
        order = np.argsort([len(text) for text in data], kind="stable")
        batches = [order[start : start + self._batch_size] for start in range(0, len(order), self._batch_size)]

        def answer(rows):
            outputs = self._signature(text=tf.constant(data[rows], tf.string))
            return {name: value.numpy() for name, value in outputs.items()}

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            parts = list(pool.map(answer, batches))
        back = np.argsort(order)
        return {name: _text(np.concatenate([part[name] for part in parts])[back]) for name in parts[0]}


def _text(values: np.ndarray) -> np.ndarray:
    return np.frompyfunc(bytes.decode, 1, 1)(values) if values.dtype == object and values.size else values
