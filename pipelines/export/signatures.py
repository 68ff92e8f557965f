"""Calls a signature for any number of texts: in batches of similar length, on all cores."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import tensorflow as tf

from pipelines.support.quiet import capture_stderr_descriptor


class BatchedSignature:
    """A signature as a function of any number of texts. The results have the order of the texts.

    Args:
        signature: string [batch] -> dict of tensors, batch first: of a servable or of a loaded SavedModel.
        batch_size: number of texts per call.
        model: what has to be kept as long as the signature is used.
    """

    def __init__(self, signature: Callable, batch_size: int = 64, model=None):
        self._signature = signature
        self._model = model
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

        def call(rows: np.ndarray) -> dict[str, np.ndarray]:
            outputs = self._signature(text=tf.constant(data[rows], tf.string))
            return {name: value.numpy() for name, value in outputs.items()}

        order, results = call_in_batches(call, [len(text) for text in data], self._batch_size, not self._is_called)
        self._is_called = True
        original = np.argsort(order)
        return {name: _decoded(np.concatenate([result[name] for result in results])[original]) for name in results[0]}


def of_texts(signatures):
    """Returns the signature that takes texts: serving_default; of a model of several columns, which serving_default
    takes one by one, `composed`.

    Args:
        signatures: name -> signature.
    """
    return signatures["composed" if "composed" in signatures else "serving_default"]


def call_in_batches(
    call: Callable[[np.ndarray], Any], lengths: Sequence[int], batch_size: int, hide_messages: bool
) -> tuple[np.ndarray, list]:
    """Calls `call` for the rows of each batch, on all cores. A batch has rows of similar length.

    Args:
        call: row numbers, int [batch] -> a result.
        lengths: of the n rows.
        hide_messages: whether it is the first call of a signature, which optimizes the graph: its C++ code may print
            lines about oneDNN.

    Returns:
        (row numbers in the order of the batches, int [n]; the result of each batch).
    """
    order = np.argsort(lengths, kind="stable")
    batches = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
    results = []
    if hide_messages and batches:
        with capture_stderr_descriptor():
            results.append(call(batches[0]))
    # A process that may use a part of the cores has set the variable.
    threads = os.environ.get("TF_NUM_INTEROP_THREADS", "")
    with ThreadPoolExecutor(int(threads) if threads.isdecimal() and threads != "0" else os.cpu_count()) as pool:
        results += pool.map(call, batches[len(results) :])
    return order, results


def _decoded(values: np.ndarray) -> np.ndarray:
    return np.frompyfunc(bytes.decode, 1, 1)(values) if values.dtype == object and values.size else values
