import json

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from pipelines.labelled import ratings
from pipelines.labelled.outputs import Decision
from pipelines.support.errors import UserError

STARS = ("1", "2", "3", "4", "5")


def drawn(rows=400, seed=0):
    """Returns true and predicted labels that are close to each other."""
    random = np.random.default_rng(seed)
    true = random.integers(0, 5, rows)
    return true, np.clip(true + random.integers(-1, 2, rows), 0, 4)


def test_the_scores_are_those_of_their_definitions():
    true, predicted = drawn()
    scores = ratings.compute_scores(true, predicted, STARS)
    assert scores["mean_absolute_error"] == pytest.approx(np.abs(true - predicted).mean())
    assert scores["quadratic_kappa"] == pytest.approx(cohen_kappa_score(true, predicted, weights="quadratic"))
    for name in ("mean_absolute_error", "quadratic_kappa"):
        low, high = scores[f"{name}_interval"]
        assert low < scores[name] < high


def test_the_distance_is_that_of_the_numbers():
    scores = ratings.compute_scores(np.array([0, 1, 2, 2]), np.array([0, 1, 2, 0]), ("1", "2", "10"))
    assert scores["mean_absolute_error"] == pytest.approx(9 / 4)


def test_without_a_difference_there_is_no_kappa():
    scores = ratings.compute_scores(np.zeros(9, int), np.zeros(9, int), STARS)
    assert scores["quadratic_kappa"] is None and scores["quadratic_kappa_interval"] is None
    assert scores["mean_absolute_error"] == 0
    assert "quadratic kappa -" in ratings.shown({"ratings": scores})


def test_which_classes_may_be_ratings():
    assert ratings.may_be_ratings(STARS) and ratings.may_be_ratings(("-1", "0", "1"))
    others = [("0", "1"), ("good", "bad", "3"), tuple(map(str, range(77)))]
    assert not any(map(ratings.may_be_ratings, others))


@pytest.mark.parametrize(
    ("classes", "reason"), [(("1", "2", "good"), "one label is 'good'"), (("1", "2"), "at least three")]
)
def test_what_has_no_order_is_refused(classes, reason):
    with pytest.raises(UserError, match=reason):
        ratings.require_ordered(classes, "reviews.csv")


def test_the_label_is_the_median_and_has_the_smallest_expected_distance():
    probabilities = np.random.default_rng(1).dirichlet(np.full(5, 0.5), 500)
    ids = Decision(ordinal=True).label_ids(probabilities)
    distance = np.abs(np.arange(5)[:, None] - np.arange(5)[None])  # [predicted, true]
    expected = probabilities @ distance.T  # [n, predicted]
    np.testing.assert_allclose(expected[np.arange(500), ids], expected.min(axis=1), atol=1e-5)
    assert (ids != probabilities.argmax(axis=1)).any()


def test_the_report_names_the_flag_unless_it_was_given():
    scores = {"validation": {"ratings": ratings.compute_scores(*drawn(), STARS)}}
    assert "--label-type ordinal" in "\n".join(ratings.report_lines(scores, False))
    assert "--label-type" not in "\n".join(ratings.report_lines(scores, True))
    assert ratings.report_lines({"validation": {}}, False) == []


@pytest.mark.long
@pytest.mark.slow
def test_a_model_of_ratings_gives_the_median(tmp_path, run_main):
    words = ("awful", "weak", "fair", "good", "great")
    random = np.random.default_rng(0)
    levels = random.integers(0, 5, 300)
    noisy = np.clip(levels + random.integers(-1, 2, 300), 0, 4)
    rows = "".join(f"a {words[i]} film {n},{j + 1}\n" for n, (i, j) in enumerate(zip(levels, noisy, strict=True)))
    (tmp_path / "films.csv").write_text(f"text,stars\n{rows}")
    saved = ("--saved-models", tmp_path / "saved")
    flags = ("--data", "films.csv", "--preset", "quick", "--label-type", "ordinal", "--runs", tmp_path / "runs")
    trained = run_main(tmp_path, "train", "classification", *flags, *saved)
    assert trained.returncode == 0 and "as ratings" in trained.stdout, trained.stderr
    (report,) = tmp_path.glob("runs/classification/*/report.md")
    assert "## As ratings" in report.read_text()
    texts = ("a fair film", "an awful film", "a film")
    found = json.loads(run_main(tmp_path, "predict", "classification", *texts, "--json", *saved).stdout)["predictions"]
    for each in found:
        probabilities = np.array([each["probabilities"][str(stars)] for stars in range(1, 6)])
        assert int(each["label"]) == 1 + int((np.cumsum(probabilities) >= 0.5).argmax())
    measured = run_main(tmp_path, "evaluate", "classification", "--data", "films.csv", *saved)
    assert "quadratic kappa" in measured.stdout


def test_several_labels_and_two_classes_are_no_ratings(tmp_path, run_main):
    (tmp_path / "two.csv").write_text("text,label\n" + "".join(f"text {i},{i % 2}\n" for i in range(60)))
    for flags, reason in (((), "at least three"), (("--threshold", "0.5"), "--threshold has no effect")):
        done = run_main(tmp_path, "train", "classification", "--data", "two.csv", "--label-type", "ordinal", *flags)
        assert done.returncode == 2 and reason in done.stderr and done.stderr.count("\n") == 1
