"""Compares `train classification` with LinearSVC on 17 data sets, each with 500, 2,500 and all texts.

    python benchmarks/text_classification.py --corpora FOLDER [--sets genres ...] [--sizes 500 2500 all] [--draws 5]

LinearSVC is ten lines of scikit-learn: TF-IDF of words, word pairs and 2 to 5 characters, the third baseline of a run.
Each draw of a data set takes 1,500 texts for the test, with all that belong to the same group, and trains on some of
the others; a training splits its own validation texts off these. Prints a table in Markdown: accuracy (micro-F1 with
several labels per text), means over the draws, and the difference with its 95 % interval over the draws (Student's t).
FOLDER has classification/, ud_ewt/, imdb/, tinyshakespeare/, multi30k/, tatoeba/ and wikitext-2/, from which
text_classification_data.py makes them.
Each finished cell is kept in --folder, so that the same command resumes an interrupted benchmark.
"""

import argparse
import math
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats
from text_classification_data import DATA_SETS, SEPARATOR, write
from training import ROOT, kept

sys.path.insert(0, str(ROOT))

from pipelines.classification.config import ClassificationConfig
from pipelines.labelled import baseline
from pipelines.labelled.labelled_splits import Labelled

NUM_TEST = 1500
LINEAR_SVC = "words, word pairs and characters, LinearSVC"
MANY_CLASSES = 6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", required=True, type=Path)
    parser.add_argument("--sets", nargs="+", default=list(DATA_SETS), choices=list(DATA_SETS))
    parser.add_argument("--sizes", nargs="+", default=["500", "2500", "all"])
    parser.add_argument("--presets", nargs="+", default=["quick", "full"], help="full:all is full with --refit all")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="keeps the data sets and the results (default: a new folder)")
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="unroll-benchmark-"))
    folder.mkdir(parents=True, exist_ok=True)
    print(f"data and results: {folder}", file=sys.stderr)
    presets = arguments.presets
    titles = " | ".join(f"`{preset}` | difference | time" for preset in presets)
    print(f"| data set, classes | texts | LinearSVC | {titles} |")
    print(f"|---|---:|---:|{'---:|---:|---:|' * len(presets)}", flush=True)
    differences: dict[str, list[tuple[int, float]]] = {preset: [] for preset in presets}
    for name in arguments.sets:
        rows = pd.read_csv(write(name, arguments.corpora, folder), keep_default_na=False, dtype=str)
        for size in arguments.sizes:
            cells = [cell(name, rows, size, draw, presets, folder) for draw in range(arguments.draws)]
            print(line(name, size, presets, cells), flush=True)
            for preset in presets:
                difference = statistics.mean(each[preset]["score"] - each["LinearSVC"]["score"] for each in cells)
                differences[preset].append((cells[0]["classes"], 100 * difference))
    for preset, values in differences.items():
        many = [difference for classes, difference in values if classes >= MANY_CLASSES]
        means = [f"{statistics.mean(each):+.2f}" if each else "-" for each in ([d for _, d in values], many)]
        print(f"\n`{preset}`: mean difference {means[0]} points, of {MANY_CLASSES} classes and more {means[1]}")


def cell(name: str, rows: pd.DataFrame, size: str, draw: int, presets: list[str], folder: Path) -> dict:
    """Returns the scores and times of one draw: LinearSVC and each preset."""
    train, test = split(rows, size, draw)
    stem = f"{name}-{size}-{draw}"
    results = {"LinearSVC": kept(folder / f"{stem}-svc.json", lambda: linear_svc(train, test))}
    for preset in presets:
        results[preset] = kept(folder / f"{stem}-{preset}.json", lambda preset=preset: trained(train, test, preset))
    return results | {"classes": len({label for row in rows.label for label in str(row).split(SEPARATOR) if label})}


