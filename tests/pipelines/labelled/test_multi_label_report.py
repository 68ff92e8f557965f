import numpy as np
import pytest

from pipelines.labelled import multi_label_metrics, multi_label_report
from pipelines.labelled.labelled_splits import Labelled
from pipelines.support import predictions
from tests.pipelines.results import make_result

CLASSES = ["news", "sport", "rare"]
TEXTS = np.array(["good game", "bad news", "fine", "the match"], dtype=object)
LABELS = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0], [1, 1, 0]])
PROBABILITIES = np.array([[0.1, 0.9, 0.1], [0.3, 0.1, 0.2], [0.7, 0.2, 0.1], [0.6, 0.8, 0.1]])
PREDICTED = (PROBABILITIES >= 0.5).astype(int)


@pytest.fixture
def result():
    scores = multi_label_metrics.compute_scores(LABELS, PREDICTED, PROBABILITIES, CLASSES)
    epoch = {"loss": 0.5, "accuracy": 0.7, "val_loss": 0.6, "val_accuracy": 0.6}
    return make_result(
        config={"data": "topics.csv", "model": "bag", "labels_separator": "|", "threshold": None},
        scores={"validation": scores | {"thresholds": dict.fromkeys(CLASSES, 0.5)}},
        epochs=[{"epoch": 1, **epoch}],
        best_epoch=1,
        classes=CLASSES,
        class_rows={"news": 30, "sport": 20, "rare": 1},
        rows={"train": 40, "valid": 4},
        notes={"left out, empty text": 1},
        example='"fine"',
        window={"max_bytes": 1000},
    )


def test_the_report_has_scores_labels_and_mistakes(result, tmp_path):
    details = {"valid": Labelled(TEXTS, LABELS), "probabilities": PROBABILITIES, "predicted": PREDICTED}
    multi_label_report.write(result, details, tmp_path, data_lines=["- Own line."])
    text = (tmp_path / "report.md").read_text()
    for part in (
        "# Classification: bag on topics.csv",
        "a micro-F1 of **0.750 (",
        "**2 of 4 (15.0 to 85.0 %)** of the texts have exactly the right labels",
        "at most 0.667",  # news and sport for every text: 2 * 4 / (4 + 8); one of them: 2 * 2 / (4 + 4)
        "4 validation texts are too few",
        "chosen on the same validation texts that are measured here",
        "| news | 2 | 0.500 | 0.500 | 0.500 | 0.500 | 0.583 |",
        "No text has the label rare",
        "- *news* with 30.0 %; predicted labels *none*, true labels *news*: “bad news”",
        "40 texts with 1.27 labels on average (news 30, sport 20, rare 1)",
        "- Left out, empty text: 1.",
        "- Own line.",
    ):
        assert part in text, part
    assert {path.name for path in tmp_path.glob("*.png")} == {"curves.png", "calibration.png", "labels.png"}
    rows = predictions.read(tmp_path)
    assert sorted(zip(rows["label"], rows["predicted"], strict=True)) == [
        ("", "news"),
        ("news", ""),
        ("news|sport", "news|sport"),
        ("sport", "sport"),
    ]


def test_a_fixed_threshold_is_not_said_to_be_chosen(result, tmp_path):
    result.config["threshold"] = "0.4"
    details = {"valid": Labelled(TEXTS, LABELS), "probabilities": PROBABILITIES, "predicted": PREDICTED}
    multi_label_report.write(result, details, tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert "from a probability of 0.4 (`--threshold 0.4`)" in text and "chosen on the same" not in text


def test_the_most_certain_wrong_decision_is_first():
    mistakes = multi_label_report.worst_mistakes(TEXTS, LABELS, PREDICTED, PROBABILITIES, CLASSES)
    assert [(m["text"], m["wrong"], m["score"]) for m in mistakes] == [("bad news", "news", 0.3), ("fine", "news", 0.7)]
    assert mistakes[1]["labels"] == [] and mistakes[1]["predicted"] == ["news"]


def test_the_summary_names_both_f1(result):
    lines = multi_label_report.summarize(result).splitlines()
    assert lines[0].endswith("several labels per text")
    assert "micro-F1 0.750   macro-F1 0.750   all labels correct 2 of 4" in lines[1]


def test_without_labels_there_is_no_constant_answer():
    assert multi_label_report.constant_f1({"rows": 3, "by_class": [{"rows": 0}, {"rows": 0}]}) is None
