"""The figures of the language model pipeline: loss after a time, and how fast an export writes.

    python benchmarks/language_models.py loss --data PATH/TO/tinyshakespeare/input.txt [--models lstm ...] [--preset quick] [-- FLAGS]
    python benchmarks/language_models.py speed --export saved_models/char-lm/1

`loss` trains each model with main.py, as a user does, and prints a table in Markdown: the loss on the last tenth of the text, and the
seconds spent in training and validation. `speed` measures characters per second from a loaded export, for one prompt and for 64.
Both want an otherwise idle machine.
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

from training import trained


def loss(arguments) -> None:
    folder = Path(arguments.folder or tempfile.mkdtemp(prefix="unroll-benchmark-"))
    print("| model | flags | parameters | epochs | training | train, measure, export | validation loss | bits per character |")
    print("|---|---|---:|---:|---:|---:|---:|---:|", flush=True)
    for model in arguments.models:
        command = ["char-lm", "--data", arguments.data, "--model", model, "--preset", arguments.preset]
        command += ["--runs", folder / "runs", "--saved-models", folder / "saved", "--name", model, *arguments.flags]
        started = time.monotonic()
        result, seconds = trained(*command), time.monotonic() - started
        scores = result["scores"]["validation"]
        print(
            f"| {model} | `{' '.join(['--preset', arguments.preset, *arguments.flags])}` | {result['parameters']:,} | {len(result['epochs'])} | "
            f"{result['training_seconds']:.0f} s | {seconds:.0f} s | {scores['loss']:.4f} | {scores['bits_per_character']:.3f} |",
            flush=True,
        )
    print(f"\nruns and exports: {folder}", file=sys.stderr)


def speed(arguments) -> None:
    import tensorflow as tf
    import tensorflow_text  # noqa: F401  (registers the tokenizer's ops)

    generate = tf.saved_model.load(arguments.export).signatures["generate"]
    for batch_size in (1, 64):
        inputs = {
            "text": tf.fill([batch_size], "The "), "max_length": tf.fill([batch_size], arguments.length),
            "temperature": tf.fill([batch_size], 0.8), "top_k": tf.fill([batch_size], 0), "top_p": tf.fill([batch_size], 0.95),
            "seed": tf.range(batch_size), "stop": tf.fill([batch_size], ""),
        }  # fmt: skip
        generate(**inputs)
        rates = []
        for _ in range(5):
            started = time.perf_counter()
            tokens = generate(**inputs)["tokens"].numpy().sum()
            rates.append(tokens / (time.perf_counter() - started))
        print(f"{batch_size} at a time: {statistics.median(rates):,.0f} tokens per second (median of 5)", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("loss")
    command.add_argument("--data", required=True, help="a text file")
    command.add_argument("--models", nargs="+", default=["simple", "gru", "lstm", "peephole", "transformer"])
    command.add_argument("--preset", default="quick")
    command.add_argument("--folder", help="runs and exports are kept there (default: a new one)")
    command.add_argument("flags", nargs="*", help="further flags for `train char-lm`, behind --")
    command.set_defaults(run=loss)
    command = commands.add_parser("speed")
    command.add_argument("--export", required=True, help="a version's folder")
    command.add_argument("--length", type=int, default=500, help="tokens to write")
    command.set_defaults(run=speed)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
