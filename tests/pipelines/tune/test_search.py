"""The search: the preset first, budgets, a search that was killed, pruned and refused trials. Nothing is trained."""

import dataclasses

import optuna
import pytest

from pipelines.settings import Range
from pipelines.support.errors import UserError
from pipelines.tune import search as searching
from pipelines.tune import study as studies
from pipelines.tune.search import Search, best
from pipelines.tune.study import FAILED, FINISHED, PRUNED, UNFINISHED, Outcome
from tests.pipelines.tune.searches import Pool, config_of, make_study, outcome_of_settings, space


def settings_and_values(search):
    return [(each.number, each.settings, each.outcome.value) for each in search.tried()]


def test_the_preset_is_the_first_trial_and_the_search_finds_better_ones(tmp_path):
    study = make_study(tmp_path)
    search, pool = Search(study, space(), 25, None), Pool()
    search.run(pool)
    tried = search.tried()
    assert [each.number for each in tried] == list(range(25))
    preset = config_of().resolve()
    assert tried[0].settings == {"learning_rate": preset.learning_rate, "dropout": preset.dropout}
    assert best(tried).outcome.value < tried[0].outcome.value / 3
    assert [spec.prune for spec in pool.started[:2]] == [False, True]  # the preset is never pruned


def test_the_settings_of_a_trial_are_those_that_it_trains_with(tmp_path):
    study = make_study(tmp_path)
    search = Search(study, space(), 5, None)
    search.run(Pool())
    for each in search.tried():
        task, config = studies.config_of(study.trial(each.number))
        assert task == "sentiment" and {field: getattr(config, field) for field in each.settings} == each.settings
        assert config.no_baseline and config.polarity


@pytest.mark.parametrize("die_after", [1, 2, 5, 9])
def test_a_search_that_was_interrupted_ends_with_the_same_trials(die_after, tmp_path):
    whole = Search(make_study(tmp_path, name="whole"), space(), 10, None)
    whole.run(Pool())
    study, pool = make_study(tmp_path, name="interrupted"), Pool(die_after=die_after)
    with pytest.raises(KeyboardInterrupt):
        Search(study, space(), 10, None).run(pool)
    assert pool.stopped == [pool.started[-1].number]  # it was told to end
    continued, rest = Search(study, space(), 10, None), Pool()
    continued.run(rest)
    assert settings_and_values(continued) == settings_and_values(whole)
    assert [spec.number for spec in rest.started] == list(range(die_after - 1, 10))


def test_a_half_written_line_of_the_journal_is_removed(tmp_path):
    study = make_study(tmp_path)
    Search(study, space(), 3, None).run(Pool())
    complete = study.journal.read_bytes()
    study.journal.write_bytes(complete + b'{"op_code":5,"wor')
    search = Search(study, space(), 5, None)
    search.run(Pool())
    assert len(search.tried()) == 5 and study.journal.read_bytes().startswith(complete)


def test_the_number_of_trials_can_be_raised(tmp_path):
    study = make_study(tmp_path)
    Search(study, space(), 3, None).run(Pool())
    pool = Pool()
    search = Search(study, space(), 5, None)
    search.run(pool)
    assert [spec.number for spec in pool.started] == [3, 4] and len(search.tried()) == 5


def test_only_the_best_trial_keeps_its_weights(tmp_path):
    study = make_study(tmp_path)
    search = Search(study, space(), 8, None)
    search.run(Pool())
    kept = [each.number for each in search.tried() if (study.trial(each.number) / "checkpoints").exists()]
    assert kept == [best(search.tried()).number]


def test_no_trial_starts_when_the_time_is_over_and_more_time_goes_on(tmp_path):
    study, clock = make_study(tmp_path), studies.Clock
    search, pool = Search(study, space(), 8, 1e-9), Pool()
    search.run(pool)
    assert not pool.started and search.tried() == []
    assert clock(study.folder, 60).stop_at is not None
    search = Search(study, space(), 3, 1000)
    search.run(pool)
    assert [spec.number for spec in pool.started] == [0, 1, 2]
    assert all(spec.stop_at is not None for spec in pool.started)


def test_a_trial_that_ran_out_of_time_goes_on_with_more_time(tmp_path):
    study = make_study(tmp_path)
    Search(study, space(), 2, None).run(Pool(lambda config: Outcome(UNFINISHED)))
    search, pool = Search(study, space(), 2, None), Pool()
    assert [each.outcome.state for each in search.tried()] == [UNFINISHED, UNFINISHED]
    search.run(pool)
    assert [spec.number for spec in pool.started] == [0, 1]
    assert [each.outcome.state for each in search.tried()] == [FINISHED, FINISHED]


def test_pruned_and_failed_trials_are_kept_and_are_not_the_best(tmp_path):
    def outcome(config):
        if config.dropout > 0.4:
            return Outcome(FAILED, reason="the loss is not a number")
        found = outcome_of_settings(config)
        is_pruned = config.learning_rate > 0.03
        value = None if config.learning_rate > 0.06 else -1.0  # None: it was never a number
        return dataclasses.replace(found, state=PRUNED, value=value, scores={}) if is_pruned else found

    search = Search(make_study(tmp_path), space(), 20, None)
    search.run(Pool(outcome))
    tried = search.tried()
    states = {each.outcome.state for each in tried}
    assert states == {FINISHED, PRUNED, FAILED} and len(tried) == 20
    assert best(tried).outcome.state == FINISHED
    assert {each.outcome.value for each in tried if each.outcome.state == PRUNED} == {None, -1.0}
    assert all(each.outcome.reason == "the loss is not a number" for each in tried if each.outcome.state == FAILED)
    of_optuna = search.optuna_study().trials
    states = {FINISHED: "COMPLETE", PRUNED: "PRUNED", FAILED: "PRUNED"}  # TPE learns from pruned trials alone
    assert [trial.state.name for trial in of_optuna] == [states[each.outcome.state] for each in tried]


