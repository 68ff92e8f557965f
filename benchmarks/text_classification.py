"""Compares `train classification` with TF-IDF and logistic regression on five data sets.

    python benchmarks/text_classification.py --corpora FOLDER [--sets genres ...] [--seeds 1 2 3] [--presets quick full]

Prints a table in Markdown. FOLDER has ud_ewt/, imdb/, tinyshakespeare/, multi30k/ and tatoeba/, from which
text_classification_data.py makes the data sets. All are measured on the validation texts that a run splits off. Each
finished run is kept in --folder, so that the same command resumes an interrupted benchmark.
"""

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from text_classification_data import DATA_SETS, write
from training import ROOT, kept, trained

sys.path.insert(0, str(ROOT))

from pipelines.classification.config import ClassificationConfig
from pipelines.labelled import baseline, paired
from pipelines.labelled.splits import read_and_split


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", required=True, type=Path)
    parser.add_argument("--sets", nargs="+", default=list(DATA_SETS), choices=list(DATA_SETS))
    parser.add_argument("--presets", nargs="+", default=["quick", "full"])
    parser.add_argument("--seeds", nargs="+", default=["1", "2", "3"])
    parser.add_argument("--folder", type=Path, help="keeps the data sets and the results (default: a new folder)")
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="unroll-benchmark-"))
    folder.mkdir(parents=True, exist_ok=True)
    print(f"data, runs and exports: {folder}", file=sys.stderr)
    print("| data set | texts, classes | preset | accuracy, mean | seeds | training | baselines | difference |")
    print("|---|---:|---|---:|---:|---:|---:|---:|", flush=True)
    for name in arguments.sets:
        data = write(name, arguments.corpora, folder)
        splits = read_and_split(ClassificationConfig(data=str(data)), polarity=False)
        right = kept(folder / f"{name}-baselines.json", lambda splits=splits: baseline_results(splits))
        for preset in arguments.presets:
            results = [
                kept(
                    folder / f"{name}-{preset}-{seed}.json",
                    lambda data=data, preset=preset, seed=seed, splits=splits: run(data, preset, seed, splits, folder),
                )
                for seed in arguments.seeds
            ]
            print(row(name, splits, preset, results, right), flush=True)


def baseline_results(splits) -> dict[str, list[bool]]:
    """Features -> whether each validation text is labelled correctly."""
    results = {}
    for features in baseline.FEATURES:
        (predicted,), _ = baseline.fit_and_predict(features, splits.train, [splits.valid.texts], False, 10**12)
        results[features] = (predicted == splits.valid.labels).tolist()
    return results


def run(data: Path, preset: str, seed: str, splits, folder: Path) -> dict:
    """Trains with the command that a user runs, and labels the validation texts with the export."""
    name = f"{data.stem}-{preset}-{seed}"
    flags = ["--data", data, "--preset", preset, "--seed", seed, "--name", name, "--no-baseline"]
    result = trained("classification", *flags, "--runs", folder / "runs", "--saved-models", folder / "saved")
    from pipelines.export.signatures import BatchedSignature
    from pipelines.support.quiet import import_tensorflow

    import_tensorflow()
    import tensorflow as tf

    loaded = tf.saved_model.load(result["export"])
    labels = BatchedSignature(loaded.signatures["serving_default"])(splits.valid.texts)["label"]
    right = [splits.classes[label] == predicted for label, predicted in zip(splits.valid.labels, labels, strict=True)]
    return {"right": right, "seconds": result["seconds"], "log_loss": result["scores"]["validation"]["log_loss"]}


def row(name: str, splits, preset: str, results: list[dict], right: dict[str, list[bool]]) -> str:
    """One line of the table. The difference is that to the better baseline, with the interval of the first seed."""
    import numpy as np

    accuracies = [statistics.mean(result["right"]) for result in results]
    baselines = {features: statistics.mean(values) for features, values in right.items()}
    best = max(baselines, key=baselines.get)
    low, high = paired.difference_interval(np.array(results[0]["right"]), np.array(right[best]))
    difference = 100 * (statistics.mean(accuracies) - baselines[best])
    return (
        f"| {name} | {len(splits.train) + len(splits.valid):,}, {len(splits.classes)} | {preset} | "
        f"{statistics.mean(accuracies):.4f} | {', '.join(f'{each:.4f}' for each in accuracies)} | "
        f"{results[0]['seconds']:.0f} s | {' / '.join(f'{each:.4f}' for each in baselines.values())} | "
        f"{difference:+.1f} ({100 * low:+.1f} to {100 * high:+.1f}) |"
    )


if __name__ == "__main__":
    main()
