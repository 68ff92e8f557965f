import dataclasses

import numpy as np

from pipelines.labelled import coverage_report
from pipelines.labelled.labelled_splits import Labelled
from tests.pipelines.results import make_result

CLASSES = ["a", "b", "c"]


def details(rows=200):
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet([0.3] * 3, size=rows)
    labels = np.array([rng.choice(3, p=p) for p in probabilities])
    texts = np.array(["text"] * rows, dtype=object)
    return {"valid": Labelled(texts, labels), "probabilities": probabilities, "predicted": probabilities.argmax(1)}


def result_of(**scores):
    result = make_result(classes=CLASSES, config=make_result().config | {"threshold": scores.pop("threshold", None)})
    return dataclasses.replace(result, scores={"validation": result.scores["validation"] | scores})


def test_two_classes_have_no_such_section(tmp_path):
    assert coverage_report.coverage_lines(make_result(classes=["a", "b"]), details(), tmp_path) == []


def test_the_table_has_the_texts_that_get_a_label_and_their_accuracy(tmp_path):
    given = details()
    text = "\n".join(coverage_report.coverage_lines(result_of(), given, tmp_path))
    assert (tmp_path / "coverage.png").is_file() and "Every text has its most probable label" in text
    right = given["predicted"] == given["valid"].labels
    assert (
        f"| 100 % of the texts | {given['probabilities'].max(1).min():.4f} | 200 | {100 * right.mean():.1f} % |" in text
    )
    certain = np.argsort(-given["probabilities"].max(axis=1), kind="stable")[:100]
    assert f"| 100 | {100 * right[certain].mean():.1f} % |" in text
    assert "`precision=0.9`" in text


def test_the_threshold_of_the_export_is_explained(tmp_path):
    chosen = {"labelled": 90, "coverage": 0.45, "accuracy": 0.9, "accuracy_interval": (0.8, 0.95)}
    values = {"threshold": "precision=0.95", "thresholds": {"": 0.8}, "abstention": chosen}
    text = "\n".join(coverage_report.coverage_lines(result_of(**values), details(), tmp_path))
    assert "from a probability of 0.8000 (`--threshold precision=0.95`): to 45.0 %" in text
    assert "No threshold reaches it" in text
