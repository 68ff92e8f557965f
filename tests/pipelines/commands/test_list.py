import json

from pipelines.commands.list import table
from pipelines.tune.study import FINISHED, PRUNED, Outcome
from tests.command_line import lines_of
from tests.pipelines.small_runs import write_export, write_run, write_search

WHERE = ["--runs", "runs", "--saved-models", "saved"]


def fill(folder):
    write_run(folder / "runs", "spam-bag-1", started="2026-01-01T00:00:00+00:00")
    write_run(folder / "runs", "half", task="nmt", finished=False, started="2026-01-02T00:00:00+00:00")
    scores = {"validation": {"accuracy": 0.875}}
    write_export(folder / "saved", "spam", 2, scores=scores, data={"name": "spam"}, config={"model": "bag"})
    (write_export(folder / "saved", "foreign", 7) / "model_card.json").unlink()


def test_runs_and_exports_are_listed_with_score_and_state(tmp_path, run_main):
    fill(tmp_path)
    lines = lines_of(run_main(tmp_path, "list", *WHERE).stdout)
    rows = {line.split()[0]: line for line in lines}
    assert "accuracy 0.700" in rows["classification/spam-bag-1"] and "finished" in rows["classification/spam-bag-1"]
    assert "unfinished" in rows["nmt/half"] and " - " in rows["nmt/half"]
    assert "accuracy 0.875" in rows["spam/2"]
    assert "foreign/7" in rows
    assert lines[0] == "runs in runs; the report of each is NAME/report.html there"
    assert lines.index(rows["nmt/half"]) < lines.index(rows["classification/spam-bag-1"])


def test_json_is_one_object(tmp_path, run_main):
    fill(tmp_path)
    (tmp_path / "runs" / "classification" / "spam-bag-1" / "report.html").touch()
    document = json.loads(run_main(tmp_path, "list", *WHERE, "--json").stdout)
    assert [run["state"] for run in document["runs"]] == ["unfinished", "finished"]
    assert [run["report"] for run in document["runs"]] == [None, "runs/classification/spam-bag-1/report.html"]
    assert document["exports"][1] == document["exports"][1] | {"name": "spam/2", "measure": "accuracy", "score": 0.875}
    assert all(entry["bytes"] > 0 for entry in document["runs"])


def test_searches_have_a_table_of_their_own(tmp_path, run_main):
    outcome = Outcome(FINISHED, value=0.4, scores={"validation": {"accuracy": 0.8}})
    write_search(tmp_path / "runs", "sentiment-reviews-1", [outcome, Outcome(PRUNED, value=0.9)])
    write_search(tmp_path / "runs", "mine", kind="grid", finished=False)
    (write_search(tmp_path / "runs", "bad") / "tune.json").write_text("{}")
    process = run_main(tmp_path, "list", *WHERE)
    lines = lines_of(process.stdout)
    assert lines[0] == "searches in runs" and lines_of(process.stderr) == ["no runs in runs", "no exports in saved"]
    assert lines[1].split() == ["name", "task", "kind", "model", "data", "trials", "score", "size", "age", "state"]
    rows = {line.split()[0]: line.split() for line in lines[2:]}
    assert rows["tune/sentiment-reviews-1"][1:8] == ["sentiment", "search", "lstm", "reviews", "2", "accuracy", "0.800"]
    assert rows["tune/mine"][2:7] == ["grid", "lstm", "reviews", "-", "-"] and rows["tune/mine"][-1] == "unfinished"
    assert rows["tune/bad"][-1] == "damaged"
    searches = json.loads(run_main(tmp_path, "list", *WHERE, "--json").stdout)["searches"]
    [search] = [each for each in searches if each["kind"] == "search"]
    assert search == search | {"trials": 2, "measure": "accuracy", "score": 0.8, "state": "finished"}
    assert search["bytes"] > 0


def test_empty_folders_are_named(tmp_path, run_main):
    process = run_main(tmp_path, "list", *WHERE)
    assert process.returncode == 0 and process.stdout == ""
    assert lines_of(process.stderr) == ["no runs in runs", "no exports in saved"]


def test_the_columns_of_a_table_are_aligned():
    assert table([{"a": "1", "bcd": "x"}, {"a": "100", "bcd": ""}]) == ["a    bcd", "1    x", "100"]
