"""Measures how well a classifier knows what it does not know.

    python benchmarks/abstaining.py --corpora FOLDER [--preset full] [--draws 3]

Two tables in Markdown, means over draws of 1,500 test texts. The first is of clinc150: trained without the texts that
have none of its 150 intents (oos), how well the highest probability separates those from test texts with an intent
(area under the ROC curve), beside LinearSVC with probabilities from five folds (scikit-learn's CalibratedClassifierCV).
The second: with `--threshold precision=.95`, chosen on the validation texts of a run, the precision on test texts, and
how many of them have a label. FOLDER has classification/ (see text_classification_data.py).
"""

import argparse
import statistics
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from text_classification import split
from text_classification_data import DATA_SETS
from training import ROOT

sys.path.insert(0, str(ROOT))

OUTSIDE = "oos"
PRECISION = 0.95
SETS = ("clinc150", "banking77", "trec", "subj")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", required=True, type=Path)
    parser.add_argument("--preset", default="full")
    parser.add_argument("--draws", type=int, default=3)
    arguments = parser.parse_args()
    data = {name: DATA_SETS[name](arguments.corpora) for name in SETS}
    outside = data["clinc150"][data["clinc150"].label == OUTSIDE]
    data["clinc150"] = data["clinc150"][data["clinc150"].label != OUTSIDE]
    areas, lines = [], []
    for name, rows in data.items():
        cells = []
        for draw in range(arguments.draws):
            train, test = split(rows.reset_index(drop=True), "all", draw)
            cells.append(cell(train, test, outside if name == "clinc150" else None, arguments.preset, areas))
        precision, share, accuracy = (100 * statistics.mean(each) for each in zip(*cells, strict=True))
        lines.append(f"| {name} | {accuracy:.1f} % | {precision:.1f} % | {share:.1f} % |")
    ours, reference = (statistics.mean(each) for each in zip(*areas, strict=True))
    print("| | area under the ROC curve, oos |\n|---|---:|")
    print(f"| `--preset {arguments.preset}` | {ours:.3f} |\n| LinearSVC, calibrated | {reference:.3f} |\n")
    print("| data set | accuracy of all | precision of those with a label | texts with a label |\n|---|---:|---:|---:|")
    print("\n".join(lines))


def cell(train: pd.DataFrame, test: pd.DataFrame, outside: pd.DataFrame | None, preset: str, areas: list) -> tuple:
    """Returns (precision of the texts with a label, share of those, accuracy of all); `areas` gets those of oos."""
    import unroll

    model = unroll.TextClassifier(preset=preset, threshold=f"precision={PRECISION}", no_baseline=True)
    model.fit(train.text.tolist(), train.label.tolist())
    probabilities = model.predict_proba(test.text.tolist())
    most_probable = np.array(model.classes_)[probabilities.argmax(axis=1)]
    predicted = np.array(model.predict(test.text.tolist()))
    is_right = predicted == test.label.to_numpy()
    # With two classes, the precision is that of the second, and each text has a label.
    has_label = predicted == model.classes_[1] if len(model.classes_) == 2 else predicted != ""
    if outside is not None:
        of_outside = model.predict_proba(outside.text.tolist())
        areas.append((area(probabilities, of_outside), linear_svc(train, test, outside)))
    return is_right[has_label].mean(), has_label.mean(), (most_probable == test.label.to_numpy()).mean()


def area(inside: np.ndarray, outside: np.ndarray) -> float:
    """Returns the area under the ROC curve of the highest probabilities, float [n, classes] each."""
    from sklearn.metrics import roc_auc_score

    score = np.concatenate([inside.max(axis=1), outside.max(axis=1)])
    return roc_auc_score(np.arange(len(score)) < len(inside), score)


def linear_svc(train: pd.DataFrame, test: pd.DataFrame, outside: pd.DataFrame) -> float:
    """Returns the area of LinearSVC on words, word pairs and characters."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline, make_union
    from sklearn.svm import LinearSVC

    features = make_union(
        TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2)),
        TfidfVectorizer(sublinear_tf=True, analyzer="char_wb", ngram_range=(2, 5)),
    )
    model = make_pipeline(features, CalibratedClassifierCV(LinearSVC(random_state=0), cv=5))
    model.fit(train.text, train.label)
    return area(model.predict_proba(test.text), model.predict_proba(outside.text))


if __name__ == "__main__":
    main()
