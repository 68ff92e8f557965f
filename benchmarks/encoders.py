"""`--encoder` with few labels, beside LinearSVC and beside the frozen encoder with logistic regression.

    python benchmarks/encoders.py --encoder HANDLE --corpora FOLDER [--sets trec subj ...] [--draws 5] [--test 1000]
    python benchmarks/encoders.py --encoder HANDLE --corpora FOLDER --recipe unfrozen

The first trains `classification --encoder`, the second `transfer --recipe NAME`. Each draw holds out texts for the
test, and takes 100, 500 and 1,000 labelled texts of the others, or 10 and 50 of each class where there are many.
LinearSVC has TF-IDF of words, word pairs and 2 to 5 characters; logistic regression has the encoder's vectors and
C = 10. Prints a table in Markdown: accuracies, means over the draws, and the difference of ours to the better of the
two, with its 95 % interval (Student's t). FOLDER has classification/ and imdb/.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline, make_union
from sklearn.svm import LinearSVC
from training import ROOT, trained

sys.path.insert(0, str(ROOT))

import unroll

# Name -> (file, column of the texts, column of the labels).
SETS = {
    "trec": ("classification/trec.csv.xz", "text", "label"),
    "subj": ("classification/subj.csv.xz", "text", "label"),
    "banking77": ("classification/banking77.csv.xz", "text", "label"),
    "clinc150": ("classification/clinc150.csv.xz", "text", "label"),
    "imdb": ("imdb/train.csv.xz", "review", "sentiment"),
}
TEXTS = (100, 500, 1000)  # of all classes together, where there are few
OF_EACH_CLASS = {"banking77": (10, 50), "clinc150": (10,)}


def draw(name: str, table: pd.DataFrame, num_test: int, seed: int):
    """Yields the size of a cell, its training rows, and the test rows; imdb's are of other films."""
    order = np.random.default_rng(seed).permutation(len(table))
    if name == "imdb":
        held_out = table["url"].isin(table["url"].drop_duplicates().sample(frac=0.2, random_state=seed))
        test, pool = order[held_out.to_numpy()[order]][:num_test], order[~held_out.to_numpy()[order]]
    else:
        test, pool = order[:num_test], order[num_test:]
    if name not in OF_EACH_CLASS:
        yield from ((f"{size:,}", pool[:size], test) for size in TEXTS)
        return
    labels = table[SETS[name][2]].to_numpy()[pool]
    for size in OF_EACH_CLASS[name]:
        rows = np.concatenate([pool[labels == label][:size] for label in np.unique(labels)])
        yield f"{size} of each class", np.random.default_rng(seed).permutation(rows), test


class Transfer:
    """`train transfer --recipe NAME`, with `fit` and `predict`."""

    def __init__(self, handle: str, recipe: str):
        self._flags = ["--encoder", handle, "--recipe", recipe, "--no-baseline", "--force"]

    def fit(self, texts: np.ndarray, labels: np.ndarray) -> "Transfer":
        """Trains in a temporary folder."""
        with tempfile.TemporaryDirectory(prefix="unroll-benchmark-") as folder:
            path = Path(folder) / "train.csv"
            pd.DataFrame({"text": texts, "label": labels}).to_csv(path, index=False)
            trained("transfer", "--data", path, "--runs", folder, "--saved-models", folder, *self._flags)
            self._model = unroll.load(Path(folder) / "transfer" / "1")
        return self

    def predict(self, texts: np.ndarray) -> np.ndarray:
        """Returns the labels of texts."""
        return np.asarray(self._model.predict(texts.tolist()))


def accuracies(given: argparse.Namespace, encoder, texts: np.ndarray, labels: np.ndarray, train, test) -> list[float]:
    """Returns those of LinearSVC, of logistic regression on the vectors, and of ours."""
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
    characters = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True)
    models = [
        make_pipeline(make_union(words, characters), LinearSVC()),
        make_pipeline(encoder, LogisticRegression(C=10, max_iter=1000)),
        Transfer(given.encoder, given.recipe)
        if given.recipe
        else unroll.TextClassifier(preset="quick", encoder=given.encoder, no_baseline=True),
    ]
    return [
        float((model.fit(texts[train], labels[train]).predict(texts[test]) == labels[test]).mean()) for model in models
    ]


def main() -> None:
    """Prints a row for each data set and number of labels."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", required=True, help="hf://ORG/NAME or a folder")
    parser.add_argument("--corpora", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--test", type=int, default=1000, help="number of texts for the test")
    parser.add_argument("--recipe", help="train `transfer` with this recipe, in place of `classification`")
    given = parser.parse_args()
    encoder = unroll.load_encoder(given.encoder)
    print("| data set | labels | LinearSVC | encoder + logistic regression | Unroll | to the better of both |")
    print("|---|---|---:|---:|---:|---:|")
    for name in given.sets:
        file, text, label = SETS[name]
        table = pd.read_csv(given.corpora / file, keep_default_na=False)
        texts, labels = table[text].to_numpy(object), table[label].astype(str).to_numpy(object)
        found: dict[str, list[list[float]]] = {}
        for seed in range(given.draws):
            for cell, train, test in draw(name, table, given.test, seed):
                found.setdefault(cell, []).append(accuracies(given, encoder, texts, labels, train, test))
        for cell, rows in found.items():
            svc, regression, ours = np.array(rows).T
            better = svc if svc.mean() > regression.mean() else regression
            change = ours - better
            width = stats.t.ppf(0.975, len(change) - 1) * stats.sem(change) if len(change) > 1 else float("nan")
            means = " | ".join(f"{values.mean():.3f}" for values in (svc, regression, ours))
            interval = f"{change.mean():+.3f} ({change.mean() - width:+.3f} to {change.mean() + width:+.3f})"
            print(f"| {name} | {cell} | {means} | {interval} |", flush=True)


if __name__ == "__main__":
    main()
