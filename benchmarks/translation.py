"""The figures of the translation pipeline: BLEU of the full preset and of each model after the same time; how fast an export translates.

    python benchmarks/translation.py full --data PATH/TO/multi30k --pair en-de [--folder PATH] [-- --no-halves ...]
    python benchmarks/translation.py table --data PATH/TO/multi30k --pair en-de [--minutes 15] [--folder PATH] [--models ...]
    python benchmarks/translation.py speed --export saved_models/nmt-en-de/1 --text test_2016_flickr.en

`full` trains with main.py and nothing but its defaults, and prints scores and seconds; pairs a second stand behind each epoch. `table` trains each
model for as many epochs as fit into the time (found with two epochs beforehand), and prints tables in Markdown: BLEU on the validation and test
pairs, in all and by length. `speed` translates the lines of a file greedily and with a beam of 5.
All want an otherwise idle machine.
"""

import argparse
import gzip
import math
import os
import sys
import tempfile
import time
from pathlib import Path

from training import trained


def translator(arguments, name: str, *flags) -> dict:
    where = ["--runs", arguments.folder / "runs", "--saved-models", arguments.folder / "saved", "--name", name]
    return trained("nmt", "--data", arguments.data, "--pair", arguments.pair, *where, *flags, *arguments.flags)


def full(arguments) -> None:
    started = time.monotonic()
    result = translator(arguments, "full")
    print(f"training {result['training_seconds']:.0f} s, in all {time.monotonic() - started:.0f} s; {result['parameters']:,} parameters\n")
    print("| | pairs | BLEU | chrF | TER |\n|---|---:|---:|---:|---:|")
    for part, scores in result["scores"].items():
        print(f"| {part} | {scores['rows']:,} | {scores['bleu']:.2f} | {scores['chrf']:.2f} | {scores['ter']:.2f} |")
    print_by_length({"full": result})
    print(f"\n{result['export']}", file=sys.stderr)


def table(arguments) -> None:
    results = {}
    for model in arguments.models:
        flags = ["--model", model, "--epochs"]
        first, later = translator(arguments, f"{model}-two-epochs", *flags, 2)["epoch_seconds"]  # in the first the graph is made
        epochs = max(1, 1 + math.floor((60 * arguments.minutes - first) / later))
        results[model] = translator(arguments, model, *flags, epochs, "--patience", epochs)
    parts = list(next(iter(results.values()))["scores"])
    print(f"| model | parameters | epochs | training | {' | '.join(f'BLEU, {part}' for part in parts)} |")
    print(f"|---|---:|---:|---:|{'---:|' * len(parts)}")
    for model, result in results.items():
        scores = " | ".join(f"{result['scores'][part]['bleu']:.2f}" for part in parts)
        print(f"| {model} | {result['parameters']:,} | {len(result['epochs'])} | {result['training_seconds']:.0f} s | {scores} |")
    print_by_length(results)
    print(f"\nruns and exports: {arguments.folder}", file=sys.stderr)


def print_by_length(results: dict[str, dict]) -> None:
    for part, scores in next(iter(results.values()))["scores"].items():
        lengths = [bucket["words"] for bucket in scores["bleu_by_length"]]
        print(f"\n| {part}: words of the source | {' | '.join(lengths)} |\n|---|{'---:|' * len(lengths)}")
        for model, result in results.items():
            print(f"| {model} | {' | '.join(format(bucket['bleu'], '.1f') for bucket in result['scores'][part]['bleu_by_length'])} |")


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
    for name, run in (("full", full), ("table", table)):
        command = commands.add_parser(name)
        command.add_argument("--data", required=True)
        command.add_argument("--pair", default="en-de")
        command.add_argument("--folder", help="runs and exports are kept there (default: a new one)")
        command.add_argument("flags", nargs="*", help="further flags for `train nmt`, behind --")
        command.set_defaults(run=run)
    command.add_argument("--models", nargs="+", default=["single-rnn", "rnn", "attention", "transformer"])
    command.add_argument("--minutes", type=float, default=15)
    command = commands.add_parser("speed")
    command.add_argument("--export", required=True, help="a version's folder")
    command.add_argument("--text", required=True, help="a file of sentences, also .gz")
    command.add_argument("--batch-size", type=int, default=64)
    command.set_defaults(run=speed)
    arguments = parser.parse_args()
    if "folder" in arguments:
        arguments.folder = Path(arguments.folder or tempfile.mkdtemp(prefix="unroll-benchmark-"))
    arguments.run(arguments)


if __name__ == "__main__":
    main()