def test_a_preset_that_cannot_be_trained_ends_the_search(tmp_path):
    search = Search(make_study(tmp_path), space(), 20, None)
    with pytest.raises(UserError, match="the preset cannot be trained: no memory"):
        search.run(Pool(lambda config: Outcome(FAILED, reason="no memory")))
    assert len(search.tried()) == 1


def test_a_preset_whose_process_dies_is_tried_again(tmp_path):
    class Dying(Pool):
        def wait(self, handles):
            yield handles[0], Outcome(FAILED, reason="its process ended with signal 9")  # without a trial.json

    study = make_study(tmp_path)
    with pytest.raises(UserError, match="the preset cannot be trained: its process ended with signal 9"):
        Search(study, space(), 3, None).run(Dying())
    pool, search = Pool(), Search(study, space(), 3, None)
    search.run(pool)
    assert [spec.number for spec in pool.started] == [0, 1, 2]
    assert [each.outcome.state for each in search.tried()] == [FINISHED] * 3


def test_settings_that_the_config_refuses_are_a_failed_trial(tmp_path):
    config = config_of()
    ranges = {"dropout": (0.3, 1.5)}  # the config allows at most 1
    search, pool = Search(make_study(tmp_path, config), ranges, 12, None), Pool()
    search.run(pool)
    failed = [each for each in search.tried() if each.outcome.state == FAILED]
    assert failed and all(each.settings == {"dropout": 1.5} for each in failed)
    assert all(each.outcome.reason.startswith("refused: --dropout 1.5") for each in failed)
    assert not {each.number for each in failed} & {spec.number for spec in pool.started}


def test_settings_that_were_trained_are_not_trained_again(tmp_path):
    search, pool = Search(make_study(tmp_path), {"dropout": (0.3, 0.5)}, 12, None), Pool()
    search.run(pool)
    assert len(search.tried()) == 12 and len(pool.started) == 2
    again = [each for each in search.tried() if each.outcome.reason]
    assert len(again) == 10 and {each.outcome.reason for each in again} <= {
        "the settings of trial 0",
        f"the settings of trial {pool.started[1].number}",
    }


def test_a_field_that_depends_on_the_data_has_its_default_in_the_first_trial(tmp_path):
    config = config_of("transfer", model=None, encoder="an encoder")
    study = make_study(tmp_path, config, task="transfer")
    ranges = space(config, ("learning_rate", "dropout"))
    search = Search(study, ranges, 2, None)
    search.run(
        Pool(lambda config: dataclasses.replace(outcome_of_settings(config_of(dropout=0.0).resolve()), value=1.0))
    )
    first, second = search.tried()
    assert first.settings == {"dropout": 0.2} and set(second.settings) == {"learning_rate", "dropout"}
    assert studies.config_of(study.trial(0))[1].learning_rate is None


def test_a_trial_that_is_worse_than_most_is_pruned_from_the_second_epoch_on(tmp_path):
    study = make_study(tmp_path)
    of_optuna = searching.load_study(study.journal)
    for _ in range(4):
        good = of_optuna.ask()
        for epoch in (1, 2, 3):
            good.report(0.1, epoch)
        of_optuna.tell(good, 0.1)
    trial = of_optuna.ask()
    trial.report(0.9, 1)
    assert not trial.should_prune()
    trial.report(0.9, 2)
    assert trial.should_prune()


def test_the_lock_of_the_journal_is_free_after_a_kill(tmp_path):
    study = make_study(tmp_path)
    lock = searching._Lock(study.journal.with_suffix(".lock"))
    assert lock.acquire()
    lock.release()
    study.journal.with_suffix(".lock").touch()  # the file that a killed process leaves holds nothing
    assert searching.load_study(study.journal).trials == []


def test_the_description_of_a_search_depends_on_its_ranges():
    one = searching.description({"a": Range(1, 3), "b": ("x", 2)})
    assert one == {"kind": "search", "ranges": {"a": [1, 3, None, False], "b": ["x", 2]}}
    assert one != searching.description({"a": Range(1, 4), "b": ("x", 2)})


def test_optuna_stays_silent(tmp_path, capfd):
    Search(make_study(tmp_path), space(), 3, None).run(Pool())
    assert optuna.logging.get_verbosity() == optuna.logging.ERROR
    assert "[I " not in capfd.readouterr().err


def test_a_machine_that_can_run_no_trial_ends_the_search_and_the_same_trial_is_run_again(tmp_path):
    class Unusable(Pool):
        def wait(self, handles):
            if len(self.started) == 3:
                raise UserError("--ray: the machine 10.0.0.7 of the cluster has keras is missing")
            yield from super().wait(handles)

    study = make_study(tmp_path)
    with pytest.raises(UserError, match="keras is missing"):
        Search(study, space(), 5, None).run(Unusable())
    continued, pool = Search(study, space(), 5, None), Pool()
    continued.run(pool)
    assert [spec.number for spec in pool.started] == [2, 3, 4]
    assert {each.outcome.state for each in continued.tried()} == {FINISHED}
