"""Is mixed_bfloat16 faster than float32 on this machine?

    python benchmarks/precision.py [--repetitions 11] [--only matmul]

Prints one row per computation: the matrix products of a network's layers, a training step of an LSTM, and a training
step of a small Transformer. The two precisions take turns (A B A B ...). The ratio is the time in float32 divided by
the time in mixed_bfloat16: above 1, mixed_bfloat16 is faster. Use an otherwise idle machine.

If the training steps are faster on a processor that `--precision auto` trains in float32, add the flag of its
instructions to CPU_FLAGS in pipelines/training/precision.py.
"""

import argparse
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pipelines.support.quiet import import_tensorflow

import_tensorflow()

import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

from layers import TransformerDecoderBlock  # noqa: E402
from pipelines.training import precision  # noqa: E402

POLICIES = ("float32", "mixed_bfloat16")
PRODUCTS = (512, 1024, 2048)
VOCABULARY = 1000


def matrix_product(size: int, policy: str) -> Callable[[], None]:
    """Returns a function that multiplies two matrices [size, size] in the policy's compute dtype."""
    dtype = keras.dtype_policies.get(policy).compute_dtype
    rng = np.random.default_rng(1)
    a, b = (tf.cast(tf.constant(rng.normal(size=(size, size)), tf.float32), dtype) for _ in range(2))
    return lambda: tf.linalg.matmul(a, b)[0, 0].numpy()


def lstm() -> keras.Model:
    """Returns an LSTM of 512 units that predicts a token at each of 64 positions."""
    ids = keras.Input((64,), dtype="int32")
    x = keras.layers.Embedding(VOCABULARY, 512)(ids)
    x = keras.layers.LSTM(512, return_sequences=True)(x)
    return keras.Model(ids, keras.layers.Dense(VOCABULARY, dtype="float32")(x))


def transformer() -> keras.Model:
    """Returns a causal Transformer of 4 blocks of size 256 that predicts a token at each of 128 positions."""
    ids = keras.Input((128,), dtype="int32")
    x = keras.layers.Embedding(VOCABULARY, 256)(ids)
    for _ in range(4):
        x = TransformerDecoderBlock(num_heads=8, intermediate_size=1024, activation="gelu", norm="pre")(x)
    return keras.Model(ids, keras.layers.Dense(VOCABULARY, dtype="float32")(x))


def training_step(build: Callable[[], keras.Model], batch_size: int, policy: str) -> Callable[[], None]:
    """Returns a function that trains one step under `policy`."""
    keras.utils.set_random_seed(1)
    keras.config.set_dtype_policy(policy)
    model = build()
    keras.config.set_dtype_policy("float32")
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.001), loss, jit_compile=False)
    ids = np.random.default_rng(1).integers(0, VOCABULARY, (batch_size, model.input_shape[1]))
    inputs, targets = tf.constant(ids, tf.int32), tf.constant(np.roll(ids, -1, axis=1), tf.int32)
    return lambda: model.train_on_batch(inputs, targets)


def computations() -> dict[str, Callable[[str], Callable[[], None]]]:
    """Returns name -> (policy -> function to measure)."""
    products = {f"matmul {size} x {size}": lambda policy, size=size: matrix_product(size, policy) for size in PRODUCTS}
    return products | {
        "LSTM 512, batch 64, 64 positions": lambda policy: training_step(lstm, 64, policy),
        "Transformer 4 x 256, batch 32, 128 positions": lambda policy: training_step(transformer, 32, policy),
    }


def seconds(function: Callable[[], None], calls: int) -> float:
    """Returns the duration of one of `calls` calls."""
    started = time.perf_counter()
    for _ in range(calls):
        function()
    return (time.perf_counter() - started) / calls


def compare(name: str, make: Callable[[str], Callable[[], None]], repetitions: int) -> None:
    """Prints the row of a computation."""
    functions = [make(policy) for policy in POLICIES]
    for function in functions:
        function()
        function()
    calls = max(1, int(0.1 / seconds(functions[0], 1)))  # at least a tenth of a second per measurement
    times = [[seconds(function, calls) for function in functions] for _ in range(repetitions)]
    ratios = [float32 / bfloat16 for float32, bfloat16 in times]
    columns = list(zip(*times, strict=True))
    cells = [f"{1000 * min(column):.1f} / {1000 * statistics.median(column):.1f} ms" for column in columns]
    fastest = min(columns[0]) / min(columns[1])
    row = [
        name,
        *cells,
        f"{statistics.median(ratios):.2f}",
        f"{min(ratios):.2f} to {max(ratios):.2f}",
        f"{fastest:.2f}",
    ]
    print(f"| {' | '.join(row)} |", flush=True)


def processor() -> str:
    """Returns the name of the processor and its flags for bfloat16."""
    flags = sorted(flag for flag in precision._cpu_flags() if "bf16" in flag)
    names = [platform.processor() or platform.machine()]
    if precision.CPU_INFO.exists():
        lines = precision.CPU_INFO.read_text().splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")] or names
    return f"{names[0]}, {os.cpu_count()} cores, {', '.join(flags) or 'no instructions for bfloat16'}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repetitions", type=int, default=11, help="measurements of each precision")
    parser.add_argument("--only", default="", help="measure the computations whose name contains this text")
    arguments = parser.parse_args()
    print(f"{processor()}; auto is {precision.training_policy('auto')}; TensorFlow {tf.__version__}")
    columns = "computation", "float32, min / median", "mixed_bfloat16, min / median", "ratio", "range", "ratio of min"
    print(f"\n| {' | '.join(columns)} |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, make in computations().items():
        if arguments.only.casefold() in name.casefold():
            compare(name, make, arguments.repetitions)


if __name__ == "__main__":
    main()
