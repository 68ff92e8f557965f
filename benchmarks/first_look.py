"""Measures how long a first look takes: `train classification --preset quick` on short texts, and refusals.

    python benchmarks/first_look.py --corpora FOLDER [--rows 5000] [--repeats 3]

Trains on rows of the data set `genres` (text_classification_data.py) and prints when each line of progress appears, and
how long the process takes. Then prints the seconds until a file is refused: one that does not exist, and one of 3 MB
whose labels are numbers. Needs an otherwise idle machine.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
from text_classification_data import write
from training import ROOT


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", required=True, type=Path)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="unroll-benchmark-") as name:
        folder = Path(name)
        rows = pd.read_csv(write("genres", arguments.corpora, folder)).sample(arguments.rows, random_state=1)
        rows.to_csv(folder / "short.csv", index=False)
        for i in range(arguments.repeats):
            where = ["--runs", folder / f"runs{i}", "--saved-models", folder / f"saved{i}"]
            seconds, lines = timed("--data", folder / "short.csv", "--preset", "quick", *where)
            print(f"{arguments.rows:,} texts: {seconds:.1f} s")
            print(*(f"  {after:5.1f} s  {line}" for after, line in lines), sep="\n", flush=True)
        many = pd.concat([rows] * (3 * 2**20 // (folder / "short.csv").stat().st_size + 1))
        many.assign(label=[1.37 * i for i in range(len(many))]).to_csv(folder / "numbers.csv", index=False)
        for file in ("absent.csv", "numbers.csv"):
            seconds, lines = timed("--data", folder / file, status=2)
            print(f"{seconds:.2f} s: {lines[-1][1]}")


def timed(*flags, status: int = 0) -> tuple[float, list[tuple[float, str]]]:
    """Returns the seconds of `train classification`, and each line on stderr with the seconds until it appears."""
    command = [sys.executable, "-u", ROOT / "main.py", "train", "classification", *flags]
    started = time.monotonic()
    process = subprocess.Popen(
        [str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    lines = [(time.monotonic() - started, line.strip()) for line in process.stderr]
    if process.wait() != status:
        sys.exit(f"train classification ended with status {process.returncode}: {lines[-1:]}")
    return time.monotonic() - started, lines


if __name__ == "__main__":
    main()
