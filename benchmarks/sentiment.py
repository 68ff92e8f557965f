"""The figures of the sentiment pipeline: time, memory and accuracy of the commands, as a user runs them.

    python benchmarks/sentiment.py --data PATH/TO/imdb/train.csv.xz [--models bag lstm] [--seeds 1 2 3]

Trains in an empty folder and prints a table in Markdown; wants an otherwise idle machine. Accuracy is on the tenth of the
films that the run itself holds out; the test set is not touched.
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

MAIN = [sys.executable, str(Path(__file__).resolve().parent.parent / "main.py")]

LATENCY = """
import statistics, sys, time
import tensorflow as tf, tensorflow_text
signature = tf.saved_model.load(sys.argv[1]).signatures["serving_default"]
words = ("this was not at all a bad film and the cast is good but it is far too long " * 20).split()[:200]
text = tf.constant([" ".join(words)])
seconds = []
for i in range(600):
    started = time.perf_counter()
    signature(text=text)["score"].numpy()
    seconds.append(time.perf_counter() - started)
print(1000 * statistics.median(seconds[100:]))
"""


def measured(*command) -> tuple[str, float, float]:
    """Runs `command` and returns its stdout, its seconds and its peak memory in GiB."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        started = time.perf_counter()
        process = subprocess.Popen([str(part) for part in command], stdout=output, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        output.seek(0)
        errors.seek(0)
        if os.waitstatus_to_exitcode(status):
            sys.exit(f"{' '.join(map(str, command))}\n{errors.read()}")
        unit = 2**30 if sys.platform == "darwin" else 2**20  # ru_maxrss counts bytes there and KiB elsewhere
        return output.read(), seconds, usage.ru_maxrss / unit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="the IMDB training reviews as CSV")
    parser.add_argument("--models", nargs="+", default=["bag", "lstm"])
    parser.add_argument("--seeds", nargs="+", default=["1"])
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="unroll-benchmark-"))
    where = ["--runs", folder / "runs", "--saved-models", folder / "saved"]

    print("| what | figure |\n|---|---|")
    helps = [measured(*MAIN, "train", "sentiment", "--help")[1] for _ in range(5)]
    print(f"| `train sentiment --help`, median of 5 | {statistics.median(helps):.2f} s |", flush=True)
    output, seconds, memory = measured(*MAIN, "train", "sentiment", "--json", *where)
    print(f"| `train sentiment` (embedded sample, quick) | {seconds:.0f} s, {memory:.1f} GiB |", flush=True)
    for model in arguments.models:
        for seed in arguments.seeds:
            flags = ["--data", arguments.data, "--model", model, "--seed", seed, "--name", f"{model}-{seed}", "--json"]
            output, seconds, memory = measured(*MAIN, "train", "sentiment", *flags, *where)
            scores = json.loads(output)["scores"]["validation"]
            print(
                f"| `train sentiment --data train.csv.xz --model {model} --seed {seed}` | accuracy {scores['accuracy']:.4f} on "
                f"{scores['rows']:,} reviews, log loss {scores['log_loss']:.3f}, {seconds:.0f} s, {memory:.1f} GiB |",
                flush=True,
            )
        name = f"{model}-{arguments.seeds[0]}"
        target = folder / f"{name}.csv"
        predict = ["--input", arguments.data, "--output", target, "--name", name, "--saved-models", folder / "saved"]
        _, seconds, memory = measured(*MAIN, "predict", "sentiment", *predict)
        print(f"| `predict sentiment --input train.csv.xz`, {model}, 25,000 reviews | {seconds:.0f} s, {memory:.1f} GiB |")
        output, _, _ = measured(sys.executable, "-c", LATENCY, folder / "saved" / name / "1")
        print(f"| one review of 200 words, {model}, loaded export, median of 500 | {float(output):.2f} ms |", flush=True)
    print(f"\nruns and exports: {folder}")


if __name__ == "__main__":
    main()
