"""A grid: trains with each combination of given values, each with several seeds, and compares them in one report."""

import dataclasses
from typing import TYPE_CHECKING, Any

from pipelines.settings.fields import flag
from pipelines.support import console
from pipelines.support.errors import UserError
from pipelines.support.files import read_json, shown, write_json
from pipelines.support.numbers import counted
from pipelines.tune import grid_report, parameters, run_search, values, workers
from pipelines.tune import study as studies
from pipelines.tune.study import FAILED, FINISHED, UNFINISHED, Outcome, Study
from pipelines.tune.trial import Spec
from pipelines.tune.values import Settings

if TYPE_CHECKING:
    from pipelines.tune.command import TuneCommand


@dataclasses.dataclass(frozen=True)
class Point:
    """One point of a grid.

    Attributes:
        settings: field -> value.
        command: the command that trains it, with the first seed.
        outcomes: seed -> what its trial ended with.
    """

    settings: Settings
    command: str
    outcomes: dict[int, Outcome]


def run(command: "TuneCommand", grid: dict[str, tuple]) -> tuple[dict, str]:
    """Trains all points with all seeds, and writes report.md and result.json in the folder of the grid.

    All points are trained with the first seed, then all with the second one: when the time is over, all points have
    nearly equally many seeds.

    Args:
        grid: field -> values; fields that change together are one key, see `values.fields_of`.

    Returns:
        (the result for --json, the lines for the terminal).

    Raises:
        UserError: a point is refused, or nothing has finished; other mistakes that the user can fix.
        KeyboardInterrupt: Ctrl-C or SIGTERM; the trials have saved their checkpoints.
    """
    points = checked_points(command, grid)
    tried = {"kind": "grid", "grid": grid, "equal_parameters": command.equal_parameters}
    study = studies.find(command.task, command.config, tried, command.runs, command.run)
    with run_search.opened(study, tried):
        if command.equal_parameters:
            points = _with_equal_parameters(study, points)
        seeds = [command.config.seed + i for i in range(command.seeds or 1)]
        parallel = command.parallel or (None if command.ray else 1)
        with workers.connected(command.ray, parallel) as pool:
            crashed = _train(study, points, seeds, command.seconds, pool)
        found = [
            Point(
                settings,
                run_search.train_line(command, dataclasses.replace(command.config, **settings)),
                {seed: _outcome(study, len(points) * i + p, crashed) for i, seed in enumerate(seeds)},
            )
            for p, settings in enumerate(points)
        ]
        outcomes = [outcome for point in found for outcome in point.outcomes.values()]
        if not any(outcome.state == FINISHED for outcome in outcomes):
            reasons = [outcome.reason for outcome in outcomes if outcome.reason]
            reason = reasons[0] if reasons else "repeat the same command with more --minutes, and it continues"
            raise UserError(f"no training of {shown(study.folder)} is finished: {reason}")
        result = grid_report.write(study, grid, found, command.equal_parameters)
        write_json(study.result, result)
        return result, grid_report.summarize(result)


def checked_points(command: "TuneCommand", grid: dict[str, tuple]) -> list[Settings]:
    """Returns the points of a grid.

    Raises:
        UserError: the config refuses one of them, or --equal-parameters cannot choose the hidden size.
    """
    points = values.points(grid)
    if len(points) < 2:
        raise UserError("--grid has one point: give at least two values, such as --grid num_layers=1,2")
    if command.equal_parameters:
        size = parameters.SIZE
        for given in (size, "feedforward_size"):
            if given in values.fields_of(grid):
                raise UserError(f"--equal-parameters chooses {flag(size)}: leave {given} out of --grid")
    for settings in points:
        try:
            config = values.with_settings(command.config, settings)
            if command.equal_parameters:
                parameters.size_step(config)
        except UserError as error:
            raise UserError(f"--grid {values.shown(settings)}: {error}") from error
    return points


def _with_equal_parameters(study: Study, points: list[Settings]) -> list[Settings]:
    """Returns the points with the hidden sizes; they are in the folder of the grid once they are found."""
    path = study.folder / "sizes.json"
    if not path.exists():
        console.say("choosing hidden sizes with equally many parameters ...")
        configs = [studies.resolved_config(study, values.with_settings(study.config, point)) for point in points]
        write_json(path, parameters.equal_sizes(study.folder, study.task, configs))
    sizes = [found[parameters.SIZE] for found in read_json(path)]
    return [point | {parameters.SIZE: size} for point, size in zip(points, sizes, strict=True)]


def _train(study: Study, points: list[Settings], seeds: list[int], seconds: float | None, pool) -> dict[int, Outcome]:
    """Trains what has not been trained, until the time is over.

    Returns:
        Number -> outcome of the trials whose processes have crashed: the same command tries these again.
    """
    crashed = {}
    clock = studies.Clock(study.folder, seconds)
    todo = iter(range(len(points) * len(seeds)))

    def next_spec() -> Spec | None:
        for number in todo:
            if clock.is_over:
                return None
            if studies.outcome_of(study.trial(number)) is None:
                settings = points[number % len(points)] | {"seed": seeds[number // len(points)]}
                studies.prepare_trial(study, number, values.with_settings(study.config, settings))
                return Spec(str(study.folder.absolute()), number, stop_at=clock.stop_at)
        return None

    def ended(spec: Spec, outcome: Outcome) -> None:
        number = spec.number
        name = f"{values.shown(points[number % len(points)])}, seed {seeds[number // len(points)]}"
        if outcome.state == FINISHED:
            studies.remove_checkpoints(study.trial(number))
            console.say(f"{name}: {outcome.value:.4f} after {counted(len(outcome.epochs), 'epoch')}")
        elif outcome.state == FAILED:
            crashed[number] = outcome
            console.say(f"{name}: failed: {outcome.reason}")
        clock.save()

    try:
        workers.run_all(pool, next_spec, ended)
    finally:
        clock.save()
    return crashed


def _outcome(study: Study, number: int, crashed: dict[int, Outcome]) -> Outcome:
    return studies.outcome_of(study.trial(number)) or crashed.get(number) or Outcome(UNFINISHED)


def as_dict(point: Point) -> dict[str, Any]:
    """Returns a point for result.json."""
    return {
        "settings": point.settings,
        "command": point.command,
        "seeds": {
            str(seed): {
                "state": outcome.state,
                "reason": outcome.reason,
                "value": outcome.value,
                "scores": outcome.scores.get("validation", {}),
                "epochs": len(outcome.epochs),
                "best_epoch": outcome.best_epoch,
                "epoch_seconds": outcome.epoch_seconds,
                "parameters": outcome.parameters,
                "layers": parameters.of_layers(outcome.weights),
                "training_seconds": outcome.training_seconds,
            }
            for seed, outcome in point.outcomes.items()
        },
    }
