"""The report of a search: report.md, Optuna's pictures, and the summary on the terminal."""

import logging
import warnings
from pathlib import Path
from typing import Any

from pipelines.runs.inventory import main_score
from pipelines.settings.fields import Values
from pipelines.support import markdown, reports
from pipelines.support.files import shown, written_beside
from pipelines.support.numbers import counted
from pipelines.tune import values
from pipelines.tune.search import Search, Tried, best
from pipelines.tune.study import FAILED, FINISHED, PRUNED, Study

_PICTURES = {
    "history": ("plot_optimization_history", "The value of each trial, and the best one so far"),
    "importances": ("plot_param_importances", "How much each field matters"),
    "slices": ("plot_slice", "The values of each field"),
    "epochs": ("plot_intermediate_values", "Each trial after each epoch"),
}
_MAX_LINES = 5  # of the table on the terminal


def write(
    study: Study, space: dict[str, Values], search: Search, trials: list[Tried], command: str, result: dict[str, Any]
) -> dict[str, Any]:
    """Writes report.md and its pictures.

    Args:
        command: the command of the best run.
        result: result.json of the best run.

    Returns:
        The result of the search: "trials", "best" (number), "states", "measure", "command", "export", "run", "report".
    """
    winner = best(trials)
    ordered = sorted(trials, key=_rank)
    states = {state: sum(trial.outcome.state == state for trial in trials) for state in (FINISHED, PRUNED, FAILED)}
    pictures = _draw(study, search.optuna_study()) if states[FINISHED] > 1 else []
    measure = (main_score(winner.outcome.scores, study.task) or ("value", 0.0))[0]
    sample = [f"**{reports.SAMPLE_WARNING}**", ""] if study.config.data is None else []
    lines = [
        f"# Search: {study.task} on {study.record.data['name']}",
        "",
        f"Trial {winner.number} is the best of {len(trials)}: {measure} {_score(winner, study.task)} on the validation "
        f"set; the preset (trial 0) has {_score(trials[0], study.task)}.",
        "",
        *sample,
        "```",
        command,
        "```",
        "",
        f"The model is exported: {shown_path(result['export'])}. Its own report: {shown_path(result['report'])}.",
        "",
        optimism(states[FINISHED]),
        "",
        "## Trials",
        "",
        f"{counted(states[FINISHED], 'trial')} finished, {states[PRUNED]} pruned (worse after an epoch than half of "
        f"the earlier trials), {states[FAILED]} failed. The value is what chooses the best epoch; the lowest is the "
        "best.",
        "",
        f"| trial | state | value | {measure} | epochs | time | {' | '.join(space)} |",
        f"|---:|---|---:|---:|---:|---:|{'---|' * len(space)}",
        *(_row(trial, space, study.task) for trial in ordered),
        "",
        *(
            f"- Trial {trial.number} {'failed:' if trial.outcome.state == FAILED else 'has'} {trial.outcome.reason}"
            for trial in ordered
            if trial.outcome.reason
        ),
        "## What was searched",
        "",
        "| field | values |",
        "|---|---|",
        *(f"| {field} | {markdown.text(values.shown_values(of), None)} |" for field, of in space.items()),
        "",
        *(line for name in pictures for line in (f"## {_PICTURES[name][1]}", "", f"![{name}]({name}.png)", "")),
    ]
    reports.write(study.folder, lines)
    return {
        "study": str(study.folder),
        "task": study.task,
        "trials": [_as_dict(trial) for trial in trials],
        "states": states,
        "measure": measure,
        "best": winner.number,
        "command": command,
        "run": result["run"],
        "export": result["export"],
        "report": str(study.folder / "report.md"),
    }


