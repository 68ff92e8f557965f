"""Measures the training of several workers on this machine: what it costs, and how far it is from that of one worker.

    python benchmarks/workers.py [--data FILE] [--workers 2 4] [--steps 100] [--hidden-size 128] [--learning-rate 0.001]

Trains the LSTM classifier (without --data on the embedded sample) without dropout, with one worker and with several,
each with one thread for an operation. For each number of workers it prints

- the largest difference of the losses of the same steps from those of one worker. The sum of a gradient's parts is
  rounded otherwise than their sum in one process. Where a training is unstable, this grows from step to step, so that
  the losses of a control are compared, too: one worker whose first weights are multiplied by 1 + 1e-7, about the
  rounding of float32;
- the median time of a step, and of the same step without the collective operations, so that each worker applies its
  own gradient: the rest is what the exchange costs;
- the bytes that a worker sends in a step, and the time of a step that the model t = compute + latency + bytes /
  bandwidth gives, with latency and bandwidth measured on these processes;

and the time of a step that the model gives for --machines machines, each with as many rows as one worker has here. It
takes --network MB/s as the bandwidth, and --hop milliseconds as the latency from a machine to the next one.

Needs an otherwise idle machine. If it has fewer cores than workers, they share the cores also for the computation, so
that only what the exchange adds can be compared.
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
    parser.add_argument("--workers", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--hidden-size", type=int, default=128)
    parser.add_argument("--learning-rate", type=float, default=0.001)
    parser.add_argument("--machines", type=int, default=64)
    parser.add_argument("--network", type=float, default=1100.0, help="MB/s, by default about 10 Gbit/s")
    parser.add_argument("--hop", type=float, default=0.1, help="milliseconds from a machine to the next one")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--rounding", type=float, default=0.0, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        print(json.dumps(measure(arguments)))
        return
    one = run(arguments, 1)[0]
    control = run(arguments, 1, "--rounding", "1e-7")[0]
    print(f"one worker: {one['step']:.1f} ms a step\n")
    print("| workers | ms a step | without exchange | exchange adds | model | sent, MB | latency, ms | MB/s |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|")
    losses = {"one worker, weights x (1 + 1e-7)": control["losses"]}
    for count in arguments.workers:
        many = run(arguments, count)[0]
        apart = run(arguments, count, "--alone")[0]
        losses[f"{count} workers"] = many["losses"]
        sent = sent_by(count, many)
        modelled = apart["step"] + many["latency"] + sent / many["bandwidth"] / 1000
        cost = many["step"] / apart["step"] - 1
        print(
            f"| {count} | {many['step']:.1f} | {apart['step']:.1f} | {cost:.1%} | {modelled:.1f} | {sent / 1e6:.2f} | "
            f"{many['latency']:.1f} | {many['bandwidth']:.0f} |"
        )
    print(f"\ndense gradients {many['dense'] / 1e6:.2f} MB, rows of embeddings {many['sparse'] / 1e6:.2f} MB a worker")
    print_differences(one["losses"], losses)
    # The rows that a worker reads grow with its part of the batch.
    whole_batch = {"dense": many["dense"], "sparse": many["sparse"] * arguments.workers[-1]}
    print_prediction(arguments, one["step"], whole_batch)


def sent_by(count: int, sizes: dict) -> float:
    """Returns the bytes that each of `count` workers sends in a step: a ring's sum, and rows to all others."""
    return sizes["dense"] * 2 * (1 - 1 / count) + sizes["sparse"] * (count - 1)


def print_differences(expected: list[float], losses: dict[str, list[float]]) -> None:
    """Prints the largest differences of losses from those of one worker, in the first 10, 30, 50, ... steps."""
    steps = [step for step in (10, 30, 50, 100, 200, 500) if step <= len(expected)]
    print(f"\n| largest difference of the losses in steps | {' | '.join(f'1 to {step}' for step in steps)} |")
    print("|---" + "|---:" * len(steps) + "|")
    for name, values in losses.items():
        differences = np.abs(np.subtract(expected, values))
        print(f"| {name} | {' | '.join(f'{differences[:step].max():.0e}' for step in steps)} |")


def print_prediction(arguments, compute: float, sizes: dict) -> None:
    """Prints what the model gives for many machines: the sum's hops are 2 (N - 1), those of the rows N - 1."""
    count = arguments.machines
    hops = 3 * (count - 1) * arguments.hop
    sending = sent_by(count, sizes) / arguments.network / 1000
    step = compute + hops + sending
    print(
        f"\ncomputed for {count} machines, each with a whole batch: {compute:.0f} ms + hops {hops:.0f} ms + sending "
        f"{sending:.0f} ms = {step:.0f} ms a step, {count * compute / step:.0f} times the rows a second of one"
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
    model.set_weights([weights * (1 + arguments.rounding) for weights in model.get_weights()])
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
