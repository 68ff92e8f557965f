"""The report of a grid: means, intervals, paired differences, what is not finished, and what cannot be compared."""

import dataclasses

import numpy as np
import pytest
from PIL import Image
from scipy import stats

from pipelines.tune import grid_report
from pipelines.tune.grid import Point
from pipelines.tune.study import FAILED, FINISHED, UNFINISHED, Outcome
from tests.pipelines.tune.searches import config_of, make_study


def outcome(score, measure="accuracy", **changes):
    return dataclasses.replace(
        Outcome(
            FINISHED,
            value=1 - score,
            epochs=[{"epoch": 1}, {"epoch": 2}],
            epoch_seconds=[2.0, 4.0],
            best_epoch=2,
            training_seconds=6.0,
            scores={"validation": {measure: score, "log_loss": 0.5}},
            parameters=1000,
        ),
        **changes,
    )


def points(measure="accuracy"):
    first = {1: outcome(0.80, measure), 2: outcome(0.84, measure), 3: outcome(0.82, measure)}
    second = {1: outcome(0.83, measure), 2: outcome(0.86, measure), 3: outcome(0.85, measure, parameters=990)}
    return [Point({"num_layers": n}, f"train {n}", each) for n, each in ((1, first), (2, second))]


def test_the_interval_is_students():
    numbers = [0.80, 0.84, 0.82, 0.9]
    mean, half = grid_report.mean_and_interval(numbers)
    low, high = stats.t.interval(0.95, len(numbers) - 1, loc=np.mean(numbers), scale=stats.sem(numbers))
    assert mean - half == pytest.approx(low) and mean + half == pytest.approx(high)
    assert grid_report.mean_and_interval([0.5]) == (0.5, None)


def test_differences_are_paired_by_seed():
    first, second = points()
    summary = grid_report.summary(second, first, "accuracy")
    mean, half = grid_report.mean_and_interval([0.03, 0.02, 0.03])
    assert summary["difference"] == pytest.approx(mean) and summary["difference_interval"] == pytest.approx(half)
    unfinished = dataclasses.replace(first, outcomes=first.outcomes | {3: Outcome(UNFINISHED)})
    assert grid_report.summary(second, unfinished, "accuracy")["difference"] == pytest.approx(0.025)
    assert grid_report.summary(first, first, "accuracy")["difference"] is None
    assert second.outcomes[1].epoch_seconds == [2.0, 4.0] and summary["seconds_per_epoch"] == 3.0


def written(tmp_path, found, grid=None, equal=False, config=None):
    study = make_study(tmp_path, config)
    result = grid_report.write(study, grid or {"num_layers": (1, 2)}, found, equal)
    return result, (study.folder / "report.md").read_text(), study.folder


def test_the_report_has_a_row_per_point_and_its_command(tmp_path):
    result, report, folder = written(tmp_path, points())
    assert "| 1 | 0.8200 ± 0.0497 | - | 0.5000 | 1,000 | 2 | 3.0 | 6 s |" in report
    assert "| 2 | 0.8467 ± 0.0379 | +0.0267 ± 0.0143 |" in report
    assert "train 1\ntrain 2" in report and "An interval that contains 0 shows no difference" in report
    assert "the embedded sample" in report
    with Image.open(folder / "grid.png") as picture:
        assert picture.width > 400
    summary = grid_report.summarize(result)
    assert "+0.0267 ± 0.0143" in summary and "report.html" in summary


def test_one_seed_has_no_interval(tmp_path):
    found = [dataclasses.replace(point, outcomes={1: point.outcomes[1]}) for point in points()]
    _, report, _ = written(tmp_path, found)
    assert "±" not in report and "--seeds 3" in report and "| +0.0300 |" in report


def test_unfinished_and_failed_trainings_are_named(tmp_path):
    first, second = points()
    failed = Outcome(FAILED, reason="the loss is not a number")
    second = dataclasses.replace(second, outcomes={1: failed, 2: failed, 3: Outcome(UNFINISHED)})
    result, report, _ = written(tmp_path, [first, second])
    assert "3 trainings are not finished." in report
    assert "num_layers 2, seed 2, failed: the loss is not a number" in report
    assert "| 2 | - | - | - | - | - | - | - |" in report and result["points"][1]["mean"] is None
    assert grid_report.summarize(result)


def test_losses_per_token_of_different_tokens_are_marked(tmp_path):
    sizes = [dataclasses.replace(point, settings={"vocabulary_size": n}) for n, point in enumerate(points("loss"))]
    _, report, _ = written(tmp_path, sizes, {"vocabulary_size": (0, 1)})
    assert "A lower loss is better" in report and "compare bits per character" in report
    _, report, _ = written(tmp_path / "other", points("loss"))
    assert "compare bits per character" not in report


def test_the_deviation_of_equal_parameters_is_reported(tmp_path):
    first, second = points()
    second = dataclasses.replace(second, outcomes={1: outcome(0.5, parameters=1030)})
    _, report, _ = written(tmp_path, [first, second], equal=True)
    assert "differ by at most 3.0 %" in report


def test_data_of_the_user_has_no_warning(tmp_path):
    (tmp_path / "reviews.csv").write_text("text,label\n" + "good,positive\nbad,negative\n" * 50)
    _, report, _ = written(tmp_path, points(), config=config_of(data=str(tmp_path / "reviews.csv")))
    assert "sample" not in report