def summarize(report: dict[str, Any], summary: str) -> str:
    """Returns the lines for the terminal: the best trials, the summary of the best run, and its command.

    Args:
        report: of `write`.
        summary: of `train`.
    """
    finished = [trial for trial in report["trials"] if trial["state"] == FINISHED]
    finished.sort(key=lambda trial: (trial["value"], trial["number"]))
    shown_trials = finished[:_MAX_LINES]
    if finished[0]["number"] and all(trial["number"] for trial in shown_trials):
        shown_trials += [trial for trial in finished if trial["number"] == 0]
    measure = report["measure"]
    lines = [f"{'trial':>5}  {'value':>9}  {measure:>9}  settings"]
    for trial in shown_trials:
        score = trial["scores"]["validation"].get(measure)
        settings = "the preset" if trial["number"] == 0 else values.shown(trial["settings"])
        lines.append(f"{trial['number']:>5}  {trial['value']:>9.4f}  {reports.number(score):>9}  {settings}")
    lines += [
        "",
        summary,
        f"  {'search':<12}{shown(reports.page_of(Path(report['report'])))}",
        f"  {'command':<12}{report['command']}",
    ]
    return "\n".join([*lines, f"  note        {optimism(len(finished))}"])


def optimism(num_finished: int) -> str:
    """Returns the sentence on a best score that was chosen among others."""
    return (
        f"The best of {num_finished} validation scores is optimistic: the same texts chose it. Measure the model on "
        "texts that no trial has seen before you report a score."
    )


def shown_path(path: str) -> str:
    """Returns a path as a report shows it."""
    return f"`{shown(Path(path))}`"


def _rank(trial: Tried) -> tuple:
    """Orders trials: the finished ones by their value, then the others."""
    value = trial.outcome.value
    return trial.outcome.state != FINISHED, value is None, value, trial.number


def _score(trial: Tried, task: str) -> str:
    score = main_score(trial.outcome.scores, task)
    return "no score" if score is None else f"{score[1]:.3f}"


def _row(trial: Tried, space: dict[str, Values], task: str) -> str:
    outcome = trial.outcome
    value = "-" if outcome.value is None else f"{outcome.value:.4f}"
    score = _score(trial, task) if outcome.scores else "-"
    seconds = reports.duration(outcome.training_seconds) if outcome.training_seconds else "-"
    cells = [
        f"{trial.number}{' (preset)' if trial.number == 0 else ''}",
        outcome.state,
        value,
        score,
        str(len(outcome.epochs)),
        seconds,
        *(str(trial.settings.get(field, "-")) for field in space),
    ]
    return f"| {' | '.join(map(markdown.text, cells))} |"


def _as_dict(trial: Tried) -> dict[str, Any]:
    outcome = trial.outcome
    return {
        "number": trial.number,
        "state": outcome.state,
        "reason": outcome.reason,
        "value": outcome.value,
        "scores": outcome.scores,
        "settings": trial.settings,
        "parameters": outcome.parameters,
        "epochs": len(outcome.epochs),
        "seconds": outcome.training_seconds,
    }


def _draw(study: Study, of_optuna) -> list[str]:
    """Draws Optuna's pictures; returns the names of those that the trials allow."""
    import matplotlib

    matplotlib.use("Agg")  # Optuna draws with pyplot
    import matplotlib.pyplot as plt
    import optuna.visualization.matplotlib as drawing
    from matplotlib import ticker

    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    drawn = []
    for name, (function, _) in _PICTURES.items():
        # Optuna calls its pictures experimental, and sets a style for all that come after them.
        with warnings.catch_warnings(action="ignore"), matplotlib.rc_context():
            try:
                axes = getattr(drawing, function)(of_optuna)
            except (ValueError, RuntimeError):  # too few trials for this picture
                plt.close("all")
                continue
            figure = getattr(axes, "figure", None) or axes[0].figure
            for each in figure.axes:
                if each.get_xscale() == "log":  # the labels of a range of one or two decades would lie on one another
                    each.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 3), numticks=5))
                    each.xaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))
                    each.xaxis.set_minor_formatter(ticker.NullFormatter())
            with written_beside(study.folder / f"{name}.png", "wb") as file:
                figure.savefig(file, format="png", dpi=120, bbox_inches="tight")
            plt.close("all")
        drawn.append(name)
    return drawn
