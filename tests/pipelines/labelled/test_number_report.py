import numpy as np
import pytest

from pipelines.labelled import number_report, number_scores
from pipelines.labelled.labelled_splits import Labelled, LabelledSplits
from pipelines.support import predictions
from pipelines.support.run_result import RunResult

ROWS = 60
NUMBERS = np.linspace(0, 5900, ROWS)
PREDICTED = NUMBERS + np.random.default_rng(0).normal(0, 100, ROWS)
PREDICTED[7] = 5000
TEXTS = np.array([f"offer {i} of {'gold' * (i > 30)}" for i in range(ROWS)], object)


@pytest.fixture
def details():
    return {"valid": Labelled(TEXTS, np.zeros(ROWS, int), numbers=NUMBERS), "numbers": PREDICTED}


@pytest.fixture
def result(tmp_path, details):
    scores = {"validation": number_scores.compute_scores(NUMBERS, PREDICTED)}
    splits = LabelledSplits(details["valid"], details["valid"], None, ("0.0", "5.0"), {})
    number_scores.add_baselines(scores, splits, {"validation": PREDICTED})
    return RunResult.of(
        schema=4,
        run="0123456789abcdef",
        task="classification",
        config={"model": "linear", "data": "a.csv", "label_type": "number"},
        data={"name": "a", "fingerprint": "f"},
        modules={},
        versions={"python": "3"},
        machine="Linux",
        started="today",
        sample=False,
        vocabulary_size=10,
        parameters=100,
        precision="float32",
        epochs=[{"epoch": 1, "loss": 0.5, "accuracy": 0.5, "val_loss": 0.6, "val_accuracy": 0.5}],
        epoch_seconds=[1.0],
        best_epoch=1,
        training_seconds=2.0,
        scores=scores,
        export=str(tmp_path / "saved" / "a" / "1"),
        model="a/1",
        report=str(tmp_path / "report.md"),
        rows={"train": 20, "valid": ROWS},
        notes={"left out, the label is no finite number": 2},
        example='"offer"',
        classes=["0.0", "5.0"],
        class_rows={"0.0": 16, "5.0": 4},
        window={"max_bytes": 1000},
    )


def test_the_report_has_errors_baselines_and_the_worst_texts(result, details, tmp_path):
    number_report.write(result, details, tmp_path, data_lines=["- Own line."])
    kept = predictions.read(tmp_path)
    assert sorted(map(float, kept.predicted)) == pytest.approx(sorted(details["numbers"]), rel=1e-6)
    text = (tmp_path / "report.md").read_text()
    error = number_report.shown(result.scores["validation"], "mean_absolute_error")
    for part in (
        "# Classification: numbers by linear on a.csv",
        f"off by **{error}** on average",
        "| texts | 60 |",
        f"| {number_scores.MEAN} | validation | ",
        f"| {number_scores.RIDGE} | validation | ",
        "- 5000 instead of 700: “offer 7 of”",
        "- The numbers are in 2 intervals",
        "- Left out, the label is no finite number: 2.",
        "- Own line.",
    ):
        assert part in text
    assert (tmp_path / "numbers.png").is_file() and (tmp_path / "curves.png").is_file()


def test_the_terminal_has_the_scores_and_a_warning_below_a_baseline(result):
    text = number_report.summarize(result)
    assert "mean absolute error" in text and "Spearman's rank correlation" in text and "warning" not in text
    result.scores["validation"]["baselines"][1]["difference_interval"] = [-3, -1]
    assert f"below its baseline, beyond chance: {number_scores.RIDGE}" in number_report.summarize(result)


def test_a_baseline_that_is_left_out_has_its_reason(result, details, tmp_path):
    result.scores["validation"]["baselines"][1] = {"name": number_scores.RIDGE, "left_out": "too many texts"}
    number_report.write(result, details, tmp_path)
    assert f"| {number_scores.RIDGE} | validation | left out: too many texts |" in (tmp_path / "report.md").read_text()
    assert f"{number_scores.RIDGE}: left out, too many texts" in number_report.summarize(result)
