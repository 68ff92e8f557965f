import json

import pytest

from pipelines.command_line import ServedModelFlags
from pipelines.labelled.command import Evaluate, Predict
from pipelines.support.errors import UserError
from tests.command_line import assert_one_line


def test_a_model_that_does_not_exist_is_named_with_its_remedy(tmp_path):
    flags = ServedModelFlags(saved_models=tmp_path)
    with pytest.raises(UserError, match="no model 'transfer'.*train transfer"):
        Predict(task="transfer", texts=("a",), model=flags)()
    with pytest.raises(UserError, match="no model 'transfer'.*train transfer"):
        Evaluate(task="transfer", model=flags)()


def predict(run_main, exported, folder, *arguments):
    where = ("--name", exported.name, "--saved-models", exported.path.parents[1])
    return run_main(folder, "predict", "classification", *where, *arguments)


@pytest.fixture
def pool(tmp_path):
    (tmp_path / "pool.csv").write_text("id,text\n1,good\n2,bad\n3,great\n4,dull\n5,bad\n")
    return tmp_path


def test_the_rows_to_label_next_as_a_table(run_main, exported, pool):
    flags = ("--input", "pool.csv", "--sort", "uncertainty", "--limit", "3")
    printed = predict(run_main, exported, pool, *flags)
    assert printed.returncode == 0, printed.stderr
    head, *rows = printed.stdout.splitlines()
    assert head == "id,text,predicted,score,p(negative),p(positive),uncertainty"
    assert [row.split(",")[0] for row in rows] == ["2", "4", "1"]
    assert printed.stderr.splitlines()[-1] == "3 texts (negative 2, positive 1, read 5)"
    assert predict(run_main, exported, pool, *flags, "--output", "next.csv").returncode == 0
    assert (pool / "next.csv").read_text() == printed.stdout
    counts = json.loads(predict(run_main, exported, pool, *flags, "--output", "two.csv", "--json").stdout)
    assert (counts["rows"], counts["read"]) == (3, 5)


def test_the_rows_to_label_next_for_doccano(run_main, exported, pool):
    flags = ("--input", "pool.csv", "--sort", "uncertainty", "--limit", "1", "--for", "doccano")
    printed = predict(run_main, exported, pool, *flags)
    record = json.loads(printed.stdout)
    assert (record["id"], record["text"], record["label"]) == ("2", "bad", ["negative"])
    assert record["uncertainty"] == pytest.approx(0.6)
    assert_one_line(predict(run_main, exported, pool, *flags, "--output", "next.csv"), "must end in .jsonl")
    assert_one_line(predict(run_main, exported, pool, *flags, "--output", pool / "pool.csv"), "exists already")


def test_the_first_rows(run_main, exported, pool):
    printed = predict(run_main, exported, pool, "--input", "pool.csv", "--limit", "2")
    assert [row.split(",")[0] for row in printed.stdout.splitlines()] == ["id", "1", "2"]
