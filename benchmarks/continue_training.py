"""Trains on half of a corpus, continues on the other half with `train --from`, and compares with a training on all.

    python benchmarks/continue_training.py wnut17 --data ../shared/data
    python benchmarks/continue_training.py trec --data ../shared/data
    python benchmarks/continue_training.py multi30k --data ../shared/data
    python benchmarks/continue_training.py shakespeare --data ../shared/data --learning-rate 0.002

Prints the scores on the same validation data, the share of the gain from half to all that continuing has, and times.
"""

import argparse
import gzip
import json
import lzma
import random
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Name -> (task, flags, measure of the validation data).
CASES = {
    "wnut17": ("tagging", "--model lstm --preset quick --no-baseline", "span_f1"),
    "wnut17-linear": ("tagging", "--model linear --no-baseline", "span_f1"),
    "wnut17-best": ("tagging", "--model best --no-baseline", "span_f1"),
    "trec": ("classification", "--preset quick --no-baseline", "accuracy"),
    "multi30k": ("nmt", "--model attention --preset quick --no-baseline --pair en-de", "bleu"),
    "shakespeare": ("char-lm", "--preset quick --hidden-size 128 --no-baseline", "loss"),
}


def write_halves(name: str, data: Path, folder: Path) -> None:
    """Writes the training data: all, first and second; and valid."""
    header = ""
    if name.startswith("wnut17"):
        train, valid = (
            lzma.decompress((data / "ner" / f"wnut17.{part}.conll.xz").read_bytes()).decode()
            for part in ("train", "dev")
        )
        units, joint = train.strip().split("\n\n"), "\n\n"
    elif name == "trec":
        text = lzma.decompress((data / "classification" / "trec.csv.xz").read_bytes()).decode()
        header, *rows = text.splitlines(keepends=True)  # no cell has a line break
        random.Random(1).shuffle(rows)
        num_valid = len(rows) // 5
        units, valid, joint = rows[num_valid:], header + "".join(rows[:num_valid]), ""
    elif name == "multi30k":
        units, held_out = (_pairs(data / "multi30k", part) for part in ("train", "val"))
        valid, joint = "\n".join(held_out), "\n"
    else:
        text = (data / "tinyshakespeare" / "input.txt").read_text()
        cut = len(text) * 9 // 10
        units, joint, valid = text[:cut].splitlines(), "\n", text[cut:]
    half = len(units) // 2
    parts = {"all": units, "first": units[:half], "second": units[half:]}
    if name.startswith("wnut17"):  # every second sentence: those at the end of the file are of another kind
        parts |= {"first": units[::2], "second": units[1::2]}
    for part, of_part in parts.items():
        (folder / f"{part}{_end(name)}").write_text(header + joint.join(of_part) + "\n")
    (folder / f"valid{_end(name)}").write_text(valid)


def _end(name: str) -> str:
    return ".csv" if name == "trec" else ".txt"


def _pairs(folder: Path, part: str) -> list[str]:
    """Lines with a source, a tab and its translation."""
    sides = (gzip.decompress((folder / f"{part}.{side}.gz").read_bytes()).decode() for side in ("en", "de"))
    return ["\t".join(pair) for pair in zip(*(each.splitlines() for each in sides), strict=True)]


def train(folder: Path, part: str, end: str, arguments: list[str]) -> dict:
    """Trains on a part; returns the result of the run."""
    files = ["--data", folder / f"{part}{end}", "--valid", folder / f"valid{end}"]
    places = ["--runs", folder / "runs", "--saved-models", folder / "saved", "--run", part, "--name", part]
    command = [sys.executable, ROOT / "main.py", "train", *arguments, *files, *places, "--json"]
    return json.loads(subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE).stdout)


def main() -> None:
    """Trains three times and prints the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case", choices=CASES)
    parser.add_argument(
        "--data", type=Path, required=True, help="folder with ner/, classification/, multi30k/ and tinyshakespeare/"
    )
    given, further = parser.parse_known_args()  # flags of the training that continues
    task, flags, measure = CASES[given.case]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_halves(given.case, given.data, folder)
        end = _end(given.case)
        results = {part: train(folder, part, end, [task, *flags.split()]) for part in ("all", "first")}
        results["second"] = train(folder, "second", end, ["--from", f"{task}/first", *further])
    scores = {part: result["scores"]["validation"][measure] for part, result in results.items()}
    seconds = {part: result["training_seconds"] for part, result in results.items()}
    gain = (scores["second"] - scores["first"]) / (scores["all"] - scores["first"])
    for part in results:
        print(f"{part:<8}{measure} {scores[part]:.4f}   {seconds[part]:.0f} s")
    print(f"continuing has {gain:.0%} of the gain, in {seconds['second'] / seconds['all']:.0%} of the time")


if __name__ == "__main__":
    main()
