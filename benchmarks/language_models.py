"""Figures of the language models: the loss after a time, and the speed of generation of an export.

    python benchmarks/language_models.py loss --data input.txt [--models lstm ...] [--preset quick] [-- FLAGS]
    python benchmarks/language_models.py ngram --data train.txt --valid valid.txt [--order 5]
    python benchmarks/language_models.py windows --export saved_models/char-lm/1 --data input.txt
    python benchmarks/language_models.py cache --export saved_models/language-model/1 --data valid.txt [--size 2000]
    python benchmarks/language_models.py speed --export saved_models/char-lm/1

`loss` trains each model with main.py, as a user does, and prints a table in Markdown: the loss on the last tenth of the
text, and the seconds of training and validation. `ngram` counts words with the same command, and prints the perplexity,
the seconds of the whole command, and the peak memory of its largest process. `windows` measures an export of a
character model as nanoGPT does: the mean loss in random windows of 256 characters of the last tenth, each read from a
zero state; and, for comparison, in the whole last tenth read as one text. `cache` prints the
perplexity of a text without and with a cache of the last words. `speed` measures the tokens per second of a
loaded export, for one prompt and for 64. All but `windows` and `cache` need an otherwise idle machine.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from training import ROOT, trained

sys.path.insert(0, str(ROOT))


def loss(arguments) -> None:
    folder = Path(arguments.folder or tempfile.mkdtemp(prefix="unroll-benchmark-"))
    columns = "model,flags,parameters,epochs,training,whole run,validation loss,bits per character"
    print(f"| {columns.replace(',', ' | ')} |")
    print("|---|---|---:|---:|---:|---:|---:|---:|", flush=True)
    for model in arguments.models:
        command = ["char-lm", "--data", arguments.data, "--model", model, "--preset", arguments.preset]
        command += ["--runs", folder / "runs", "--saved-models", folder / "saved", "--name", model, *arguments.flags]
        started = time.monotonic()
        result, seconds = trained(*command), time.monotonic() - started
        scores = result["scores"]["validation"]
        print(
            f"| {model} | `{' '.join(['--preset', arguments.preset, *arguments.flags])}` | {result['parameters']:,} | "
            f"{len(result['epochs'])} | {result['training_seconds']:.0f} s | {seconds:.0f} s | {scores['loss']:.4f} | "
            f"{scores['bits_per_character']:.3f} |",
            flush=True,
        )
    print(f"\nruns and exports: {folder}", file=sys.stderr)


def ngram(arguments) -> None:
    folder = Path(tempfile.mkdtemp(prefix="unroll-benchmark-"))
    command = ["language-model", "--data", arguments.data, "--valid", arguments.valid, "--preset", "words"]
    command += ["--model", "ngram", "--order", arguments.order, "--runs", folder / "runs"]
    started = time.monotonic()
    result = trained(*command, "--saved-models", folder / "saved")
    seconds = time.monotonic() - started
    gibibytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    perplexity = result["scores"]["validation"]["perplexity"]
    print(f"order {arguments.order}: perplexity {perplexity:.2f}, {seconds:.0f} s, {gibibytes:.2f} GiB", flush=True)


def windows(arguments) -> None:
    import numpy as np
    import tensorflow as tf
    import tensorflow_text  # noqa: F401  (registers the tokenizer's ops)

    signatures = tf.saved_model.load(arguments.export).signatures
    text = Path(arguments.data).read_text(encoding="utf-8")
    text = text[int(len(text) * 0.9) :]
    parts = [text[i : i + 10_000] for i in range(0, len(text), 10_000)]  # a prompt has a maximum length
    ids = np.concatenate([signatures["encode"](text=tf.constant([part]))["ids"].numpy()[0] for part in parts])
    starts = np.random.default_rng(1).integers(len(ids) - arguments.window, size=arguments.windows)
    losses = []
    for rows in np.array_split(starts, -(-len(starts) // 64)):
        batch = np.stack([ids[start : start + arguments.window + 1] for start in rows])
        # The first character of a window is read and not predicted.
        losses.append(signatures["token_losses"](ids=tf.constant(batch))["losses"].numpy()[:, 1:].mean(axis=1))
    losses = np.concatenate(losses)
    error = losses.std() / len(losses) ** 0.5
    print(f"{len(losses):,} windows of {arguments.window}: loss {losses.mean():.4f} (standard error {error:.4f})")
    whole = signatures["token_losses"](ids=tf.constant(ids[None]))["losses"].numpy()
    print(f"as one text of {len(ids):,}: loss {whole.mean():.4f}")


def cache(arguments) -> None:
    export = Path(arguments.export).resolve()
    command = [sys.executable, ROOT / "main.py", "evaluate", "language-model", "--data", arguments.data, "--json"]
    command += ["--name", export.parent.name, "--version", export.name, "--saved-models", export.parent.parent]
    for size in (0, arguments.size):
        flags = ["--cache-size", size] if size else []
        output = subprocess.run([str(part) for part in [*command, *flags]], stdout=subprocess.PIPE, check=True).stdout
        print(f"cache of {size:,}: perplexity {json.loads(output)['perplexity']:.2f}", flush=True)


def speed(arguments) -> None:
    import tensorflow as tf
    import tensorflow_text  # noqa: F401  (registers the tokenizer's ops)

    from pipelines.decoding.options import SAMPLING, defaults, filled

    generate = tf.saved_model.load(arguments.export).signatures["generate"]
    for batch_size in (1, 64):
        text = tf.fill([batch_size], "The ")
        inputs = filled(SAMPLING, defaults(SAMPLING) | {"max_length": arguments.length}, text)
        inputs |= {"text": text, "seed": tf.range(batch_size)}
        generate(**inputs)
        rates = []
        for _ in range(5):
            started = time.perf_counter()
            tokens = generate(**inputs)["tokens"].numpy().sum()
            rates.append(tokens / (time.perf_counter() - started))
        median = statistics.median(rates)
        print(f"{batch_size} prompts in one batch: {median:,.0f} tokens per second (median of 5)", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("loss")
    command.add_argument("--data", required=True, help="a text file")
    command.add_argument("--models", nargs="+", default=["simple", "gru", "lstm", "peephole", "transformer"])
    command.add_argument("--preset", default="quick")
    command.add_argument("--folder", help="folder for runs and exports (default: a new one)")
    command.add_argument("flags", nargs="*", help="further flags for `train char-lm`, after --")
    command.set_defaults(run=loss)
    command = commands.add_parser("ngram")
    command.add_argument("--data", required=True, help="a text file")
    command.add_argument("--valid", required=True, help="a text file")
    command.add_argument("--order", type=int, default=5)
    command.set_defaults(run=ngram)
    command = commands.add_parser("windows")
    command.add_argument("--export", required=True, help="folder of a version of an export of a character model")
    command.add_argument("--data", required=True, help="the text file of its training")
    command.add_argument("--window", type=int, default=256, help="number of characters that are predicted")
    command.add_argument("--windows", type=int, default=4000, help="number of windows")
    command.set_defaults(run=windows)
    command = commands.add_parser("cache")
    command.add_argument("--export", required=True, help="folder of a version of an export of words or subwords")
    command.add_argument("--data", required=True, help="a text file")
    command.add_argument("--size", type=int, default=2000, help="size of the cache")
    command.set_defaults(run=cache)
    command = commands.add_parser("speed")
    command.add_argument("--export", required=True, help="folder of a version of an export")
    command.add_argument("--length", type=int, default=500, help="number of tokens to generate")
    command.set_defaults(run=speed)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
