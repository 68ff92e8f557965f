"""The search over ranges of settings: Optuna proposes settings (TPE) and stops trials that are worse than most."""

import dataclasses
import fcntl
import json
import warnings
from pathlib import Path

import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState

from pipelines.settings import Values
from pipelines.support import console
from pipelines.support.errors import UserError
from pipelines.tune import study as studies
from pipelines.tune import values, workers
from pipelines.tune.study import FAILED, FINISHED, PRUNED, UNFINISHED, Outcome, Study
from pipelines.tune.trial import Spec
from pipelines.tune.values import Settings

_NAME = "tune"
_RANDOM_TRIALS = 6  # before TPE learns from the trials
_TRIALS_BEFORE_PRUNING, _EPOCHS_BEFORE_PRUNING = 4, 2


@dataclasses.dataclass(frozen=True)
class Tried:
    """One trial of a search.

    Attributes:
        number: from 0, the preset.
        settings: field -> value.
        outcome: what it ended with.
    """

    number: int
    settings: Settings
    outcome: Outcome


class _Lock:
    """The lock of Optuna's journal. The system releases it when a process is killed; Optuna's own ones stay."""

    def __init__(self, path: Path):
        self._path = path

    def acquire(self) -> bool:
        """Waits for the lock."""
        self._file = open(self._path, "w")  # noqa: SIM115 (it stays open until `release`)
        fcntl.flock(self._file, fcntl.LOCK_EX)
        return True

    def release(self) -> None:
        """Gives the lock back."""
        self._file.close()


def load_study(journal: Path) -> optuna.Study:
    """Returns Optuna's study in a journal file; makes it if there is none."""
    backend = JournalFileBackend(str(journal), lock_obj=_Lock(journal.with_suffix(".lock")))
    pruner = optuna.pruners.MedianPruner(_TRIALS_BEFORE_PRUNING, _EPOCHS_BEFORE_PRUNING)
    return optuna.create_study(
        study_name=_NAME, storage=JournalStorage(backend), direction="minimize", load_if_exists=True, pruner=pruner
    )


def remove_half_line(journal: Path) -> None:
    """Removes what a process that was killed while it wrote has left at the end: Optuna does not read a half line."""
    if journal.exists():
        data = journal.read_bytes()
        with open(journal, "r+b") as file:
            file.truncate(data.rfind(b"\n") + 1)


