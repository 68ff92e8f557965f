"""A grid: which trainings it does, in which order, and again after an interruption. Nothing is trained."""

import contextlib
import dataclasses

import pytest

from pipelines.support.errors import UserError
from pipelines.task import TASKS
from pipelines.tune import command, grid, parameters, workers
from pipelines.tune import study as studies
from pipelines.tune.inventory import read_search
from pipelines.tune.study import FAILED, FINISHED, UNFINISHED, Outcome
from tests.pipelines.tune.searches import Pool, config_of, outcome_of_settings


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs a grid with a pool in place of processes; returns (result, text)."""

    def run(pool, values=None, config=None, task="sentiment", run="a", **flags):
        monkeypatch.setattr(workers, "connected", lambda address, parallel: contextlib.nullcontext(pool))
        made = command.command_of(TASKS[task])(
            task=task, config=config or config_of(task), runs=tmp_path / "runs", run=run, **flags
        )
        return grid.run(made, values or {"dropout": (0.1, 0.3), "learning_rate": (0.01, 0.02)})

    return run


def trained(pool):
    configs = [studies.config_of(spec.folder)[1] for spec in pool.started]
    return [(config.seed, config.dropout, config.learning_rate) for config in configs]


def test_all_points_are_trained_with_each_seed_in_turn(run):
    pool = Pool()
    result, text = run(pool, seeds=2)
    points = [(0.1, 0.01), (0.1, 0.02), (0.3, 0.01), (0.3, 0.02)]
    assert trained(pool) == [(seed, *point) for seed in (1, 2) for point in points]
    assert [point["settings"] for point in result["points"]] == [{"dropout": d, "learning_rate": r} for d, r in points]
    assert [point["mean"] for point in result["points"]] == pytest.approx([0.95, 0.9, 0.85, 0.8])
    assert "--dropout 0.3 --learning-rate 0.02" in result["points"][3]["command"]
    assert not any(spec.prune or spec.trial_id is not None for spec in pool.started)
    assert not any((spec.folder / "checkpoints").exists() for spec in pool.started)
    assert "dropout 0.3, learning_rate 0.02" in text


@pytest.mark.parametrize(("num_epochs", "text"), [(1, "after 1 epoch\n"), (2, "after 2 epochs\n")])
def test_each_training_says_after_how_many_epochs(run, capsys, num_epochs, text):
    epochs = [{"epoch": i + 1, "val_loss": 0.5} for i in range(num_epochs)]
    run(Pool(lambda config: dataclasses.replace(outcome_of_settings(config), epochs=epochs)))
    assert text in capsys.readouterr().err


def test_an_interrupted_grid_goes_on_and_more_seeds_are_added(run):
    with pytest.raises(KeyboardInterrupt):
        run(Pool(die_after=3))
    pool = Pool()
    run(pool)
    assert trained(pool) == [(1, 0.3, 0.01), (1, 0.3, 0.02)]
    pool = Pool()
    result, _ = run(pool, seeds=2)
    assert [seed for seed, *_ in trained(pool)] == [2, 2, 2, 2]
    assert all(list(point["seeds"]) == ["1", "2"] for point in result["points"])


def test_a_finished_grid_that_gets_more_seeds_and_is_interrupted_is_unfinished(run, tmp_path):
    run(Pool())
    assert read_search(tmp_path / "runs" / "tune" / "a").state == "finished"
    with pytest.raises(KeyboardInterrupt):
        run(Pool(die_after=2), seeds=2)
    search = read_search(tmp_path / "runs" / "tune" / "a")
    assert (search.state, search.trials) == ("unfinished", 5)
    run(Pool(), seeds=2)
    assert read_search(search.path).state == "finished"


def test_a_finished_grid_reports_again_and_trains_nothing(run):
    first, _ = run(Pool())
    pool = Pool()
    again, _ = run(pool)
    assert again == first and not pool.started


def test_other_values_in_the_same_folder_are_refused(run):
    run(Pool())
    with pytest.raises(UserError, match="was started with other grid: give another --run"):
        run(Pool(), {"dropout": (0.1, 0.5)})


def test_a_training_that_failed_is_reported_and_one_that_crashed_is_tried_again(run):
    def failing(config):
        found = outcome_of_settings(config)
        return Outcome(FAILED, reason="the loss is not a number") if config.dropout == 0.3 else found

    result, _ = run(Pool(failing))
    assert [point["seeds"]["1"]["state"] for point in result["points"]] == [FINISHED, FINISHED, FAILED, FAILED]
    assert result["points"][2]["seeds"]["1"]["reason"] == "the loss is not a number"

    class Crashing(Pool):
        def wait(self, handles):
            self.started[-1].folder.joinpath("trial.json").unlink(missing_ok=True)
            yield handles[0], Outcome(FAILED, reason="signal 9")

    with pytest.raises(UserError, match="is finished: signal 9"):
        run(Crashing(), run="other")
    pool = Pool()
    run(pool, run="other")
    assert len(pool.started) == 4


def test_a_grid_without_time_trains_nothing(run):
    pool = Pool()
    with pytest.raises(UserError, match="more --minutes"):
        run(pool, minutes=1e-9)
    assert not pool.started
    result, _ = run(Pool(lambda config: Outcome(UNFINISHED) if config.dropout == 0.3 else outcome_of_settings(config)))
    assert [point["mean"] is None for point in result["points"]] == [False, False, True, True]


def test_hidden_sizes_with_equal_parameters_are_chosen_once(run, monkeypatch):
    asked = []

    def sizes(folder, task, configs):
        asked.append([config.num_layers for config in configs])
        return [{"hidden_size": 64, "parameters": 100}, {"hidden_size": 44, "parameters": 99}]

    monkeypatch.setattr(parameters, "equal_sizes", sizes)
    config = config_of("char-lm", model="lstm")
    for _ in range(2):
        result, _ = run(
            Pool(lambda config: outcome_of_settings(dataclasses.replace(config, dropout=0.1))),
            {"num_layers": (1, 2)}, config, "char-lm", equal_parameters=True,
        )  # fmt: skip
    assert asked == [[1, 2]]
    assert [point["settings"] for point in result["points"]] == [
        {"num_layers": 1, "hidden_size": 64},
        {"num_layers": 2, "hidden_size": 44},
    ]
