import json

import pytest

from tests.command_line import assert_one_line, lines_of
from tests.pipelines.small_runs import TEXTS, write_predictions, write_run

RUNS = ["--runs", "runs"]


@pytest.fixture
def runs(tmp_path):
    for name, num_wrong in (("a", 20), ("b", 6), ("c", 5)):
        config = {"data": "spam.csv", "model": name, "seed": 1}
        write_predictions(write_run(tmp_path / "runs", name, config=config), num_wrong)
    return tmp_path


def test_classifiers_are_compared_text_by_text_with_the_first_one(runs, run_main):
    process = run_main(runs, "compare", "a", "b", "classification/c", *RUNS)
    assert process.returncode == 0, process.stderr
    b, c = [line for line in lines_of(process.stdout) if " against A" in line]
    assert b.startswith("B against A, on 40 texts: +35.0 points of accuracy") and b.endswith("a difference.")
    assert "only C is right on 15, only A on 0" in c
    assert any(line.split() == ["--model", "a", "b", "c"] for line in lines_of(process.stdout))
    assert not any("--seed" in line for line in lines_of(process.stdout))
    assert (runs / "runs" / "comparison.png").read_bytes().startswith(b"\x89PNG")


def test_a_small_difference_may_be_none(runs, run_main):
    process = run_main(runs, "compare", "b", "c", *RUNS, "--picture", "curves.png")
    assert "they may be equally good" in process.stdout
    assert (runs / "curves.png").exists() and not (runs / "runs" / "comparison.png").exists()


def test_json_is_one_object(runs, run_main):
    document = json.loads(run_main(runs, "compare", "a", "b", *RUNS, "--json").stdout)
    (difference,) = document["differences"]
    assert difference["only_second"] == 14 and difference["only_first"] == 0 and difference["p_value"] < 0.01
    assert [run["name"] for run in document["runs"]] == ["classification/a", "classification/b"]


@pytest.mark.parametrize(
    ("changes", "texts", "reason"),
    [
        ({}, None, "classification/x was trained before runs kept predictions"),
        ({"task": "char-lm"}, None, "char-lm/x is no classifier"),
        ({"task": "tagging"}, None, "tagging/x is no classifier of texts"),
        ({}, [*TEXTS[1:], "other"], "they were validated on different texts"),
        ({}, TEXTS[1:], "they were validated on different texts"),
    ],
)
def test_runs_that_cannot_be_compared_text_by_text_say_why(runs, run_main, changes, texts, reason):
    classes = None if changes.get("task") == "char-lm" else ["ham", "spam"]
    folder = write_run(runs / "runs", "x", classes=classes, **changes)
    if texts:
        write_predictions(folder, 3, texts)
    process = run_main(runs, "compare", "a", "x", *RUNS)
    assert process.returncode == 0, process.stderr
    assert f"B and A cannot be compared text by text: {reason}" in process.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("compare", "give two runs or more"),
        ("compare a", "give two runs or more"),
        ("compare a classification/a", "the same run is named twice"),
        ("compare a zzz", "no run 'zzz' in runs (`main.py list` lists all)"),
        ("compare a half", "classification/half is unfinished: the same `train` command finishes it"),
        ("compare a b --picture x.pdf", "--picture x.pdf: the name must end in .png"),
    ],
)
def test_a_mistake_is_one_line(runs, run_main, arguments, message):
    write_run(runs / "runs", "half", finished=False)
    assert_one_line(run_main(runs, *arguments.split(), *RUNS), message)


def test_a_cross_validation_is_compared_by_its_scores(runs, run_main):
    write_run(runs / "runs", "folds", config={"data": "spam.csv", "folds": 3}, epochs=[], best_epoch=0)
    for other in (["a"], ["folds2"]):
        if other == ["folds2"]:
            write_run(runs / "runs", "folds2", config={"data": "spam.csv", "folds": 3}, epochs=[], best_epoch=0)
        process = run_main(runs, "compare", "folds", *other, *RUNS)
        assert process.returncode == 0, process.stderr
        assert "classification/folds is a cross-validation" in process.stdout
