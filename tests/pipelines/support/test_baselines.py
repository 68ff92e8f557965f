import pytest

from pipelines.support import baselines


@pytest.mark.parametrize("measure", ["difference", "span_f1_difference", "accuracy_difference"])
def test_a_baseline_is_better_where_the_whole_interval_is_below_zero(measure):
    def baseline(name, low, high):
        return {"name": name, measure: (low + high) / 2, f"{measure}_interval": (low, high)}

    scores = {"baselines": [baseline("a", -0.05, -0.01), baseline("b", -0.05, 0.01), baseline("c", 0.01, 0.02)]}
    assert baselines.better(scores) == ["a"]
    (line,) = baselines.warning_lines(scores)
    assert "below its baseline, beyond chance: a." in line
    assert "**On test, this model is below its baseline" in baselines.report_lines({"test": scores})[1]


def test_spans_decide_before_tokens():
    tokens = {"accuracy_difference_interval": (-0.02, -0.01)}
    assert baselines.better({"baselines": [{"name": "a", "span_f1_difference_interval": (0.01, 0.02), **tokens}]}) == []


def test_without_baselines_there_is_no_warning():
    for scores in ({}, {"baselines": []}, {"baselines": [{"features": "a", "left_out": "too many"}]}):
        assert baselines.better(scores) == [] and baselines.warning_lines(scores) == []
        assert baselines.report_lines({"validation": scores}) == []


def test_each_baseline_has_a_line_and_a_better_one_a_warning():
    scores = {
        "baselines": [
            {"name": "a", "left_out": "too many rows"},
            {"name": "b", "score": 3, "difference_interval": (-2.0, -1.0)},
        ]
    }
    lines = baselines.summary_lines(scores, lambda each: f"score {each['score']}")
    assert lines[:2] == ["  baseline    a: left out, too many rows", "  baseline    b: score 3"]
    assert "below its baseline, beyond chance: b." in lines[2] and len(lines) == 3
    assert baselines.summary_lines({}, str) == []
