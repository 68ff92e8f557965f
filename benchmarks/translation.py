"""The figures in docs/translation.md: BLEU of the full preset, of few pairs, and of each model after the same time.

    python benchmarks/translation.py full --data multi30k --pair en-de [--folder PATH] [-- --no-split-batches ...]
    python benchmarks/translation.py table --data multi30k --pair en-de [--minutes 15] [--folder PATH] [--models ...]
    python benchmarks/translation.py few --data spa.txt --pair en-es [--pairs 20000] [-- --preset quick ...]

`full` trains with main.py and its defaults, and prints scores and seconds; the training prints pairs per second after
each epoch. `few` does so on some pairs of a file of lines with tabs, drawn with a seed, and scores 1,000 other
sentences. `table` trains each model for as many epochs as fit into the time, which it finds with two epochs
beforehand, and prints Markdown tables: BLEU on the validation and test pairs, of all pairs and by length. All need an
otherwise idle machine. peers.py measures the speed of an export.
"""

import argparse
import collections
import math
import random
import sys
import tempfile
import time
from pathlib import Path

from training import trained


def train_translator(arguments, name: str, *flags) -> dict:
    """Trains with main.py; returns the result of the run."""
    folders = ["--runs", arguments.folder / "runs", "--saved-models", arguments.folder / "saved", "--name", name]
    return trained("nmt", "--data", arguments.data, "--pair", arguments.pair, *folders, *flags, *arguments.flags)


def full(arguments) -> None:
    started = time.monotonic()
    result = train_translator(arguments, "full")
    seconds = time.monotonic() - started
    print(f"training {result['training_seconds']:.0f} s, the whole run {seconds:.0f} s")
    print(f"{result['parameters']:,} parameters, best epoch {result['best_epoch']} of {len(result['epochs'])}\n")
    print("| | pairs | BLEU | chrF | TER |\n|---|---:|---:|---:|---:|")
    for part, scores in result["scores"].items():
        print(f"| {part} | {scores['rows']:,} | {scores['bleu']:.2f} | {scores['chrf']:.2f} | {scores['ter']:.2f} |")
    print_by_length({"full": result})
    print(f"\n{result['export']}", file=sys.stderr)


def few(arguments) -> None:
    """Trains on pairs whose source sentences are not among those that are scored."""
    by_source = collections.defaultdict(list)
    with open(arguments.source, encoding="utf-8") as file:
        for line in file:
            source, target = line.rstrip("\n").split("\t")[:2]
            by_source[source].append(target)
    sources = sorted(by_source)
    random.Random(0).shuffle(sources)
    scored = [(source, by_source[source][0]) for source in sources[:1000]]
    others = [(source, target) for source in sources[1000:] for target in by_source[source]]
    random.Random(1).shuffle(others)
    for name, rows in (("scored", scored), ("train", others[: arguments.pairs])):
        text = "".join(f"{source}\t{target}\n" for source, target in rows)
        (arguments.folder / f"{name}.tsv").write_text(f"source\ttarget\n{text}", encoding="utf-8")
    arguments.data = arguments.folder / "train.tsv"
    arguments.flags = ["--valid", arguments.folder / "scored.tsv", *arguments.flags]
    full(arguments)


def table(arguments) -> None:
    results = {}
    for model in arguments.models:
        flags = ["--model", model, "--epochs"]
        trial = train_translator(arguments, f"{model}-two-epochs", *flags, 2)
        first, second = trial["epoch_seconds"]  # the first epoch also builds the graph
        epochs = max(1, 1 + math.floor((60 * arguments.minutes - first) / second))
        results[model] = train_translator(arguments, model, *flags, epochs, "--patience", epochs)
    parts = list(next(iter(results.values()))["scores"])
    print(f"| model | parameters | epochs | training | {' | '.join(f'BLEU, {part}' for part in parts)} |")
    print(f"|---|---:|---:|---:|{'---:|' * len(parts)}")
    for model, result in results.items():
        scores = " | ".join(f"{result['scores'][part]['bleu']:.2f}" for part in parts)
        size, epochs, seconds = result["parameters"], len(result["epochs"]), result["training_seconds"]
        print(f"| {model} | {size:,} | {epochs} | {seconds:.0f} s | {scores} |")
    print_by_length(results)
    print(f"\nruns and exports: {arguments.folder}", file=sys.stderr)


def print_by_length(results: dict[str, dict]) -> None:
    for part, scores in next(iter(results.values()))["scores"].items():
        lengths = [bucket["words"] for bucket in scores["bleu_by_length"]]
        print(f"\n| {part}: words of the source | {' | '.join(lengths)} |\n|---|{'---:|' * len(lengths)}")
        for model, result in results.items():
            values = [f"{bucket['bleu']:.1f}" for bucket in result["scores"][part]["bleu_by_length"]]
            print(f"| {model} | {' | '.join(values)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for name, run in (("few", few), ("full", full), ("table", table)):
        command = commands.add_parser(name)
        command.add_argument("--data", dest="source" if run is few else "data", required=True)
        command.add_argument("--pair", default="en-de")
        command.add_argument("--folder", help="folder of the runs and exports (default: a new one)")
        command.add_argument("flags", nargs="*", help="further flags for `train nmt`, after --")
        command.set_defaults(run=run)
        if run is few:
            command.add_argument("--pairs", type=int, default=20_000)
    command.add_argument("--models", nargs="+", default=["single-rnn", "rnn", "attention", "transformer"])
    command.add_argument("--minutes", type=float, default=15)
    arguments = parser.parse_args()
    arguments.folder = Path(arguments.folder or tempfile.mkdtemp(prefix="unroll-benchmark-"))
    arguments.folder.mkdir(parents=True, exist_ok=True)
    arguments.run(arguments)


if __name__ == "__main__":
    main()
