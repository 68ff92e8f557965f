"""Baselines of a classifier: ten lines of scikit-learn, fitted to the same training texts in seconds.

They show whether the model is worth its training. Their settings are fixed: nothing is tuned to the data.
"""

import warnings
from collections.abc import Sequence

import numpy as np

from pipelines.labelled.labelled_splits import Labelled, LabelledSplits
from pipelines.labelled.metrics import wilson_interval
from pipelines.labelled.multi_label_metrics import compare_micro_f1
from pipelines.support import baselines, console
from pipelines.support.paired import difference_interval
from pipelines.support.scores import score_of
from pipelines.text.invisible import visible

# Name -> the options of scikit-learn's TfidfVectorizer.
_VECTORIZERS = {
    "words": {"ngram_range": (1, 2), "sublinear_tf": True},
    "characters": {"ngram_range": (2, 5), "sublinear_tf": True, "analyzer": "char_wb"},
}
# Name -> the vectorizers, whose features stand side by side.
FEATURES = {
    "words and word pairs, logistic regression": ("words",),
    "2 to 5 characters of a word, logistic regression": ("characters",),
    "words, word pairs and characters, LinearSVC": ("words", "characters"),
}
_INVERSE_REGULARIZATION = 10.0
# Of the training texts. With more, the baseline is left out: it would take minutes.
_MAX_CHARACTERS = dict(zip(FEATURES, (60_000_000, 5_000_000, 10_000_000), strict=True))
_MAX_CHARACTERS_OF_CLASSES = 200_000_000  # characters times classes: a classifier is fitted for each class


def add_baselines(
    scores: dict[str, dict], splits: LabelledSplits, labels: dict[str, np.ndarray], class_weights: bool
) -> None:
    """Fits the baselines, and adds "baselines" to the scores of each split, a list of dicts.

    Each dict has the "features" and "accuracy", "accuracy_interval" (Wilson's), "difference" (the accuracy of the model
    minus that of the baseline) and "difference_interval" (see `paired.difference_interval`), or the reason why it is
    "left_out". With several labels per text, micro-F1 takes the place of the accuracy, and the intervals are those of
    the bootstrap. A baseline gives a text the labels with a probability above 0.5, or with a positive margin.

    Args:
        scores: split ("validation", "test") -> scores of the model.
        labels: split -> class ids that the model predicts, int [n], each the most probable one; with several labels per
            text, int [n, classes] of 0 and 1.
        class_weights: whether each class has the same weight in training.
    """
    console.say("fitting the baselines: TF-IDF with logistic regression and LinearSVC ...")
    parts = {"validation": splits.valid, "test": splits.test}
    num_real = splits.train.num_real
    weights = None if splits.train.weights is None else splits.train.weights[:num_real]
    train = Labelled(splits.train.texts[:num_real], splits.train.labels[:num_real], weights=weights)
    for name in scores:
        scores[name]["baselines"] = []
    vectors: dict[str, list] = {}
    for features in FEATURES:
        texts = [parts[name].texts for name in scores]
        predicted, reason = fit_and_predict(features, train, texts, class_weights, vectors=vectors)
        for i, name in enumerate(scores):
            comparison = {"left_out": reason}
            if not reason:
                compare = compare_micro_f1 if splits.multi_label else _compare_accuracy
                comparison = compare(parts[name].labels, predicted[i], labels[name])
            scores[name]["baselines"].append({"features": features, **comparison})


def fit_and_predict(
    features: str,
    train: Labelled,
    texts: Sequence[np.ndarray],
    class_weights: bool,
    max_characters: int | None = None,
    vectors: dict[str, list] | None = None,
) -> tuple[list[np.ndarray], str]:
    """Fits one baseline and labels texts.

    Args:
        features: a key of FEATURES.
        texts: arrays of texts.
        max_characters: of the training texts; by default that of the features, and less with many classes.
        vectors: keeps the vectors for the other baselines on the same texts.

    Returns:
        (an array of class ids for each array of texts, ""), or ([], the reason why it is left out). With several labels
        per text the arrays are int [n, classes] of 0 and 1.
    """
    from sklearn.linear_model import LogisticRegression  # takes two seconds, which no other command waits for
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import LinearSVC

    num_characters = sum(map(len, train.texts))
    num_classes = train.labels.shape[1] if train.labels.ndim == 2 else int(train.labels.max()) + 1
    if max_characters is None and num_characters * num_classes > _MAX_CHARACTERS_OF_CLASSES:
        return [], f"{num_classes:,} classes and {num_characters / 1e6:.1f} million characters are too many"
    found, reason = vectors_of(features, train.texts, texts, max_characters, vectors)
    if reason:
        return [], reason
    train_vectors, *other_vectors = found
    class_weight = "balanced" if class_weights else None
    if len(FEATURES[features]) > 1:
        classifier = LinearSVC(class_weight=class_weight, random_state=0)
    else:
        # The time of the dual solver grows with the number of texts, not of n-grams.
        classifier = LogisticRegression(
            C=_INVERSE_REGULARIZATION,
            solver="liblinear",
            dual=True,
            max_iter=1000,
            class_weight=class_weight,
            random_state=0,
        )
    with warnings.catch_warnings():
        # One of several labels that every text has, or none: its classifier is constant.
        warnings.filterwarnings("ignore", "Label .* is present in all training examples")
        weights = {} if train.weights is None else {"sample_weight": train.weights}
        classifier = OneVsRestClassifier(classifier).fit(train_vectors, train.labels, **weights)
    return [classifier.predict(each) for each in other_vectors], ""


