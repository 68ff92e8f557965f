import numpy as np
import pandas as pd

from pipelines.labelled import folds_report, metrics
from pipelines.support import confusion
from tests.pipelines.results import make_result

LABELS = np.array([0, 0, 1, 1, 1, 0])
PROBABILITIES = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4], [0.1, 0.9], [0.2, 0.8]])
FOLDS = [{"rows": 3, "accuracy": 1.0, "f1": 1.0, "roc_auc": None, "log_loss": 0.2}] * 2
CONFUSED = confusion.count(LABELS, PROBABILITIES.argmax(axis=1), ["ham", "spam"])
SUSPECTS = pd.DataFrame(
    {"text": ["odd " * 100], "label": ["ham"], "predicted": ["spam"], "score": 0.8, "p(label)": 0.2}
)


def result(folder, deviation=0.125):
    measures = {"accuracy": 0.5, "f1": 0.25, "roc_auc": None, "log_loss": 0.75}
    return make_result(
        scores={"validation": metrics.compute_scores(LABELS, PROBABILITIES, ("ham", "spam"), np.array(["a b"] * 6))},
        findings={
            "folds": {
                "scores": FOLDS,
                "mean": measures,
                "standard_deviation": dict.fromkeys(measures, deviation),
                "label_errors": 1,
            }
        },
        report=str(folder / "report.md"),
        export="",
        classes=["ham", "spam"],
        class_rows={"ham": 3, "spam": 4},
        rows={"all": 7},
        notes={"never held out, the only text of its class": 1},
    )


def test_the_report_has_folds_their_mean_all_texts_and_likely_label_errors(tmp_path):
    folds_report.write(result(tmp_path), [(1, 3, 5.0), (2, 3, 65.0)], SUSPECTS, CONFUSED, tmp_path)
    text = (tmp_path / "report.md").read_text()
    for part in (
        "# Classification: bag on reviews.csv, cross-validation",
        "**0.500 ± 0.125**",
        "Each of 6 texts",
        "| 2 | 3 | 1.000 | 1.000 | - | 0.200 | 2 of 3 | 1 min 5 s |",
        "| mean | | 0.500 | 0.250 | - | 0.750 | | |",
        "| standard deviation | | 0.125",
        "- Accuracy 4 of 6 (",
        "| ham | 2 | 1 |",
        "without having seen the text: 1. Another label",
        "- labelled *ham* (20.0 %), predicted *spam* (80.0 %): “odd odd",
        "- 7 texts (ham 3, spam 4).",
        "- Never held out, the only text of its class: 1.",
    ):
        assert part in text


def test_the_baselines_of_all_folds_are_compared(tmp_path):
    both = [
        {"features": "words", "accuracy": 0.75, "difference": 0.125},
        {"features": "words", "accuracy": 0.5, "difference": -0.0625},
    ]
    left_out = {"features": "characters", "left_out": "too long"}
    compared = result(tmp_path)
    scores = [fold | {"baselines": [each, left_out]} for fold, each in zip(FOLDS, both, strict=True)]
    compared.findings["folds"]["scores"] = scores
    folds_report.write(compared, [(1, 3, 5.0), (2, 3, 65.0)], SUSPECTS, CONFUSED, tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert "| words | 0.625 ± 0.177 | +3.1 ± 13.3 | 1 of 2 folds |" in text and "characters" not in text
    assert "baseline    accuracy 0.625   words; this model +3.1 points" in folds_report.summarize(compared)


def test_a_report_without_likely_label_errors(tmp_path):
    folds_report.write(result(tmp_path), [(1, 3, 5.0), (2, 3, 65.0)], SUSPECTS[:0], CONFUSED, tmp_path)
    assert "None: no model contradicts a label" in (tmp_path / "report.md").read_text()


def test_the_summary_has_mean_and_standard_deviation_and_names_the_files(tmp_path):
    lines = folds_report.summarize(result(tmp_path)).splitlines()
    assert lines[0] == "classification, bag, reviews.csv: 2 folds"
    assert "accuracy 0.500 ± 0.125   F1 0.250 ± 0.125   ROC AUC -" in lines[1]
    assert "6 texts   accuracy 4 of 6 (" in lines[2]
    assert "likely label errors: 1, in" in lines[3] and lines[3].endswith("/label_errors.csv")
    assert lines[-1] == "  No model was exported: for one, repeat the command without --folds."
    assert "accuracy 0.500   F1" in folds_report.summarize(result(tmp_path, deviation=None))
