"""Ratings, numbers, pairs of texts and several columns, each beside a linear model of scikit-learn on the same rows.

    python benchmarks/columns.py --corpora FOLDER [--sets entailment ...] [--draws 3] [-- --preset quick]

Each draw holds out 1,000 rows for the test; a training splits its validation rows off the others. scikit-learn has
TF-IDF of words, word pairs and 2 to 5 characters of each column of text, numbers as multiples of their standard
deviation, and one column per name: LinearSVC for labels, ridge regression for numbers. Prints a table in Markdown with
means over the draws, and of the difference the 95 % interval (Student's t). The flags after -- are those of `train`.
FOLDER has classification/ and imdb/.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge
from sklearn.metrics import accuracy_score, cohen_kappa_score, mean_absolute_error
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from training import ROOT, trained

sys.path.insert(0, str(ROOT))

import unroll

NUM_TEST, MAX_ROWS = 1000, 6000
WORDS = ["door", "lamp", "road", "salt", "tree", "wind", "hand", "bread", "glass", "stone", "chair", "cloud"]


class DataSet(NamedTuple):
    """What is read, and what is measured.

    Attributes:
        rows: (folder of the corpora, generator) -> the rows.
        label: the column that is predicted.
        texts, features: the columns that are read.
        flags: of `train`, beside those that name the columns.
        measures: name -> function of the true and the predicted labels.
    """

    rows: Callable
    label: str
    texts: tuple[str, ...]
    flags: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    measures: dict[str, Callable] = {"accuracy": accuracy_score}


def corpus(name: str) -> Callable:
    """Returns what reads a corpus."""
    return lambda corpora, rng: pd.read_csv(corpora / name, keep_default_na=False)


def fields(corpora: Path, rng: np.random.Generator) -> pd.DataFrame:
    """Makes 3,000 rows; the label depends on the column that has "refund", and on whether the price is above 50."""
    draw = lambda: [" ".join(rng.choice(WORDS, 6)) for _ in range(3000)]  # noqa: E731
    rows = pd.DataFrame({"title": draw(), "body": draw(), "price": rng.uniform(0, 100, 3000).round(2)})
    in_title = rng.random(3000) < 0.5
    rows.loc[in_title, "title"] += " refund"
    rows.loc[~in_title, "body"] += " refund"
    rows["label"] = np.where(in_title, "title", "body") + np.where(rows.price > 50, " dear", " cheap")
    return rows


def kappa(true, predicted) -> float:
    """Quadratic kappa (Cohen 1968)."""
    return cohen_kappa_score(np.asarray(true, int), np.asarray(predicted, int), weights="quadratic")


def error(true, predicted) -> float:
    """Mean absolute error."""
    return mean_absolute_error(np.asarray(true, float), np.asarray(predicted, float))


def spearman(true, predicted) -> float:
    """Rank correlation."""
    return stats.spearmanr(np.asarray(true, float), np.asarray(predicted, float)).statistic


SICK, STARS, SST5 = (
    corpus(f"{name}.csv.xz") for name in ("classification/sick_pairs", "imdb/train", "classification/sst5")
)
PAIR, ORDINAL, NUMBER = ("sentence_a", "sentence_b"), ("--label-type", "ordinal"), ("--label-type", "number")
RATING = {"kappa": kappa, "error": error, "accuracy": accuracy_score}
RANKS = {"rank correlation": spearman, "error": error}
DATA_SETS = {
    "entailment": DataSet(SICK, "entailment", PAIR),
    "relatedness": DataSet(SICK, "relatedness", PAIR, ("--symmetric", *NUMBER), measures=RANKS),
    "relatedness in order": DataSet(SICK, "relatedness", PAIR, NUMBER, measures=RANKS),  # as --encoder reads a pair
    "fields": DataSet(fields, "label", ("title", "body"), features=("price",)),
    "sst5": DataSet(SST5, "label", ("text",), measures=RATING),
    "sst5 ordinal": DataSet(SST5, "label", ("text",), ORDINAL, measures=RATING),
    "sst5 number": DataSet(SST5, "label", ("text",), NUMBER, measures=RANKS),
    "stars": DataSet(STARS, "rating", ("review",), measures=RATING),
    "stars ordinal": DataSet(STARS, "rating", ("review",), ORDINAL, measures=RATING),
    "stars number": DataSet(STARS, "rating", ("review",), NUMBER, measures=RANKS),
}


def linear_model(data: DataSet, train: pd.DataFrame, test: pd.DataFrame) -> np.ndarray:
    """Predictions of scikit-learn for the test rows."""
    words = lambda: TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)  # noqa: E731
    characters = lambda: TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True)  # noqa: E731
    steps = [(make_union(words(), characters()), name) for name in data.texts]
    for name in data.features:
        is_number = pd.api.types.is_numeric_dtype(train[name])
        steps.append((StandardScaler() if is_number else OneHotEncoder(handle_unknown="ignore"), [name]))
    model = Ridge() if NUMBER[1] in data.flags else LinearSVC()
    labels = train[data.label] if NUMBER[1] not in data.flags else train[data.label].astype(float)
    return make_pipeline(make_column_transformer(*steps), model).fit(train, labels).predict(test)


def unrolls(data: DataSet, train: pd.DataFrame, test: pd.DataFrame, flags: list[str]) -> np.ndarray:
    """Predictions of the trained model for the test rows."""
    with tempfile.TemporaryDirectory(prefix="unroll-benchmark-") as folder:
        path = Path(folder) / "train.csv"
        train.to_csv(path, index=False)
        columns = ["--pair-columns" if data.texts == PAIR else "--text-column", ",".join(data.texts)]
        columns += ["--feature-column", ",".join(data.features)] if data.features else []
        where = ["--runs", folder, "--saved-models", folder, "--name", "model", "--force", "--no-baseline"]
        trained("classification", "--data", path, "--label-column", data.label, *columns, *data.flags, *where, *flags)
        model = unroll.load(Path(folder) / "model" / "1")
        read = test[[*data.texts, *data.features]]
        return np.asarray(model.predict(read if len(read.columns) > 1 else read.iloc[:, 0].tolist()))


def main() -> None:
    """Prints a row for each data set and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", required=True, type=Path)
    parser.add_argument("--sets", nargs="+", default=list(DATA_SETS), choices=list(DATA_SETS))
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("flags", nargs="*", default=["--preset", "quick"])
    arguments = parser.parse_args()
    print("| data set | measure | scikit-learn | Unroll | difference |\n|---|---|---:|---:|---:|", flush=True)
    for name in arguments.sets:
        data, scores = DATA_SETS[name], []
        for draw in range(arguments.draws):
            rng = np.random.default_rng(draw)
            rows = data.rows(arguments.corpora, rng).sample(frac=1, random_state=rng)[:MAX_ROWS]
            test, train = rows[:NUM_TEST], rows[NUM_TEST:]
            predicted = linear_model(data, train, test), unrolls(data, train, test, arguments.flags)
            true = test[data.label].astype(str) if NUMBER[1] not in data.flags else test[data.label]
            alike = [each.astype(str) if NUMBER[1] not in data.flags else each for each in predicted]
            scores.append([[measure(true, each) for each in alike] for measure in data.measures.values()])
        means = np.mean(scores, axis=0)  # [measures, 2]
        for i, measure in enumerate(data.measures):
            each = np.array([draw[i][1] - draw[i][0] for draw in scores])
            half = stats.t.ppf(0.975, len(each) - 1) * stats.sem(each) if len(each) > 1 else np.nan
            difference = f"{each.mean():+.3f} ({each.mean() - half:+.3f} to {each.mean() + half:+.3f})"
            print(f"| {name} | {measure} | {means[i, 0]:.3f} | {means[i, 1]:.3f} | {difference} |", flush=True)


if __name__ == "__main__":
    main()
