import numpy as np
import pytest

from pipelines.classification.report import summarize, write_report
from pipelines.labelled import multi_label_metrics
from pipelines.labelled.labelled_splits import Labelled
from pipelines.labelled.metrics import compute_scores
from tests.pipelines.results import make_result

CLASSES = ["bad", "good"]
VALID = Labelled(np.array(["dull", "charming", "fine"], dtype=object), np.array([0, 1, 1]))
PROBABILITIES = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])


@pytest.mark.parametrize(
    ("texts_cut", "tokens_lost", "line"),
    [
        (0.0, 0.0, "- The model reads at most 1,000 tokens of a text; none of the training texts is longer."),
        (
            0.125,
            0.04,
            "- The model reads at most 1,000 tokens of a text: the first and the last half. 12.5 % of the training "
            "texts are longer; 4.0 % of all tokens are cut off.",
        ),
    ],
    ids=["none is cut", "some are cut"],
)
def test_the_report_states_what_the_maximum_number_of_tokens_cuts_off(tmp_path, texts_cut, tokens_lost, line):
    epoch = {"loss": 0.5, "accuracy": 0.7, "val_loss": 0.6, "val_accuracy": 0.6}
    result = make_result(
        scores={"validation": compute_scores(VALID.labels, PROBABILITIES, CLASSES, VALID.texts)},
        epochs=[{"epoch": 1, **epoch}, {"epoch": 2, **epoch}],
        classes=CLASSES,
        class_rows={"bad": 10, "good": 10},
        rows={"train": 20, "valid": 3},
        window={"max_bytes": 40_000, "max_tokens": 1000, "texts_cut": texts_cut, "tokens_lost": tokens_lost},
    )
    write_report(
        result, {"valid": VALID, "probabilities": PROBABILITIES, "predicted": PROBABILITIES.argmax(1)}, tmp_path
    )
    lines = (tmp_path / "report.md").read_text(encoding="utf-8").splitlines()
    data = lines[lines.index("## Data") : lines.index("## Use")]
    assert line in data and "- Texts are cut after 40,000 bytes." in data
    assert lines[0] == "# Classification: bag on reviews.csv"


def test_several_labels_have_a_report_of_their_own(tmp_path):
    labels = np.array([[1, 0], [1, 1], [0, 0]])
    probabilities = np.array([[0.9, 0.2], [0.8, 0.7], [0.6, 0.1]])
    predicted = (probabilities >= 0.5).astype(int)
    scores = multi_label_metrics.compute_scores(labels, predicted, probabilities, ("bad", "good"))
    epoch = {"loss": 0.5, "accuracy": 0.7, "val_loss": 0.6, "val_accuracy": 0.6}
    result = make_result(
        config={"data": "/home/me/reviews.csv", "model": "bag", "labels_separator": "|", "threshold": None},
        scores={"validation": scores | {"thresholds": {"bad": 0.5, "good": 0.5}}},
        epochs=[{"epoch": 1, **epoch}, {"epoch": 2, **epoch}],
        classes=["bad", "good"],
        class_rows={"bad": 10, "good": 10},
        rows={"train": 16, "valid": 3},
        window={"max_bytes": 40_000, "max_tokens": 1000, "texts_cut": 0.0, "tokens_lost": 0.0},
    )
    details = {"valid": Labelled(VALID.texts, labels), "probabilities": probabilities, "predicted": predicted}
    write_report(result, details, tmp_path)
    report = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "- The model reads at most 1,000 tokens" in report and "16 texts with 1.25 labels on average" in report
    assert {path.name for path in tmp_path.glob("*.png")} == {"curves.png", "calibration.png", "labels.png"}
    assert "several labels per text" in summarize(result)
