"""Measures what a search over settings gains: the best trial against the preset, on reviews that no trial has seen.

    python benchmarks/tune.py --data PATH/TO/imdb/train.csv.xz --folder PATH [--reviews 5000] [--trials 20]
        [--minutes 20] [--seeds 1 2 3] [--more "--model lstm"] [--ray local]

Draws 5,000 reviews to search on, and 5,000 others, of other films, to measure on. `tune sentiment` searches on the
first ones. Then the settings of the best trial and the preset are trained on the same 5,000 reviews, with each seed,
and label the other 5,000. Prints a table in Markdown, and the difference of the accuracies with two intervals of 95 %:
over the texts (bootstrap, each text with the mean of its seeds) and over the seeds (Student's t). Each finished step is
kept in --folder, so that the same command resumes an interrupted benchmark. It needs an otherwise idle machine, because
the time of the search is limited.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from training import ROOT, kept, trained

sys.path.insert(0, str(ROOT))

from pipelines.support import bootstrap  # noqa: E402
from pipelines.tune.grid_report import mean_and_interval  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--folder", required=True, type=Path)
    parser.add_argument("--reviews", type=int, default=5000)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--seeds", nargs="+", default=["1", "2", "3"])
    parser.add_argument("--more", default="", help="flags of `tune sentiment`, in quotes")
    parser.add_argument("--ray", help="as in `tune`")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    search_file, other_file = draw(arguments.data, arguments.reviews, arguments.folder)
    search = kept(arguments.folder / "search.json", lambda: searched(arguments, search_file))
    flags = {"preset": shlex.split(arguments.more), "best trial": flags_of(search["command"])}
    other = pd.read_csv(other_file)
    right = {
        name: np.array(
            [
                kept(
                    arguments.folder / f"{name.replace(' ', '-')}-{seed}.json",
                    lambda name=name, seed=seed: labelled(arguments, search_file, other, flags[name], name, seed),
                )["right"]
                for seed in arguments.seeds
            ]
        )
        for name in flags
    }
    states = ", ".join(f"{number} {state}" for state, number in search["states"].items())
    print(f"search: {len(search['trials'])} trials ({states}) in {search['minutes']:.1f} minutes")
    print(f"best: trial {search['best']}: {search['command']}\n")
    print(f"| | accuracy on {len(other):,} other reviews | seeds |\n|---|---:|---:|")
    for name, of in right.items():
        accuracies = of.mean(axis=1)
        print(f"| {name} | {accuracies.mean():.4f} | {', '.join(f'{each:.4f}' for each in accuracies)} |")
    differences = right["best trial"].astype(float) - right["preset"]  # [seeds, texts]
    of_texts = bootstrap.resampled_sums(differences.mean(axis=0)[:, None])[:, 0] / differences.shape[1]
    low, high = bootstrap.interval(of_texts)
    mean, half = mean_and_interval(differences.mean(axis=1).tolist())
    over_seeds = "" if half is None else f"; over the seeds {100 * (mean - half):+.2f} to {100 * (mean + half):+.2f}"
    print(
        f"\nbest trial minus preset: {100 * mean:+.2f} points (95 % intervals: over the texts {100 * low:+.2f} to "
        f"{100 * high:+.2f}{over_seeds})"
    )


def draw(data: Path, number: int, folder: Path) -> tuple[Path, Path]:
    """Writes `number` reviews to search on, and as many of other films to measure on; returns the two files."""
    files = folder / "search.csv", folder / "other.csv"
    if not all(path.exists() for path in files):
        reviews = pd.read_csv(data)
        films = reviews.url.drop_duplicates().sample(frac=1, random_state=0)
        first = set(films[: len(films) // 2])
        for path, is_first in zip(files, (True, False), strict=True):
            rows = reviews[reviews.url.isin(first) == is_first].sample(number, random_state=0)
            table = pd.DataFrame({"text": rows.review, "label": rows.sentiment, "url": rows.url})
            table.to_csv(path, index=False)
    return files


def where(folder: Path) -> list[str]:
    return ["--runs", str(folder / "runs"), "--saved-models", str(folder / "saved")]


def searched(arguments, data: Path) -> dict:
    """What `main.py tune sentiment --json` reports, and its time."""
    started = time.monotonic()
    command = [sys.executable, str(ROOT / "main.py"), "tune", "sentiment", "--data", str(data), "--json"]
    command += ["--trials", str(arguments.trials), "--minutes", str(arguments.minutes), *where(arguments.folder)]
    command += shlex.split(arguments.more) + (["--ray", arguments.ray] if arguments.ray else [])
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    process = subprocess.run(command, stdout=subprocess.PIPE, env=environment, check=True)
    return json.loads(process.stdout) | {"minutes": (time.monotonic() - started) / 60}


def flags_of(command: str) -> list[str]:
    """The settings in the command of the best run, without its data and folders."""
    arguments = shlex.split(command)
    arguments = arguments[arguments.index("sentiment") + 1 :]
    for flag in ("--data", "--runs", "--saved-models"):
        place = arguments.index(flag)
        del arguments[place : place + 2]
    return arguments


def labelled(arguments, data: Path, other: pd.DataFrame, flags: list[str], name: str, seed: str) -> dict:
    """Trains with the command that a user runs, and labels the other reviews with the export."""
    export = f"{name.replace(' ', '-')}-{seed}"
    command = ["sentiment", "--data", data, *flags, "--seed", seed, "--name", export, "--no-baseline"]
    result = trained(*command, *where(arguments.folder))
    from pipelines.export.signatures import BatchedSignature
    from pipelines.support.quiet import import_tensorflow

    import_tensorflow()
    import tensorflow as tf

    loaded = tf.saved_model.load(result["export"])
    labels = BatchedSignature(loaded.signatures["serving_default"])(other.text.tolist())["label"]
    return {"right": [label == given for label, given in zip(labels, other.label, strict=True)]}


if __name__ == "__main__":
    main()
