import numpy as np
import pytest

from pipelines.labelled import metrics, threshold_report
from pipelines.labelled.labelled_splits import Labelled
from tests.pipelines.results import make_result

RNG = np.random.default_rng(0)
LABELS = (RNG.random(300) < 0.3).astype(int)
SPAM = np.clip(0.3 + 0.4 * LABELS + RNG.normal(0, 0.2, 300), 0.01, 0.99)
PROBABILITIES = np.stack([1 - SPAM, SPAM], axis=1)
VALID = Labelled(np.array(["text"] * 300, dtype=object), LABELS)


def result_of(threshold=None, value=0.5, classes=("ham", "spam")):
    predicted = (value <= SPAM).astype(int)
    scores = metrics.compute_scores(LABELS, PROBABILITIES, classes, VALID.texts, predicted)
    scores |= {"thresholds": {"spam": value}} if threshold else {}
    config = {"data": "a.csv", "model": "bag", "threshold": threshold}
    return make_result(config=config, classes=list(classes), scores={"validation": scores})


def lines_of(result, folder):
    details = {"valid": VALID, "probabilities": PROBABILITIES}
    return threshold_report.precision_recall_lines(result, details, folder)


def test_the_section_has_the_curve_and_what_thresholds_give(tmp_path):
    text = "\n".join(lines_of(result_of(), tmp_path))
    assert "The average precision of *spam* is 0." in text and "as with a threshold of 0.5" in text
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| `precision=")]
    assert [row[0] for row in rows] == [f"| `precision={p}`" for p in ("0.8", "0.9", "0.95", "0.99")]
    for row, wanted in zip(rows, (80, 90, 95, 99), strict=True):
        assert float(row[3].split(" %")[0]) >= wanted
    recalls = [float(row[5].split(" %")[0]) for row in rows]
    assert recalls == sorted(recalls, reverse=True)
    assert (tmp_path / "precision_recall.png").exists()


def test_a_precision_that_cannot_be_reached_is_named(tmp_path):
    labels = np.array([0, 1] * 20)
    details = {"valid": Labelled(VALID.texts[:40], labels), "probabilities": np.full((40, 2), 0.5)}
    scores = metrics.compute_scores(labels, details["probabilities"], ("ham", "spam"), VALID.texts[:40])
    result = make_result(config={"threshold": None}, classes=["ham", "spam"], scores={"validation": scores})
    lines = threshold_report.precision_recall_lines(result, details, tmp_path)
    assert "| `precision=0.9` | no threshold reaches it | | | | |" in lines


@pytest.mark.parametrize(
    ("threshold", "value", "parts"),
    [
        ("0.7", 0.7, ["from a probability of 0.7000 (`--threshold 0.7`)."]),
        ("best-f1", 0.5, ["chosen for the highest F1 on these same validation texts", "a little too high"]),
        ("precision=0.8", 0.7, ["chosen for a precision of at least 0.8 on these same"]),
        ("precision=0.99", 0.2, ["**No threshold reaches it**"]),
    ],
)
def test_how_a_threshold_was_chosen_is_stated(threshold, value, parts):
    sentence = threshold_report.choice_sentence(result_of(threshold, value))
    assert all(part in sentence for part in parts), sentence
    assert ("No threshold" in sentence) == (threshold == "precision=0.99")


def test_more_classes_and_an_absent_class_have_no_curve(tmp_path):
    three = make_result(classes=["a", "b", "c"], scores={"validation": {}})
    assert lines_of(three, tmp_path) == []
    absent = make_result(classes=["a", "b"], scores={"validation": {"average_precision": None}})
    assert lines_of(absent, tmp_path) == [] and not list(tmp_path.iterdir())
