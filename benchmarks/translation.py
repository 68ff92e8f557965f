"""The figures of the translation pipeline: BLEU of each model after the same time, and how fast an export translates.

    python benchmarks/translation.py table --data PATH/TO/multi30k --pair en-de [--minutes 15] [--folder PATH] [--models ...]
    python benchmarks/translation.py speed --export saved_models/nmt-en-de/1 --text test_2016_flickr.en

`table` trains each model with main.py for as many epochs as fit into the time (found with two epochs beforehand), and prints tables in
Markdown: BLEU on the validation and test pairs, in all and by length. `speed` translates the lines of a file greedily and with a beam of 5.
Both want an otherwise idle machine.
"""

import argparse
import gzip
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MAIN = [sys.executable, str(Path(__file__).resolve().parent.parent / "main.py")]


def trained(arguments, model: str, epochs: int, folder: Path) -> dict:
    command = [*MAIN, "train", "nmt", "--data", arguments.data, "--pair", arguments.pair, "--model", model, "--epochs", epochs, "--json"]
    command += ["--patience", epochs, "--runs", folder / "runs", "--saved-models", folder / "saved", "--name", model, *arguments.flags]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    process = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, env=environment, check=True)
    return json.loads(process.stdout)


def table(arguments) -> None:
    folder = Path(arguments.folder or tempfile.mkdtemp(prefix="unroll-benchmark-"))
    results = {}
    for model in arguments.models:
        first, later = trained(arguments, model, 2, folder / "two-epochs")["epoch_seconds"]  # in the first the graph is made
        results[model] = trained(arguments, model, max(1, 1 + math.floor((60 * arguments.minutes - first) / later)), folder)
    parts = list(next(iter(results.values()))["scores"])
    print(f"| model | parameters | epochs | training | {' | '.join(f'BLEU, {part}' for part in parts)} |")
    print(f"|---|---:|---:|---:|{'---:|' * len(parts)}")
    for model, result in results.items():
        scores = " | ".join(f"{result['scores'][part]['bleu']:.2f}" for part in parts)
        print(f"| {model} | {result['parameters']:,} | {len(result['epochs'])} | {result['training_seconds']:.0f} s | {scores} |")
    for part in parts:
        lengths = [bucket["words"] for bucket in next(iter(results.values()))["scores"][part]["bleu_by_length"]]
        print(f"\n| {part}: words of the source | {' | '.join(lengths)} |\n|---|{'---:|' * len(lengths)}")
        for model, result in results.items():
            print(f"| {model} | {' | '.join(format(bucket['bleu'], '.1f') for bucket in result['scores'][part]['bleu_by_length'])} |")
    print(f"\nruns and exports: {folder}", file=sys.stderr)


def speed(arguments) -> None:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf
    import tensorflow_text  # noqa: F401  (registers the tokenizer's ops)

    opened = gzip.open if arguments.text.endswith(".gz") else open
    with opened(arguments.text, "rt", encoding="utf-8") as file:
        lines = sorted(file.read().splitlines(), key=len)
    translate = tf.saved_model.load(arguments.export).signatures["translate"]

    def run(width: int, lines: list[str]) -> None:
        for start in range(0, len(lines), arguments.batch_size):
            text = tf.constant(lines[start : start + arguments.batch_size])
            fill = lambda value: tf.fill(tf.shape(text), value)  # noqa: B023, E731
            translate(text=text, beam_width=fill(width), length_penalty=fill(1.0), max_length=fill(1000))

    for width in (1, 5):
        run(width, lines[: arguments.batch_size])
        started = time.perf_counter()
        run(width, lines)
        print(f"{len(lines):,} sentences, beam {width}: {time.perf_counter() - started:.1f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("table")
    command.add_argument("--data", required=True)
    command.add_argument("--pair", default="en-de")
    command.add_argument("--models", nargs="+", default=["single-rnn", "rnn", "attention", "transformer"])
    command.add_argument("--minutes", type=float, default=15)
    command.add_argument("--folder", help="runs and exports are kept there (default: a new one)")
    command.add_argument("flags", nargs="*", help="further flags for `train nmt`, behind --")
    command.set_defaults(run=table)
    command = commands.add_parser("speed")
    command.add_argument("--export", required=True, help="a version's folder")
    command.add_argument("--text", required=True, help="a file of sentences, also .gz")
    command.add_argument("--batch-size", type=int, default=64)
    command.set_defaults(run=speed)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
