"""`inspect cost`: time and memory of a training step over the length of the text, for each architecture."""

import concurrent.futures
import multiprocessing
import statistics
import time
from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd

from pipelines.inspect.figure import Figure

ARCHITECTURES = ("simple", "gru", "lstm", "attention")
_SHORT = 4  # length of a first step, which loads what every step needs
_STATUS = Path("/proc/self/status")  # Linux alone has it


def measure(lengths: tuple[int, ...], size: int, batch_size: int, repeats: int = 3) -> pd.DataFrame:
    """Measures a training step (output and gradients) of one layer of each architecture.

    Returns:
        architecture, length, seconds (median of `repeats`), and mebibytes: how much the peak of the process's memory
        has grown since a very short step; missing where the system does not report it.

    Args:
        lengths: of the sequences, in ascending order.
        size: features of the inputs and units of the layer.
    """
    frames = []
    for architecture in ARCHITECTURES:
        # A process of its own for each: TensorFlow keeps memory that is free, so the peak would be that of all.
        with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            frames.append(pool.submit(measure_one, architecture, lengths, size, batch_size, repeats).result())
    return pd.concat(frames, ignore_index=True)


def measure_one(architecture: str, lengths: tuple[int, ...], size: int, batch_size: int, repeats: int) -> pd.DataFrame:
    """Returns the rows of `measure` of one architecture, in this process."""
    from pipelines.support.quiet import import_tensorflow

    import_tensorflow()
    import tensorflow as tf

    layer = _layer(architecture, size)
    layer.build((None, None, size))

    @tf.function(input_signature=[tf.TensorSpec([None, None, size])], autograph=False)
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(layer(x) ** 2)
        return tape.gradient(loss, layer.trainable_variables)

    def run(length) -> float:
        x = tf.constant(np.random.default_rng(0).normal(size=(batch_size, length, size)), tf.float32)
        start = time.perf_counter()
        [each.numpy() for each in step(x)]
        return time.perf_counter() - start

    run(_SHORT)
    before, rows = _peak(), []
    for length in lengths:
        run(length)
        memory = _peak() - before
        seconds = statistics.median(run(length) for _ in range(repeats))
        rows.append({"architecture": architecture, "length": length, "seconds": seconds, "mebibytes": memory})
    return pd.DataFrame(rows)


def slopes(rows: pd.DataFrame) -> pd.DataFrame:
    """Returns architecture and the exponent k of time ~ length^k, of a line through the upper half of the lengths.

    The upper half has at least two lengths.
    """
    fitted = []
    for architecture, group in rows.groupby("architecture", sort=False):
        group = group.sort_values("length")
        upper = group.tail(max(2, (len(group) + 1) // 2))
        exponent = np.polyfit(np.log(upper["length"]), np.log(upper["seconds"]), 1)[0]
        fitted.append({"architecture": architecture, "exponent": float(exponent)})
    return pd.DataFrame(fitted)


def figures(rows: pd.DataFrame, size: int, batch_size: int) -> list[Figure]:
    """Returns the figure of the rows of `measure`."""
    lines = alt.Chart(alt.NamedData("cost")).mark_line(point=True)

    def panel(field: str, title: str) -> alt.Chart:
        return lines.encode(
            x=alt.X("length:Q", scale=alt.Scale(type="log", base=2), title="length in tokens"),
            y=alt.Y(f"{field}:Q", scale=alt.Scale(type="log"), title=title),
            color=alt.Color("architecture:N", sort=list(ARCHITECTURES)),
            tooltip=["architecture:N", "length:Q", alt.Tooltip(f"{field}:Q", format=".4g")],
        ).properties(width=430, height=320)

    panels = [panel("seconds", "seconds of a training step")]
    if rows["mebibytes"].notna().any():
        rows = rows.assign(mebibytes=rows["mebibytes"].where(rows["mebibytes"] > 0))
        panels.append(panel("mebibytes", "peak memory of a step in MiB"))
    exponents = ", ".join(f"{row.architecture} {row.exponent:.1f}" for row in slopes(rows).itertuples())
    return [
        Figure(
            "cost",
            f"Cost of a layer of {size} units, batch of {batch_size}",
            "Both axes are logarithmic: a line of slope 1 grows with the length, one of slope 2 with its square. "
            f"Slopes of time in the upper half of the lengths: {exponents}. Measured on this machine.",
            alt.hconcat(*panels),
            {"cost": rows},
        )
    ]


def _layer(architecture: str, size: int):
    import keras

    from layers import CachedMultiHeadAttention, HoistedGRU, HoistedLSTM

    if architecture == "attention":
        return CachedMultiHeadAttention(num_heads=1, causal=True)
    kinds = {"simple": keras.layers.SimpleRNN, "gru": HoistedGRU, "lstm": HoistedLSTM}
    return kinds[architecture](size, return_sequences=True)


def _peak() -> float:
    """Returns the peak of this process's memory so far, in MiB; NaN where the system does not report it."""
    if not _STATUS.exists():
        return float("nan")
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024