def vectors_of(
    features: str,
    train_texts: np.ndarray,
    texts: Sequence[np.ndarray],
    max_characters: int | None = None,
    vectors: dict[str, list] | None = None,
) -> tuple[list, str]:
    """Returns the TF-IDF vectors of a baseline; for the arguments see `fit_and_predict`.

    Returns:
        (the sparse vectors of the training texts and of each of `texts`, ""), or ([], the reason why there are none).
    """
    from scipy import sparse

    limit = max_characters or _MAX_CHARACTERS[features]
    if sum(map(len, train_texts)) > limit:
        return [], f"the training texts have more than {limit / 1e6:g} million characters"
    vectors = {} if vectors is None else vectors
    for name in FEATURES[features]:
        vectors[name] = vectors.get(name) or _vectorize(name, train_texts, texts)
        if not vectors[name]:
            return [], "the training texts have no words"
    columns = [vectors[name] for name in FEATURES[features]]
    return [sparse.hstack(each, "csr") for each in zip(*columns, strict=True)], ""


def _vectorize(name: str, train_texts: np.ndarray, texts: Sequence[np.ndarray]) -> list:
    """Returns the TF-IDF vectors of the training texts and of the others; [] if the training texts have no words."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(**_VECTORIZERS[name], dtype=np.float32)
    try:
        fitted = vectorizer.fit_transform([visible(text) for text in train_texts])
    except ValueError:  # "empty vocabulary"
        return []
    return [fitted, *(vectorizer.transform([visible(text) for text in each]) for each in texts)]


def _compare_accuracy(labels: np.ndarray, baseline: np.ndarray, model: np.ndarray) -> dict:
    baseline_is_right, model_is_right = baseline == labels, model == labels
    return {
        "accuracy": float(baseline_is_right.mean()),
        "accuracy_interval": wilson_interval(int(baseline_is_right.sum()), len(baseline_is_right)),
        "difference": float(model_is_right.mean() - baseline_is_right.mean()),
        "difference_interval": difference_interval(model_is_right, baseline_is_right),
    }


def summary_lines(scores: dict) -> list[str]:
    """Returns the lines of the terminal on the baselines of one split."""
    lines = []
    for each in scores.get("baselines", ()):
        if "left_out" in each:
            lines.append(f"  {'baseline':<12}{each['features']}: left out, {each['left_out']}")
        else:
            score, difference = _score(each), score_of(each, "difference").points()
            lines.append(
                f"  {'baseline':<12}{_measure(each)} {score}   {each['features']}; this model {difference} points"
            )
    return lines + baselines.warning_lines(scores)


def report_lines(scores: dict[str, dict]) -> list[str]:
    """Returns the section of the report on the baselines; [] without them."""
    if not any(each.get("baselines") for each in scores.values()):
        return []
    compared = [each for of_split in scores.values() for each in of_split["baselines"] if "left_out" not in each]
    measure = _measure(compared[0]) if compared else "accuracy"
    lines = [
        "## Baselines",
        "",
        f"| TF-IDF of | split | {measure} | this model is better by, points |",
        "|---|---|---:|---:|",
    ]
    for split, of_split in scores.items():
        for each in of_split["baselines"]:
            if "left_out" not in each:
                lines.append(
                    f"| {each['features']} | {split} | {_score(each)} | {score_of(each, 'difference').points()} |"
                )
    lines += baselines.report_lines(scores)
    left_out = [each for each in next(iter(scores.values()))["baselines"] if "left_out" in each]
    for each in left_out:
        lines += ["", f"The baseline of {each['features']} is left out: {each['left_out']}."]
    thresholds = (
        " Each gives a text the labels with a probability above 0.5 or a positive margin; the thresholds of this model "
        "are chosen on the "
        "validation texts."
    )
    return [
        *lines,
        "",
        "Ten lines of scikit-learn, fitted to the same training texts in seconds, with fixed settings "
        f"(`sublinear_tf=True`; `C={_INVERSE_REGULARIZATION:g}` of logistic regression, `C=1` of LinearSVC). In "
        "parentheses: the 95 % interval. That of the difference compares the two on the same texts; if it contains 0, "
        "the difference may be chance." + thresholds * (measure == "micro-F1"),
        "",
    ]


def _measure(baseline: dict) -> str:
    return "micro-F1" if "micro_f1" in baseline else "accuracy"


def _score(baseline: dict) -> str:
    if "micro_f1" in baseline:
        return score_of(baseline, "micro_f1").number()
    return score_of(baseline, "accuracy").percent()
