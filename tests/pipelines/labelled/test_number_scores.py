import numpy as np
import pytest
from scipy import stats
from sklearn import metrics
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge

from pipelines.labelled import number_scores
from pipelines.labelled.labelled_splits import Labelled, LabelledSplits

TRUE = np.round(np.random.default_rng(0).normal(size=300), 1)  # with equal numbers
PREDICTED = np.round(TRUE + np.random.default_rng(1).normal(size=300), 1)


def test_the_scores_are_those_of_scipy_and_scikit_learn():
    scores = number_scores.compute_scores(TRUE, PREDICTED)
    assert scores["rows"] == 300
    assert scores["mean_absolute_error"] == pytest.approx(metrics.mean_absolute_error(TRUE, PREDICTED))
    assert scores["root_mean_squared_error"] == pytest.approx(metrics.root_mean_squared_error(TRUE, PREDICTED))
    assert scores["r2"] == pytest.approx(metrics.r2_score(TRUE, PREDICTED))
    assert scores["spearman"] == pytest.approx(stats.spearmanr(TRUE, PREDICTED)[0])
    for name in number_scores.TITLES:
        low, high = scores[f"{name}_interval"]
        assert low < scores[name] < high


def test_what_is_undefined_is_none():
    scores = number_scores.compute_scores(np.ones(5), np.arange(5.0))
    assert scores["r2"] is None and scores["spearman"] is None and scores["spearman_interval"] is None
    assert number_scores.compute_scores(np.arange(5.0), np.ones(5))["spearman"] is None


def test_the_baselines_are_the_mean_and_a_ridge_regression():
    random = np.random.default_rng(0)
    words = np.array(["cheap", "fair", "dear", "gold"], object)
    level = random.integers(0, 4, 200)
    texts = np.array([f"a {words[i]} ring {j}" for j, i in enumerate(level)], object)
    numbers = level + random.normal(0, 0.1, 200)
    train, valid = (Labelled(texts[rows], level[rows], numbers=numbers[rows]) for rows in (slice(150), slice(150, 200)))
    splits = LabelledSplits(train, valid, None, ("0", "1", "2", "3"), {})
    scores = {"validation": number_scores.compute_scores(valid.numbers, valid.numbers)}
    number_scores.add_baselines(scores, splits, {"validation": valid.numbers})
    mean, ridge = scores["validation"]["baselines"]
    assert mean["name"] == number_scores.MEAN and mean["spearman"] is None
    assert mean["mean_absolute_error"] == pytest.approx(np.abs(valid.numbers - train.numbers.mean()).mean())
    vectorizers = [
        TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True),
        TfidfVectorizer(ngram_range=(2, 5), sublinear_tf=True, analyzer="char_wb"),
    ]
    x = np.hstack([each.fit_transform(train.texts).toarray() for each in vectorizers])
    expected = (
        Ridge()
        .fit(x, train.numbers)
        .predict(np.hstack([each.transform(valid.texts).toarray() for each in vectorizers]))
    )
    error = number_scores.measures(valid.numbers, expected)["root_mean_squared_error"]
    assert ridge["root_mean_squared_error"] == pytest.approx(error, rel=1e-3)
    assert ridge["difference"] == pytest.approx(ridge["root_mean_squared_error"])  # the model is right
    assert ridge["difference_interval"][0] > 0
