"""How many wrong labels does `--folds` find? Changes 150 labels of 3,000 reviews of IMDB, cross-validates, and counts.

python benchmarks/label_errors.py --data train.csv.xz
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parent.parent
NUM_TEXTS, NUM_WRONG = 3000, 150
OTHER = {"negative": "positive", "positive": "negative"}


def main() -> None:
    """Prints how many of the listed texts have a changed label."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="IMDB's training reviews, with the columns review and sentiment")
    table = pd.read_csv(parser.parse_args().data).sample(NUM_TEXTS, random_state=1).reset_index(drop=True)
    wrong = np.random.default_rng(0).choice(NUM_TEXTS, NUM_WRONG, replace=False)
    table.loc[wrong, "sentiment"] = table.loc[wrong, "sentiment"].map(OTHER)
    with tempfile.TemporaryDirectory() as folder:
        table.to_csv(Path(folder) / "reviews.csv", index=False)
        command = [sys.executable, str(ROOT / "main.py"), "train", "classification", "--data", f"{folder}/reviews.csv"]
        command += ["--folds", "5", "--model", "bag", "--preset", "quick", "--run", "noisy", "--runs", folder]
        subprocess.run(command, check=True)
        listed = pd.read_csv(Path(folder) / "classification" / "noisy" / "label_errors.csv")
    is_wrong = listed["text"].isin(set(table.loc[wrong, "review"]))
    print(f"{len(listed)} listed, {is_wrong.sum()} of the {NUM_WRONG} changed labels among them, ", end="")
    print(f"{is_wrong[:50].sum()} among the first 50")


if __name__ == "__main__":
    main()
