import dataclasses
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from pipelines.labelled import metrics, report
from pipelines.labelled.labelled_splits import Labelled
from pipelines.support.run_result import RunResult

TEXTS = np.array(["good", "bad", "the fog<br />was thick " * 30, "fine"], dtype=object)
LABELS = np.array([1, 0, 0, 1])
PROBABILITIES = np.array([[0.1, 0.9], [0.7, 0.3], [0.02, 0.98], [0.6, 0.4]])


@pytest.fixture
def result(tmp_path):
    scores = metrics.compute_scores(LABELS, PROBABILITIES, ("negative", "positive"), TEXTS)
    epochs = [{"epoch": i, "loss": 0.5, "accuracy": 0.5, "val_loss": 0.6, "val_accuracy": 0.5} for i in (1, 2)]
    return RunResult.of(
        schema=4,
        run="0123456789abcdef",
        task="sentiment",
        config={"model": "bag", "data": "a.csv", "class_weights": False},
        data={"name": "a", "fingerprint": "f"},
        modules={},
        versions={"python": "3"},
        machine="Linux",
        started="today",
        sample=False,
        vocabulary_size=10,
        parameters=100,
        precision="float32",
        epochs=epochs,
        epoch_seconds=[1.0, 1.0],
        best_epoch=1,
        training_seconds=2.0,
        scores={"validation": scores},
        export=str(tmp_path / "saved" / "sentiment" / "1"),
        model="sentiment/1",
        report=str(tmp_path / "report.md"),
        rows={"train": 20, "valid": 4},
        notes={"left out, empty text": 1},
        example='"fine"',
        classes=["negative", "positive"],
        class_rows={"negative": 16, "positive": 4},
        window={"max_bytes": 1000},
    )


def test_a_model_that_a_solver_fitted_has_no_learning_curves(result, tmp_path):
    epochs = [{"epoch": 1, "val_loss": 0.6, "val_accuracy": 0.5}]
    details = {"valid": Labelled(TEXTS, LABELS), "probabilities": PROBABILITIES, "predicted": PROBABILITIES.argmax(1)}
    report.write(dataclasses.replace(result, epochs=epochs), details, tmp_path)
    assert "A solver fitted the model in 2 s: there are no epochs." in (tmp_path / "report.md").read_text()
    assert not (tmp_path / "curves.png").exists()


def test_the_report_has_scores_mistakes_and_data(result, tmp_path):
    details = {"valid": Labelled(TEXTS, LABELS), "probabilities": PROBABILITIES, "predicted": PROBABILITIES.argmax(1)}
    report.write(result, details, tmp_path, sections=["## Own section"], data_lines=["- Own line."])
    text = (tmp_path / "report.md").read_text()
    for part in (
        "# Sentiment: bag on a.csv",
        "**2 of 4** validation texts correctly",
        "would be correct for 2. **4 validation texts are too few to judge a model**",
        "anything from 15.0 % to 85.0 %",
        "| accuracy | 2 of 4 (15.0 to 85.0 %) |",
        "The average precision of *positive* is 0.583",
        "A text has its more probable label, as with a threshold of 0.5.",
        "| negative | 2 | 0.500 | 0.500 | 0.500 |",
        "| F1 of positive | 0.500 (",
        "| negative | 1 | 1 |",
        "## Own section",
        "`--class-weights` gives",
        "- Left out, empty text: 1.",
        "- Own line.",
        "after 1,000 bytes",
        'python main.py predict sentiment "fine"',
        "evaluate sentiment",
    ):
        assert part in text
    assert {path.name for path in tmp_path.glob("*.png")} == {
        "curves.png",
        "calibration.png",
        "confusion.png",
        "lengths.png",
        "precision_recall.png",
    }