class Search:
    """A search: proposes trials, and keeps what they ended with. Killed at any moment, the next one continues.

    Args:
        study: its folder is locked.
        space: field -> values.
        num_trials: maximum number of trials, with the preset and those that were refused.
        seconds: maximum time of all processes of the search; None has no limit.
    """

    def __init__(self, study: Study, space: dict[str, Values], num_trials: int, seconds: float | None):
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        remove_half_line(study.journal)
        self._study, self._space, self._num_trials = study, space, num_trials
        self._optuna = load_study(study.journal)
        self._clock = studies.Clock(study.folder, seconds)
        self._waiting = [t.number for t in self._optuna.trials if t.state == TrialState.RUNNING]
        if not self._optuna.trials:
            self._optuna.enqueue_trial(self._preset())

    def run(self, pool) -> None:
        """Runs all trials in the workers of `pool`."""
        try:
            workers.run_all(pool, self._next, self._ended)
        finally:
            self._clock.save()

    def tried(self) -> list[Tried]:
        """Returns all trials that have been started, by their number."""
        return [self._tried(trial) for trial in self._optuna.trials if trial.state != TrialState.WAITING]

    def optuna_study(self) -> optuna.Study:
        """Returns Optuna's study, for its pictures."""
        return self._optuna

    def _next(self) -> Spec | None:
        """Returns the next trial: one that a killed search has left, or a new one."""
        while not self._clock.is_over:
            trials = self._optuna.trials
            if self._waiting:
                number = self._waiting.pop(0)
                self._set_sampler(number)
                trial = optuna.trial.Trial(self._optuna, trials[number]._trial_id)
            elif sum(trial.state != TrialState.WAITING for trial in trials) >= self._num_trials:
                return None
            else:
                self._set_sampler(len(trials) if trials[-1].state != TrialState.WAITING else 0)
                trial = self._optuna.ask()
            settings = self._suggest(trial)
            try:
                config = values.with_settings(self._study.config, settings)
            except UserError as error:
                self._end(trial.number, Outcome(FAILED, reason=f"refused: {error}"))
                continue
            folder = studies.prepare_trial(self._study, trial.number, config)
            earlier = self._same(trial.number, settings)
            if earlier is not None and studies.outcome_of(folder) is None:
                outcome = dataclasses.replace(earlier.outcome, reason=f"the settings of trial {earlier.number}")
                studies.write_outcome(folder, outcome)
                self._end(trial.number, outcome)
                continue
            return Spec(
                str(self._study.folder.absolute()), trial.number, trial._trial_id, trial.number > 0, self._clock.stop_at
            )
        return None

    def _same(self, number: int, settings: Settings) -> Tried | None:
        """Returns the trial that has trained with the same settings, and would end with the same bits; else None."""
        ended = [each for each in self.tried()[:number] if each.outcome.state in (FINISHED, PRUNED)]
        return next((each for each in ended if each.settings == settings), None)

    def _set_sampler(self, number: int) -> None:
        """Makes a trial's settings a function of the seed, its number, and the trials that have ended."""
        with warnings.catch_warnings(category=optuna.exceptions.ExperimentalWarning, action="ignore"):
            self._optuna.sampler = optuna.samplers.TPESampler(
                seed=(self._study.record.config["seed"] * 10_007 + number) % 2**32,
                n_startup_trials=_RANDOM_TRIALS,
                multivariate=True,
            )

    def _preset(self) -> Settings:
        """Returns the preset's values of the fields; without those that depend on the data."""
        found = {field: self._study.record.config[field] for field in self._space}
        return {field: value for field, value in found.items() if value is not None}

    def _suggest(self, trial: optuna.Trial) -> Settings:
        """Returns the settings of a trial. That of the preset leaves out what depends on the data."""
        fields = self._preset() if trial.number == 0 else self._space
        return {field: values.suggest(trial, field, self._space[field]) for field in fields}

    def _ended(self, spec: Spec, outcome: Outcome) -> None:
        if outcome.state != UNFINISHED:
            self._end(spec.number, outcome)
        self._clock.save()

    def _end(self, number: int, outcome: Outcome) -> None:
        """Reports to Optuna and to the user what a trial ended with, and keeps the weights of the best one alone."""
        if number == 0 and outcome.state == FAILED:  # it stays unfinished: the same command tries it again
            raise UserError(f"the preset cannot be trained: {outcome.reason}")
        # TPE learns nothing from a trial of the state FAIL, and would propose such settings again; a pruned one is bad.
        state = TrialState.COMPLETE if outcome.state == FINISHED else TrialState.PRUNED
        if outcome.reason:
            trial_id = self._optuna.trials[number]._trial_id
            self._optuna._storage.set_trial_user_attr(trial_id, "reason", outcome.reason)
        self._optuna.tell(number, outcome.value if outcome.state == FINISHED else None, state)
        tried = self.tried()
        winner = best(tried)
        for each in tried:
            if each.outcome.state in (FINISHED, PRUNED) and each is not winner:
                studies.remove_checkpoints(self._study.trial(each.number))
        self._say(tried[number], winner)

    def _say(self, ended: Tried, winner: Tried | None) -> None:
        outcome = ended.outcome
        if outcome.state == FAILED:
            text = f"failed: {outcome.reason}"
        else:
            value = "not a number" if outcome.value is None else f"{outcome.value:.4f}"
            text = f"{outcome.reason or outcome.state}: {value} after epoch {len(outcome.epochs)}"
        leader = f"; best so far: {winner.outcome.value:.4f} of trial {winner.number}" if winner else ""
        console.say(f"trial {ended.number} ({values.shown(ended.settings)}): {text}{leader}")

    def _tried(self, trial: optuna.trial.FrozenTrial) -> Tried:
        outcome = studies.outcome_of(self._study.trial(trial.number))
        if outcome is None:
            reason = trial.user_attrs.get("reason", "")
            outcome = Outcome(FAILED if reason else UNFINISHED, reason=reason)
        fixed = optuna.trial.FixedTrial(trial.params, trial.number)
        settings = {
            field: values.suggest(fixed, field, of) for field, of in self._space.items() if field in trial.params
        }
        return Tried(trial.number, settings, outcome)


def best(tried: list[Tried]) -> Tried | None:
    """Returns the finished trial with the lowest value; None if none is finished."""
    finished = [each for each in tried if each.outcome.state == FINISHED]
    return min(finished, key=lambda each: (each.outcome.value, each.number), default=None)


def description(space: dict[str, Values]) -> dict:
    """Returns what tune.json has of a search."""
    return {"kind": "search", "ranges": json.loads(json.dumps(space))}
