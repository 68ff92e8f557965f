"""Measures time, memory and accuracy of `sentiment`, with the commands that a user runs.

    python benchmarks/classification.py --data PATH/TO/imdb/train.csv.xz [--models best bag ...] [--seeds 1 2 3]

Prints tables in Markdown. Needs an otherwise idle machine, for about three hours with all models and seeds. Each
finished run is kept in --folder, so that the same command resumes an interrupted benchmark. Times are those of the
first seed. Accuracy is on the tenth of the films that the run itself holds out; the test set is not used.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from training import ROOT, kept

MAIN = [sys.executable, ROOT / "main.py"]
MODELS = ["best", "bag", "cnn", "gru", "lstm", "transformer", "simple", "peephole"]

LATENCY = """
import statistics, sys, time
import tensorflow as tf, tensorflow_text
words = "the story is told well and the cast does what it can with a script that has not been read by anybody else "
words = (words * 20).split()[:200]
signature = tf.saved_model.load(sys.argv[1]).signatures["serving_default"]
text = tf.constant([" ".join(words)])
seconds = []
for i in range(600):
    started = time.perf_counter()
    signature(text=text)["score"].numpy()
    seconds.append(time.perf_counter() - started)
batch = tf.constant([" ".join(words)] * 64)
rates = []
for i in range(12):
    started = time.perf_counter()
    signature(text=batch)["score"].numpy()
    rates.append(64 / (time.perf_counter() - started))
print(1000 * statistics.median(seconds[100:]), statistics.median(rates[2:]))
"""


def measured(*command) -> tuple[str, float, float]:
    """(stdout, seconds, peak memory in GiB of it or of its largest child)."""
    started = time.monotonic()
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    with open(os.devnull, "w") as devnull, tempfile.TemporaryFile() as output:
        process = subprocess.Popen([str(part) for part in command], stdout=output, stderr=devnull, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            sys.exit(f"{' '.join(map(str, command))} ended with status {status}")
        output.seek(0)
        text = output.read().decode()
    per_gib = 2**30 if sys.platform == "darwin" else 2**20
    return text, time.monotonic() - started, usage.ru_maxrss / per_gib


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="the IMDB training reviews as CSV")
    parser.add_argument("--models", nargs="+", default=MODELS)
    parser.add_argument("--seeds", nargs="+", default=["1", "2", "3"])
    parser.add_argument("--folder", type=Path, help="keeps the results (default: a new folder)")
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="unroll-benchmark-"))
    folder.mkdir(parents=True, exist_ok=True)
    print(f"runs and exports: {folder}", file=sys.stderr)
    where = ["--runs", folder / "runs", "--saved-models", folder / "saved"]

    def measure_sample() -> dict:
        helps = [measured(*MAIN, "train", "sentiment", "--help")[1] for _ in range(5)]
        _, seconds, memory = measured(*MAIN, "train", "sentiment", "--json", *where)
        return {"help": statistics.median(helps), "seconds": seconds, "memory": memory}

    def train(model: str, seed: str) -> dict:
        flags = ["--data", arguments.data, "--model", model, "--seed", seed, "--name", f"{model}-{seed}", "--json"]
        output, seconds, memory = measured(*MAIN, "train", "sentiment", *flags, *where)
        result = json.loads(output)
        scores = result["scores"]["validation"]
        return {
            "accuracy": scores["accuracy"], "log_loss": scores["log_loss"], "parameters": result["parameters"],
            "seconds": seconds, "memory": memory,
        }  # fmt: skip

    def measure_speed(model: str, seed: str) -> dict:
        name = f"{model}-{seed}"
        predict = ["--input", arguments.data, "--output", folder / f"{name}.csv", "--name", name, *where[2:]]
        (folder / f"{name}.csv").unlink(missing_ok=True)
        _, seconds, _ = measured(*MAIN, "predict", "sentiment", *predict)
        output, _, _ = measured(sys.executable, "-c", LATENCY, folder / "saved" / name / "1")
        milliseconds, per_second = map(float, output.split())
        return {"file_seconds": seconds, "milliseconds": milliseconds, "per_second": per_second}

    first = kept(folder / "sample.json", measure_sample)
    print("| what | measured |\n|---|---|")
    print(f"| `train sentiment --help`, median of 5 | {first['help']:.2f} s |")
    print(f"| `train sentiment` (embedded sample, quick) | {first['seconds']:.0f} s, {first['memory']:.1f} GiB |")

    print(
        "\n| model | accuracy, mean of the seeds | seeds | log loss | train, measure, export | memory | parameters | ",
        end="",
    )
    print("25,000 reviews from a file | one review of 200 words | in batches |\n|---|" + "---:|" * 9, flush=True)
    for model in arguments.models:
        seeds = arguments.seeds
        results = [kept(folder / f"{model}-{seed}.json", lambda seed=seed: train(model, seed)) for seed in seeds]
        speed = kept(folder / f"{model}-{seeds[0]}-speed.json", lambda: measure_speed(model, seeds[0]))
        of = {name: [result[name] for result in results] for name in results[0]}
        print(
            f"| `--model {model}` | {statistics.mean(of['accuracy']):.4f} | "
            f"{', '.join(f'{accuracy:.4f}' for accuracy in of['accuracy'])} | "
            f"{statistics.mean(of['log_loss']):.3f} | {of['seconds'][0]:.0f} s | {max(of['memory']):.1f} GiB | "
            f"{of['parameters'][0]:,} | {speed['file_seconds']:.0f} s | {speed['milliseconds']:.1f} ms | "
            f"{speed['per_second']:,.0f} reviews/s |",
            flush=True,
        )


if __name__ == "__main__":
    main()
