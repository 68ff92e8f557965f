import numpy as np
import pytest

from pipelines.data.table_options import DEFAULTS
from pipelines.labelled import group_scores
from pipelines.labelled.evaluate import evaluate, format_scores
from pipelines.labelled.metrics import wilson_interval
from pipelines.support.errors import UserError


def groups_of(*counts):
    """Groups and correct answers: (name, rows, correct rows)."""
    names = [name for name, rows, _ in counts for _ in range(rows)]
    correct = [i < right for _, rows, right in counts for i in range(rows)]
    return np.array(names, dtype=object), np.array(correct)


def test_each_group_has_its_accuracy_and_interval_and_the_largest_is_first():
    scores = group_scores.compute_scores(*groups_of(("b", 10, 4), ("a", 40, 30), ("", 10, 10)))
    assert [(score["group"], score["rows"], score["accuracy"]) for score in scores] == [
        ("a", 40, 0.75),
        ("", 10, 1.0),
        ("b", 10, 0.4),
    ]
    assert scores[0]["accuracy_interval"] == wilson_interval(30, 40)


def test_small_groups_are_named():
    lines = group_scores.format_scores("source", group_scores.compute_scores(*groups_of(("a", 40, 30), ("", 5, 1))))
    assert "few texts" not in lines[1] and lines[2].startswith("  (empty)") and lines[2].endswith("few texts")
    assert lines[-1] == "  few texts: fewer than 30; their accuracy says little"
    lines = group_scores.format_scores("source", group_scores.compute_scores(*groups_of(("a", 40, 30))))
    assert len(lines) == 2


def test_too_many_groups_are_refused():
    with pytest.raises(UserError, match="the column has 51 different values, at most 50"):
        group_scores.compute_scores(*groups_of(*((str(i), 1, 1) for i in range(51))))


def test_evaluate_scores_the_groups_of_a_column(exported, tmp_path):
    path = tmp_path / "a.csv"
    rows = "good,positive,x\nbad,negative,y\na fog,negative,x\n,negative,x\nodd,unknown,z\n"
    path.write_text(f"text,label,source\n{rows}")
    scores = evaluate(exported, str(path), by="source")
    assert [(group["group"], group["rows"], group["accuracy"]) for group in scores["groups"]] == [
        ("x", 2, 0.5),
        ("y", 1, 1.0),
    ]
    assert "  source" in format_scores(scores)
    assert [group["group"] for group in evaluate(exported, str(path), by="label")["groups"]] == ["negative", "positive"]


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ("sorce", r"has no such column; did you mean source\?; it has text, label, source"),
        ("zzz", "has no such column"),
    ],
)
def test_a_column_that_does_not_exist_is_refused(tmp_path, by, message):
    path = tmp_path / "a.csv"
    path.write_text("text,label,source\ngood,pos,x\n")
    with pytest.raises(UserError, match=message):
        group_scores.check_column(str(path), by, DEFAULTS)


@pytest.mark.parametrize("data", [None, "imdb", "."])
def test_only_tables_have_columns(data):
    with pytest.raises(UserError, match="--by x needs --data with a table"):
        group_scores.check_column(data, "x", DEFAULTS)
