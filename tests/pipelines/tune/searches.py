"""Trials that need no training: a pool whose trials end at once with a value that depends on their settings."""

import dataclasses

from pipelines.task import TASKS
from pipelines.tune import study as studies
from pipelines.tune import values
from pipelines.tune.study import FINISHED, Outcome

FIELDS = ("learning_rate", "dropout")


def config_of(task="sentiment", **changes):
    entry = TASKS[task]
    return dataclasses.replace(entry.command().Train().config, **{"model": "bag", **entry.defaults, **changes})


def make_study(tmp_path, config=None, tried=None, name="a", task="sentiment"):
    config = config or config_of()
    study = studies.find(task, config, tried or {}, tmp_path / "runs", name)
    study.folder.mkdir(parents=True, exist_ok=True)
    return study


def space(config=None, fields=FIELDS):
    return values.searched(config or config_of(), fields)


def outcome_of_settings(config) -> Outcome:
    """The best settings are a learning rate of 0.01 and no dropout."""
    value = abs(config.learning_rate - 0.01) * 10 + config.dropout
    return Outcome(
        FINISHED,
        value=value,
        epochs=[{"epoch": 1, "val_loss": value}],
        epoch_seconds=[1.5],
        best_epoch=1,
        training_seconds=2.5,
        scores={"validation": {"rows": 10, "accuracy": 1 - value / 2, "loss": value}},
        parameters=1000,
    )


class Pool:
    """As `workers.Processes`, one trial at a time.

    Args:
        outcome: config -> what the trial ends with.
        die_after: number of trials after which KeyboardInterrupt is raised.
    """

    parallel = 1

    def __init__(self, outcome=outcome_of_settings, die_after=None):
        self._outcome, self._die_after, self.started, self.stopped = outcome, die_after, [], []

    def start(self, spec):
        self.started.append(spec)
        (spec.folder / "checkpoints").mkdir(exist_ok=True)
        return spec.number

    def wait(self, handles):
        spec = self.started[-1]
        if len(self.started) == self._die_after:
            raise KeyboardInterrupt
        outcome = self._outcome(studies.config_of(spec.folder)[1])
        if outcome.state != studies.UNFINISHED:
            studies.write_outcome(spec.folder, outcome)
        yield handles[0], outcome

    def stop(self, handles):
        self.stopped += handles