def test_a_network_and_n_grams_are_shown_with_what_each_gives(result, tmp_path):
    assert report.member_lines(result) == []
    names = "network", "n-grams"
    members = [{"name": name, "share": share, "accuracy": 0.75, "loss": 0.5} for name, share in zip(names, (0.6, 0.4))]
    scores = {"validation": {**result.scores["validation"], "members": members}}
    details = {"valid": Labelled(TEXTS, LABELS), "probabilities": PROBABILITIES, "predicted": PROBABILITIES.argmax(1)}
    report.write(dataclasses.replace(result, scores=scores), details, tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert "## Network and n-grams" in text
    assert "| network | 60.0 % | 75.0 % | 0.500 |\n| n-grams | 40.0 % | 75.0 % | 0.500 |" in text


@pytest.mark.long
def test_of_prepared_data_the_report_names_what_is_missing(result, tmp_path):
    details = {"valid": Labelled(TEXTS, LABELS), "probabilities": PROBABILITIES, "predicted": PROBABILITIES.argmax(1)}
    missing = "no baselines and no count of repeated texts, which need all training texts in memory"
    for is_prepared in (True, False):
        made = dataclasses.replace(result, prepared=is_prepared)
        report.write(made, details, tmp_path)
        assert (f"\n- Prepared data: {missing}.\n" in (tmp_path / "report.md").read_text()) == is_prepared
        assert (f"  note        prepared data: {missing}" in report.summarize(made).splitlines()) == is_prepared


def test_the_worst_mistake_is_first():
    mistakes = report.worst_mistakes(TEXTS, LABELS, PROBABILITIES, ["negative", "positive"], PROBABILITIES.argmax(1))
    assert [(m["label"], m["predicted"], m["score"]) for m in mistakes] == [
        ("negative", "positive", 0.98),
        ("positive", "negative", 0.6),
    ]


def test_a_mistake_has_the_probability_of_the_label_that_the_threshold_gave():
    predicted = np.array([0, 0, 0, 0])  # a threshold above all probabilities
    mistakes = report.worst_mistakes(TEXTS, LABELS, PROBABILITIES, ["negative", "positive"], predicted)
    assert [(m["predicted"], m["score"]) for m in mistakes] == [("negative", 0.6), ("negative", 0.1)]


def test_one_of_one_is_not_said_to_be_everything():
    scores = {"rows": 1, "accuracy": 1.0, "accuracy_interval": metrics.wilson_interval(1, 1)}
    assert report.accuracy(scores) == "1 of 1 (20.7 to 100.0 %)"
    assert "1 validation text is too few" in report.few_rows_sentence(scores)
    scores = {"rows": 100, "accuracy": 0.9, "accuracy_interval": metrics.wilson_interval(90, 100)}
    assert report.accuracy(scores).startswith("90.0 % (") and report.few_rows_sentence(scores) == ""


def test_a_class_without_texts_is_named():
    scores = {"by_class": [{"class": "a", "rows": 3}, {"class": "b", "rows": 0}]}
    assert report.absent_lines(scores)[1].startswith("No text has the label b: it is left out of the means")
    assert report.absent_lines({"by_class": scores["by_class"][:1]}) == []


def test_the_summary_names_scores_report_and_model(result):
    lines = report.summarize(result).splitlines()
    assert lines[0] == "sentiment, bag, a.csv"
    assert "4 texts   accuracy 2 of 4 (15.0 to 85.0 %)" in lines[1]
    assert any(line.strip().startswith("try it") and "predict sentiment" in line for line in lines)


def test_labels_with_bars_and_line_breaks_leave_all_tables_whole(result, tmp_path):
    names = ["a|b", "c\nd"]
    scores = metrics.compute_scores(LABELS, PROBABILITIES, tuple(names), TEXTS)
    details = {"valid": Labelled(TEXTS, LABELS), "probabilities": PROBABILITIES, "predicted": PROBABILITIES.argmax(1)}
    about = result.about | {"classes": names, "class_rows": dict.fromkeys(names, 2)}
    report.write(dataclasses.replace(result, about=about, scores={"validation": scores}), details, tmp_path)
    tables = (tmp_path / "report.md").read_text().split("\n\n")
    tables = [table.strip().splitlines() for table in tables if table.strip().startswith("|")]
    assert any("a\\|b" in line for table in tables for line in table)
    for table in tables:
        assert len({line.replace("\\|", "").count("|") for line in table}) == 1, table


def test_of_several_classes_the_summary_has_the_macro_f1(result):
    several = dataclasses.replace(result, about=result.about | {"classes": ["negative", "neutral", "positive"]})
    assert "macro-F1 0." in report.summarize(several) and "macro-F1" not in report.summarize(result)


HOSTILE = ("<script>x</script>", "![x](http://evil/x.png)", "x" * 10_000, "\N{RIGHT-TO-LEFT OVERRIDE}abc", "$\\frac$")


def many_classes(result, number=1000):
    """A result with many classes, some of whose names are unusual, and its details."""
    names = [*HOSTILE, *(f"class {i}" for i in range(number - len(HOSTILE)))]
    rng = np.random.default_rng(0)
    labels = np.concatenate([np.arange(number), rng.integers(0, number, 500)])
    probabilities = rng.random((len(labels), number))
    probabilities[np.arange(len(labels)), labels] += rng.random(len(labels)) * 2
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    texts = np.array([f"{HOSTILE[i % 5]} text {i}" for i in range(len(labels))], dtype=object)
    scores = metrics.compute_scores(labels, probabilities, tuple(names), texts)
    about = result.about | {"classes": names, "class_rows": {name: i % 30 + 1 for i, name in enumerate(names)}}
    details = {"valid": Labelled(texts, labels), "probabilities": probabilities, "predicted": probabilities.argmax(1)}
    return dataclasses.replace(result, about=about, scores={"validation": scores}), details


@pytest.mark.long
def test_a_report_of_many_classes_is_short_and_has_their_names_as_text(result, tmp_path):
    made, details = many_classes(result)
    report.write(made, details, tmp_path)
    page = (tmp_path / "report.html").read_text()
    root = ET.fromstring(page.removeprefix("<!doctype html>"))
    assert "the 20 of 1,000 labels that are confused most often" in page
    assert max(len(list(row)) for row in root.iter("tr")) < 10  # no matrix
    assert all(len(list(table.iter("tr"))) <= 101 for table in root.iter("table"))
    assert len(page) < 1_000_000 and "x" * 300 not in page  # an excerpt has 240 characters
    assert not list(root.iter("script")) and not list(root.iter("img"))
    items = ["".join(each.itertext()) for each in root.iter("li")]
    assert any(item.startswith("Add texts of labels with few training texts: <script>x</script> (1)") for item in items)
    assert any("![x](http://evil/x.png) text" in item for item in items)
    first = (tmp_path / "report.html").read_bytes()
    report.write(made, details, tmp_path)
    assert (tmp_path / "report.html").read_bytes() == first


@pytest.mark.parametrize(("number", "has_matrix"), [(14, True), (15, False)])
def test_a_table_of_few_classes_has_all_counts(result, tmp_path, number, has_matrix):
    report.write(*many_classes(result, number), tmp_path)
    assert ("| true label | predicted \\<script" in (tmp_path / "report.md").read_text()) == has_matrix


def test_the_summary_says_what_to_do(result):
    made = dataclasses.replace(result, findings={"duplicates": {"repeated": 3, "contradicting": 2}})
    steps = report.next_steps(made, {"negative": {"negative": 1, "positive": 3}, "positive": {"positive": 2}})
    assert steps[0] == "Correct the labels of 2 texts with different labels: see “Data”."
    assert steps[1] == "Add texts of labels with few training texts: *positive* (4)."
    assert steps[2].startswith("Look at *negative*: 3 texts of it got the label *positive*, the most frequent mistake.")
    assert report.next_steps(dataclasses.replace(result, about=result.about | {"class_rows": {"a": 10}}), {}) == []
