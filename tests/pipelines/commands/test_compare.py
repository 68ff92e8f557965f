import csv
import json

import pytest

from tests.command_line import assert_one_line, lines_of
from tests.pipelines.labelled.conftest import write_export, write_topics
from tests.pipelines.small_runs import TEXTS, write_predictions, write_run

RUNS = ["--runs", "runs"]


@pytest.fixture
def runs(tmp_path):
    for name, num_wrong in (("a", 20), ("b", 6), ("c", 5)):
        config = {"data": "spam.csv", "model": name, "seed": 1}
        folder = write_run(tmp_path / "runs", name, config=config, classes=["ham", "spam"])
        write_predictions(folder, num_wrong)
    return tmp_path


def test_classifiers_are_compared_text_by_text_with_the_first_one(runs, run_main):
    process = run_main(runs, "compare", "a", "b", "classification/c", *RUNS)
    assert process.returncode == 0, process.stderr
    b, c = [line for line in lines_of(process.stdout) if " against A" in line and " accuracy " in line]
    assert b.startswith("B against A, on 40 texts: +35.0 points of accuracy") and b.endswith("B is better.")
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
        ({"task": "char-lm"}, None, "they are of different tasks"),
        ({"task": "tagging"}, None, "they are of different tasks"),
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
        ("compare", "give two models or more"),
        ("compare a", "give two models or more"),
        ("compare a classification/a", "the same run is named twice"),
        ("compare a zzz", "no run 'zzz' in runs, and no such export in"),
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


@pytest.mark.parametrize(("names", "code"), [(("a", "b"), 0), (("b", "a"), 1), (("b", "c"), 0), (("b", "c", "a"), 1)])
def test_a_worse_run_gives_status_1_if_that_is_asked_for(runs, run_main, names, code):
    process = run_main(runs, "compare", *names, *RUNS, "--fail-if-worse")
    assert process.returncode == code
    assert ("classification/a is worse than classification/b" in process.stderr) == bool(code)
    assert run_main(runs, "compare", *names, *RUNS).returncode == 0


def test_status_1_needs_an_answer(runs, run_main):
    write_run(runs / "runs", "x", classes=["ham", "spam"])
    assert_one_line(
        run_main(runs, "compare", "a", "x", *RUNS, "--fail-if-worse"), "--fail-if-worse: ", "kept predictions"
    )
    for name in ("few", "fewer"):
        write_predictions(write_run(runs / "runs", name, classes=["ham", "spam"]), 3, TEXTS[:9])
    assert_one_line(run_main(runs, "compare", "few", "fewer", *RUNS, "--fail-if-worse"), "9 texts are too few")


def test_runs_of_taggers_and_translators_are_compared_by_what_they_kept(tmp_path, run_main):
    """With the files that their reports write; see test_report.py of both."""
    from pipelines.support import predictions

    tags = {"one": "B-PER\tO", "two": "O\tO"}
    for name, given in tags.items():
        folder = write_run(tmp_path / "runs", name, task="tagging", classes=["O", "B-PER"])
        predictions.write(folder, TEXTS, [tags["one"]] * 40, [given] * 40)
        folder = write_run(tmp_path / "runs", name, task="nmt")
        predictions.write(folder, TEXTS, TEXTS, [text if name == "one" else "no" for text in TEXTS])
    process = run_main(tmp_path, "compare", "tagging/one", "tagging/two", *RUNS)
    assert "B against A, on 40 sentences: -100.0 points of F1 of spans" in process.stdout, (
        process.stdout + process.stderr
    )
    process = run_main(tmp_path, "compare", "nmt/two", "nmt/one", *RUNS)
    assert "on 40 pairs: +" in process.stdout and "chrF" in process.stdout and "B is better." in process.stdout


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """good knows the letter g, and the others say the same of each text."""
    root = tmp_path_factory.mktemp("exports")
    write_export(root / "saved", "good")
    write_export(root / "saved", "other", classes=["positive", "negative"])  # names its classes the other way round
    write_topics(root / "saved")
    rows = [f"{word} {i},{int('g' in word)}" for i in range(15) for word in ("a good film", "a bad film")]
    (root / "test.csv").write_text("\n".join(["text,label", *rows, "gone,0", ""]))
    return root


