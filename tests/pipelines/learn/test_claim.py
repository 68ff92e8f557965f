"""`learn claim`: the list, a claim whose trainings are replaced, and one that is trained."""

import contextlib
import json

import pytest

from pipelines.learn.claims import CLAIMS
from pipelines.tune import workers
from tests.command_line import assert_one_line
from tests.pipelines.tune.searches import Pool


@pytest.fixture
def pool(monkeypatch):
    """Takes the place of the processes that train: the scores depend on dropout and learning rate alone."""
    made = Pool()
    monkeypatch.setattr(workers, "connected", lambda address, parallel: contextlib.nullcontext(made))
    return made


def test_the_list_has_all_claims(tmp_path, run_main):
    lines = run_main(tmp_path, "learn", "claim").stdout.splitlines()
    for number, claim in CLAIMS.items():
        assert f"{number:>2}  {claim.question}" in lines
    assert max(map(len, lines)) <= 100
    document = json.loads(run_main(tmp_path, "learn", "claim", "--json").stdout)
    assert [claim["question"] for claim in document.values()] == [claim.question for claim in CLAIMS.values()]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("0", "claim 0: there are the claims 1 to 17; `learn claim` lists them"),
        ("99", "claim 99: there are the claims 1 to 17"),
        ("9", "claim 9 compares no settings; its commands are: train char-lm --num-layers 3"),
        ("7 --seeds 0", "--seeds 0: it must be at least 1"),
        ("15 --minutes 0", "--minutes 0.0: it must be above 0"),
        ("7 --minutes 1", "claim 7 is on the seconds per epoch, which are compared with equal updates"),
        ("7 --data nowhere.txt", "no such file or folder: nowhere.txt"),
        ("7 --sedes 3", "no flag --sedes; did you mean --seeds?"),
        ("seven", "seven"),
    ],
)
def test_a_mistake_is_one_line_and_trains_nothing(arguments, message, tmp_path, run_main):
    assert_one_line(run_main(tmp_path, "learn", "claim", *arguments.split(), "--runs", "runs"), message)
    assert not (tmp_path / "runs" / "tune").exists()


def test_equal_scores_are_no_better_and_as_good(tmp_path, run_main, pool):
    better = run_main(tmp_path, "learn", "claim", "14", "--runs", "runs").stdout.splitlines()
    as_good = run_main(tmp_path, "learn", "claim", "15", "--runs", "runs").stdout.splitlines()
    assert (
        better[-3] == "verdict: does not hold: loss, num_heads 4 minus num_heads 1: +0, interval +0 to +0 of 3 seeds "
        "(claimed: below 0)"
    )
    assert as_good[-3].startswith("verdict: holds: loss, model gru minus model lstm: +0, interval +0 to +0")
    assert "Student's t" in better[-2] and better[-1].startswith("report ")
    assert any("these scores say nothing about real text" in line for line in better)
    (command,) = [line for line in as_good if "$" in line]
    assert " tune char-lm --preset quick " in command
    assert len(pool.started) == 9 + 6


def test_trainings_that_exist_are_not_repeated_and_seeds_are_added(tmp_path, run_main, pool):
    one = run_main(tmp_path, "learn", "claim", "15", "--runs", "runs", "--seeds", "1").stdout
    assert "verdict: cannot be told" in one and "no interval of one seed" in one
    assert len(pool.started) == 2
    document = json.loads(run_main(tmp_path, "learn", "claim", "15", "--runs", "runs", "--json").stdout)
    assert len(pool.started) == 6
    assert document["verdict"] == "holds" and document["sample"]
    assert [point["settings"] for point in document["points"]] == [{"model": "lstm"}, {"model": "gru"}]
    assert document["points"][0]["measured"]["parameters"] == {"mean": 1000, "deviation": 0}
    assert document["predictions"][0]["differences"] == [0, 0, 0]
    run_main(tmp_path, "learn", "claim", "15", "--runs", "runs")
    assert len(pool.started) == 6


def test_equal_time_is_another_comparison(tmp_path, run_main, pool):
    printed = run_main(tmp_path, "learn", "claim", "15", "--runs", "runs", "--minutes", "0.5").stdout
    assert "equal time, 0.5 minutes each" in printed and "$" not in printed and "per epoch" not in printed
    run_main(tmp_path, "learn", "claim", "15", "--runs", "runs")
    assert len(pool.started) == 12


@pytest.mark.long
def test_a_claim_is_trained_and_counts_the_parameters_of_the_layer(tmp_path, run_main):
    (tmp_path / "text.txt").write_text("the cat sat on the mat and the dog sat on the rug\n" * 100)
    arguments = ["claim", "7", "--data", "text.txt", "--seeds", "2", "--runs", "runs", "--json"]
    document = json.loads(run_main(tmp_path, "learn", *arguments).stdout)
    lstm, gru = (point["measured"]["parameters of recurrent_1"]["mean"] for point in document["points"])
    assert lstm == 4 * 128 * (64 + 128 + 1) and gru == 3 * 128 * (64 + 128 + 2)
    assert document["predictions"][0]["verdict"] == "holds"
    assert not document["sample"]