def split(rows: pd.DataFrame, size: str, draw: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Divides the rows into training and test; equal texts, and rows of the same group, stay together."""
    group = pd.factorize(rows.url if "url" in rows else rows.text)[0]
    rng = np.random.default_rng(draw)
    rank = rng.permutation(group.max() + 1)[group]
    order = np.argsort(rank, kind="stable")
    is_test = rank <= rank[order[NUM_TEST - 1]]
    others = rng.permutation(np.flatnonzero(~is_test))
    chosen = others if size == "all" else others[: int(size)]
    return rows.iloc[chosen], rows.iloc[np.flatnonzero(is_test)]


def config_of(train: pd.DataFrame, path: Path, preset: str) -> ClassificationConfig:
    """Writes the training texts to a file, and returns the config of a training on it."""
    train.to_csv(path, index=False)
    separator = SEPARATOR if train.label.str.contains(SEPARATOR, regex=False).any() else None
    preset, _, refit = preset.partition(":")
    options = {"data": str(path), "preset": preset, "labels_separator": separator, "no_baseline": True}
    options |= {"refit": refit} if refit else {}
    return ClassificationConfig(**options, label_column="label", text_column="text").resolve()


def linear_svc(train: pd.DataFrame, test: pd.DataFrame) -> dict:
    """Fits the baseline to all training texts."""
    several = train.label.str.contains(SEPARATOR, regex=False).any()
    sets = [set(row.split(SEPARATOR)) if several else {row} for row in train.label]
    classes = sorted(set.union(*sets))
    of_text = np.array([[int(name in each) for name in classes] for each in sets])
    labels = of_text if several else of_text.argmax(axis=1)
    texts = (train.text.to_numpy(object), test.text.to_numpy(object))
    started = time.monotonic()
    (predicted,), _ = baseline.fit_and_predict(LINEAR_SVC, Labelled(texts[0], labels), [texts[1]], False, 10**12)
    seconds = time.monotonic() - started
    if several:
        found = [{name for name, has in zip(classes, row, strict=True) if has} for row in predicted]
    else:
        found = [{classes[i]} for i in predicted]
    return {"score": score(found, test, several), "seconds": seconds}


def trained(train: pd.DataFrame, test: pd.DataFrame, preset: str) -> dict:
    """Trains as the command does, without export, and labels the test texts."""
    from pipelines.export.signatures import BatchedSignature
    from pipelines.support.quiet import import_tensorflow

    import_tensorflow()
    import keras

    from pipelines.runs.fitting import fit_and_measure
    from pipelines.task import TASKS

    keras.backend.clear_session()
    folder = Path(tempfile.mkdtemp(prefix="unroll-cell-"))
    config = config_of(train, folder / "train.csv", preset)
    entry = TASKS["classification"]
    splits = entry.load(config)
    started = time.monotonic()
    result = fit_and_measure(entry.task(), config, splits, folder)
    result.refit()
    seconds = time.monotonic() - started
    outputs = BatchedSignature(result.servable.signatures()["serving_default"])(test.text.to_numpy(object))
    several = "labels" in outputs
    found = [set(filter(None, row)) for row in outputs["labels"]] if several else [{row} for row in outputs["label"]]
    shutil.rmtree(folder)
    validation = result.scores["validation"]
    factors = list(result.servable.calibration.factors)
    return {
        "score": score(found, test, several),
        "seconds": seconds,
        "epochs": result.position.best_epoch + 1,
        "factors": factors,
        "log_loss": validation["log_loss"],
    }


def score(found: list[set], test: pd.DataFrame, several: bool) -> float:
    """Returns the accuracy, or the micro-F1 of several labels."""
    expected = [set(filter(None, row.split(SEPARATOR))) if several else {row} for row in test.label]
    right = sum(len(a & b) for a, b in zip(found, expected, strict=True))
    if not several:
        return right / len(expected)
    return 2 * right / (sum(map(len, found)) + sum(map(len, expected)))


def line(name: str, size: str, presets: list[str], cells: list[dict]) -> str:
    """One line of the table."""
    reference = [each["LinearSVC"]["score"] for each in cells]
    values = [f"{name}, {cells[0]['classes']}", size, f"{statistics.mean(reference):.4f}"]
    for preset in presets:
        scores = [each[preset]["score"] for each in cells]
        difference = [100 * (a - b) for a, b in zip(scores, reference, strict=True)]
        seconds = statistics.median(each[preset]["seconds"] for each in cells)
        values += [f"{statistics.mean(scores):.4f}", interval(difference), f"{seconds:.0f} s"]
    return f"| {' | '.join(values)} |"


def interval(values: list[float]) -> str:
    """Returns the mean with its 95 % interval."""
    mean = statistics.mean(values)
    if len(values) == 1:
        return f"{mean:+.1f}"
    margin = stats.t.ppf(0.975, len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    return f"{mean:+.1f} ({mean - margin:+.1f} to {mean + margin:+.1f})"


if __name__ == "__main__":
    main()