WHERE = ["--runs", "runs", "--saved-models", "saved"]


@pytest.mark.slow
def test_two_exports_answer_new_data(saved, run_main):
    process = run_main(saved, "compare", "good", "topics", "--data", "test.csv", *WHERE)
    assert_one_line(process, "none of its labels is one of topics/1's")
    process = run_main(saved, "compare", "good/1", "saved/other", "--data", "test.csv", *WHERE, "--json")
    document = json.loads(process.stdout)
    assert process.returncode == 0 and document["rows"] == 31 and document["changed"] == 0
    assert document["measures"]["accuracy"]["first"] == pytest.approx(30 / 31)
    assert document["measures"]["accuracy"]["verdict"] == "may be equally good"


@pytest.mark.slow
def test_the_answers_that_changed_are_written(saved, run_main, monkeypatch, tmp_path):
    """The second model is asked with labels exchanged."""
    from pipelines.commands import compared

    ask = compared.ask

    def exchanged(exported, data, given):
        found = ask(exported, data, given)
        names = {"positive": "negative", "negative": "positive"}
        return found._replace(given=[names[name] for name in found.given]) if exported.name == "other" else found

    monkeypatch.setattr(compared, "ask", exchanged)
    output = tmp_path / "changes.csv"
    process = run_main(
        saved, "compare", "good", "other", "--data", "test.csv", "--output", output, *WHERE, "--fail-if-worse"
    )
    assert process.returncode == 1 and "other/1 is worse than good/1" in process.stderr
    assert "31 of 31 answers differ" in process.stdout
    rows = list(csv.DictReader(output.read_text().splitlines()))
    assert len(rows) == 31 and rows[0]["b"] != rows[0]["right"] == rows[0]["a"]
    assert rows[-1] == {"text": "gone", "a": "positive", "b": "negative", "right": "negative"}
    process = run_main(saved, "compare", "other", "good", "--data", "test.csv", *WHERE, "--fail-if-worse")
    assert process.returncode == 0 and "B is better." in process.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("good zzz --data test.csv", "no run 'zzz' in runs, and no such export in saved"),
        ("good good/1 --data test.csv", "both names are the model good/1"),
        ("good other topics --data test.csv", "--data compares two models, and 3 are named"),
        ("good other --data nowhere.csv", "nowhere.csv"),
        ("good other --data test.csv --column 3", "--column has no effect: `evaluate classification` does not have it"),
        ("good other --data test.csv --output x.json", "--output x.json: the name must end in .csv"),
        ("good other --data test.csv --picture x.png", "--picture has no effect with --data"),
        ("good other", "good/1: the run that made it is not in runs: give --data"),
        ("good other --output x.csv", "--output needs --data"),
        ("good other --encoding cp1252", "--encoding needs --data"),
        ("good nmt --data test.csv", "good/1 (classification) and nmt/1 (nmt) are of different tasks"),
        ("good encoder --data test.csv", "encoder/1: an encoder gives no answers that are right or wrong"),
    ],
)
def test_a_mistake_with_data_is_one_line(saved, run_main, arguments, message):
    for name in ("nmt", "encoder"):
        folder = saved / "saved" / name / "1"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "model_card.json").write_text(json.dumps({"task": name}))
    assert_one_line(run_main(saved, "compare", *arguments.split(), *WHERE), message)


def test_a_run_without_its_export_cannot_answer(runs, run_main):
    (runs / "test.csv").write_text("text,label\na,b\n")
    process = run_main(runs, "compare", "a", "b", "--data", "test.csv", *RUNS, "--saved-models", "saved")
    assert_one_line(process, "classification/a: its export classification/3 is not in saved")
