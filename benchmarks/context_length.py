"""Perplexity over the number of tokens that a model reads, and free running against teacher forcing.

    python benchmarks/context_length.py contexts --data input.txt --folder FOLDER [--plot contexts.png]
    python benchmarks/context_length.py forcing --data input.txt --folder FOLDER

`contexts` trains an n-gram model, a feedforward network and an average of embeddings for each context length, and
recurrent networks, which read the whole text, all with `train char-lm` and the same preset. `forcing` trains the same
recurrent network with --teacher-forcing 1, 0.5 and 0. Both print a table in Markdown of scores on the last tenth of the
text. Runs that are in the folder already are not trained again. The seconds need an otherwise idle machine.
"""

import argparse
from pathlib import Path

from training import trained

WITH_ORDER = {
    "ngram": (1, 2, 3, 4, 5),
    "feedforward": (1, 2, 3, 4, 5, 8, 16, 32),
    "average": (1, 2, 3, 4, 5, 8, 16, 32),
}
RECURRENT = ("simple", "gru", "lstm")


def contexts(arguments) -> None:
    perplexities = {}
    print("| model | context | parameters | training | perplexity |")
    print("|---|---:|---:|---:|---:|", flush=True)
    for model, lengths in {**WITH_ORDER, **dict.fromkeys(RECURRENT, (None,))}.items():
        for length in lengths:
            order = ["--order", length + 1] if length else []
            result = run(arguments, f"{model}-{length or 'all'}", "--model", model, *order)
            perplexities[model, length] = result["scores"]["validation"]["perplexity"]
            print(
                f"| {model} | {length or 'all'} | {result['parameters']:,} | {result['training_seconds']:.0f} s | "
                f"{perplexities[model, length]:.3f} |",
                flush=True,
            )
    if arguments.plot:
        draw(perplexities, arguments.plot)


def forcing(arguments) -> None:
    print("| `--teacher-forcing` | training | validation loss after each epoch | loss |")
    print("|---:|---:|---|---:|", flush=True)
    for probability in (1.0, 0.5, 0.0):
        result = run(arguments, f"forcing-{probability}", "--teacher-forcing", probability)
        losses = ", ".join(f"{row['val_loss']:.3f}" for row in result["epochs"])
        loss = result["scores"]["validation"]["loss"]
        print(f"| {probability} | {result['training_seconds']:.0f} s | {losses} | {loss:.3f} |", flush=True)


def run(arguments, name: str, *flags) -> dict:
    """Returns the result of the training `name`."""
    folders = ["--runs", arguments.folder / "runs", "--saved-models", arguments.folder / "saved", "--name", name]
    return trained(
        "char-lm", "--data", arguments.data, "--preset", arguments.preset, *folders, *flags, *arguments.flags
    )


def draw(perplexities: dict, path: Path) -> None:
    """Draws (model, context length or None) -> perplexity; models without a length are lines."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for model in WITH_ORDER:
        points = sorted((length, value) for (name, length), value in perplexities.items() if name == model)
        axes.plot(*zip(*points, strict=True), marker="o", label=model)
    for i, model in enumerate(RECURRENT):
        value = perplexities[model, None]
        axes.axhline(value, color=f"C{len(WITH_ORDER) + i}", linestyle="--", label=f"{model} (whole text)")
    axes.set_xscale("log", base=2)
    ticks = sorted({length for _, length in perplexities if length})
    axes.set_xticks(ticks, [str(length) for length in ticks])
    axes.set_yscale("log")
    axes.set_yticks([4, 5, 6, 8, 12, 16, 24], ["4", "5", "6", "8", "12", "16", "24"])
    axes.minorticks_off()
    axes.set_xlabel("characters read")
    axes.set_ylabel("perplexity per character")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for name, function in {"contexts": contexts, "forcing": forcing}.items():
        command = commands.add_parser(name)
        command.add_argument("--data", required=True, help="a text file")
        command.add_argument("--folder", type=Path, required=True, help="folder for runs and exports")
        command.add_argument("--preset", default="quick")
        command.add_argument("flags", nargs="*", help="further flags for `train char-lm`, after --")
        command.set_defaults(run=function)
    commands.choices["contexts"].add_argument("--plot", type=Path, help="a PNG file to draw the perplexities to")
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
