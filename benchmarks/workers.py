"""Measures the training of several workers on this machine: what it costs, and how far it is from that of one worker.

    python benchmarks/workers.py [--data FILE] [--workers 2] [--steps 100] [--hidden-size 128] [--learning-rate 0.001]

Trains the LSTM classifier (without --data on the embedded sample) without dropout, with one worker and with several,
each with one thread for an operation. Prints

- the largest difference of the losses of the same steps (the sum of a gradient's parts is rounded otherwise than their
  sum in one process; where a training is unstable, with a high learning rate, this grows from step to step);
- the median time of a step of several workers, and of the same step without the collective operations, so that each
  worker applies its own gradient: the rest is what the exchange costs;
- the bytes that a step exchanges, and the time of a step that the model t = compute + latency + bytes / bandwidth
  gives, with latency and bandwidth measured on these processes.

Needs an otherwise idle machine with a core for each worker.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from training import ROOT

_SKIPPED = 5  # first steps, which trace the graph and fill caches


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--hidden-size", type=int, default=128)
    parser.add_argument("--learning-rate", type=float, default=0.001)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        print(json.dumps(measure(arguments)))
        return
    one = run(arguments, 1)[0]
    many = run(arguments, arguments.workers)[0]
    apart = run(arguments, arguments.workers, "--alone")[0]
    difference = np.abs(np.subtract(one["losses"], many["losses"])).max()
    print(f"losses of {arguments.steps} steps: {arguments.workers} workers differ from one by at most {difference:.1e}")
    print(f"one worker: {one['step']:.1f} ms a step")
    cost = many["step"] / apart["step"] - 1
    print(
        f"{arguments.workers} workers: {many['step']:.1f} ms a step, without exchange {apart['step']:.1f} ms: "
        f"the exchange adds {cost:.1%}; {one['step'] / many['step']:.2f} times as fast as one"
    )
    sent = many["dense"] * 2 * (1 - 1 / arguments.workers) + many["sparse"] * (arguments.workers - 1)
    modelled = apart["step"] + many["latency"] + sent / many["bandwidth"] / 1000
    print(
        f"sent by a worker in a step: {sent / 1e6:.2f} MB (dense gradients {many['dense'] / 1e6:.2f} MB, rows of "
        f"embeddings {many['sparse'] / 1e6:.2f} MB); latency {many['latency']:.1f} ms, {many['bandwidth']:.0f} MB/s; "
        f"the model gives {modelled:.1f} ms a step"
    )


def run(arguments, num_workers: int, *flags: str) -> list[dict]:
    """Returns what each worker measured."""
    ports = []
    for _ in range(num_workers):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            ports.append(free.getsockname()[1])
    addresses = [f"127.0.0.1:{port}" for port in ports]
    processes = []
    for i in range(num_workers):
        environment = {name: value for name, value in os.environ.items() if name != "TF_CONFIG"}
        environment |= {"TF_NUM_INTRAOP_THREADS": "1", "PYTHONPATH": str(ROOT)}
        if num_workers > 1:
            task = {"type": "worker", "index": i}
            environment["TF_CONFIG"] = json.dumps({"cluster": {"worker": addresses}, "task": task})
        command = [sys.executable, __file__, *sys.argv[1:], "--worker", *flags]
        processes.append(subprocess.Popen(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True))
    outputs = [process.communicate()[0] for process in processes]
    if any(process.returncode for process in processes):
        sys.exit("a worker failed")
    return [json.loads(output.splitlines()[-1]) for output in outputs]


def measure(arguments) -> dict:
    """Trains as one worker; returns the losses, the median milliseconds of a step, and what it exchanges."""
    import contextlib

    sys.path.insert(0, str(ROOT))  # layers.py of this folder is not the package
    from pipelines.distributed import tf_config
    from pipelines.support.quiet import import_tensorflow

    part = tf_config.part()
    with contextlib.ExitStack() as stack:

        def join():
            from pipelines.training import group

            stack.enter_context(group.joined(part))

        import_tensorflow(before_first_operation=join)
        from pipelines.training import group

        here = group.current()
        sizes = {"dense": 0, "sparse": 0}
        if part.count > 1:
            _count_bytes(here, sizes, arguments.alone)
        losses, seconds = _train(arguments, here)
        network = _measure_network(here) if part.count > 1 else {}
        here.exchange(None)
    return {"losses": losses, "step": float(np.median(seconds[_SKIPPED:])) * 1e3, **sizes, **network}


def _count_bytes(here, sizes: dict, alone: bool) -> None:
    """Records the bytes of the gradients; with `alone`, they are not exchanged."""
    import tensorflow as tf

    sum_step, gather_slices = here.sum_step, here.gather_slices

    def counted_sum(values):
        sizes["dense"] = 4 * values.shape[0]
        return values * here.part.count if alone else sum_step(values)

    def counted_gather(slices):
        def add(rows):
            sizes["sparse"] = int(rows)

        rows = tf.add_n([4 * tf.size(each.values) + 4 * tf.size(each.indices) for each in slices])
        tf.py_function(add, [rows], [])
        return slices if alone else gather_slices(slices)

    here.sum_step, here.gather_slices = counted_sum, counted_gather


def _train(arguments, here) -> tuple[list[float], list[float]]:
    import keras

    from pipelines.classification.config import ClassificationConfig
    from pipelines.data.part import computed
    from pipelines.task import TASKS
    from pipelines.training import fit
    from pipelines.training.parallel_step import train_on_parts

    config = ClassificationConfig(
        data=str(arguments.data) if arguments.data else None,
        model="lstm",
        hidden_size=arguments.hidden_size,
        learning_rate=arguments.learning_rate,
        dropout=0.0,
        word_dropout=0.0,
        embedding_dropout=0.0,
        word_vectors="random",
        precision="float32",
    ).resolve()
    task, splits = TASKS["classification"].task(), TASKS["classification"].load(config)
    with tempfile.TemporaryDirectory() as folder:
        tokenizer = task.make_tokenizer(config, splits)
        tokenizer.save(Path(folder))
        fit.make_deterministic(config.seed)
        tokenizer = task.load_tokenizer(Path(folder))
        encoded = task.encode(config, splits, tokenizer, Path(folder))
    model = task.build(config, splits, tokenizer, encoded, training=True)
    task.compile_model(config, model, arguments.steps)
    if here.part.count > 1:
        train_on_parts(model, here, None)
    losses, seconds = [], []

    class Record(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            self.model.reset_metrics()
            self._started = time.perf_counter()

        def on_train_batch_end(self, batch, logs=None):
            seconds.append(time.perf_counter() - self._started)
            losses.append(float(logs["loss"]))

    epoch = 0
    while len(losses) < arguments.steps:
        with computed(here.part):
            batches = task.batches(config, encoded, epoch, 0)
        model.fit(batches.take(arguments.steps - len(losses)), verbose=0, shuffle=False, callbacks=[Record()])
        epoch += 1
    return losses, seconds


def _measure_network(here) -> dict[str, float]:
    """Returns the milliseconds of an empty exchange and the MB a second of a large one."""
    import tensorflow as tf

    group = type(here)
    reduce = tf.function(lambda values: group.sum_step(here, values))

    def milliseconds(values):
        reduce(values)
        times = []
        for _ in range(20):
            started = time.perf_counter()
            reduce(values)
            times.append(time.perf_counter() - started)
        return float(np.median(times)) * 1e3

    # The sum and the number of rows wait for one another, and so do the rows themselves.
    latency = milliseconds(tf.zeros([1]))
    size = 2**22
    here_bytes = 4 * size * 2 * (1 - 1 / here.part.count)
    return {"latency": 2 * latency, "bandwidth": here_bytes / 1e3 / (milliseconds(tf.zeros([size])) - latency)}


if __name__ == "__main__":
    main()
