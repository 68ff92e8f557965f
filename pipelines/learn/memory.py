"""How many steps of training each network needs to learn a task, as the distance to the information grows."""

import dataclasses

import numpy as np
import pandas as pd

from pipelines.inspect.figure import Figure
from pipelines.learn.memory_networks import BATCH_SIZE, CHECKED, NETWORKS, Trainer
from pipelines.learn.memory_tasks import TASKS, Task
from pipelines.learn.steps import Lesson, Step, Values
from pipelines.support import console


@dataclasses.dataclass(frozen=True)
class Measured:
    """What `measure` was asked for and returns."""

    task: str
    """Key of TASKS."""
    distances: tuple[int, ...]
    networks: tuple[str, ...]
    """Keys of NETWORKS."""
    max_steps: int
    steps: np.ndarray
    """[networks, distances, seeds]: after how many steps the task was learned; infinity if it was not."""
    parameters: np.ndarray
    """[networks]: how many each has."""

    @property
    def median(self) -> np.ndarray:
        """Over the seeds, [networks, distances]."""
        return np.median(self.steps, axis=-1)

    @property
    def labels(self) -> tuple[str, ...]:
        """The networks for readers."""
        return tuple(NETWORKS[name].label for name in self.networks)


def measure(
    task: str, distances: tuple[int, ...], networks: tuple[str, ...], num_seeds: int, max_steps: int
) -> Measured:
    """Trains each network at each distance from each seed, with a progress bar.

    Args:
        task: key of TASKS.
        distances: n, from small to large.
        networks: keys of NETWORKS.
        num_seeds: the seeds are 1, 2, ...
        max_steps: a multiple of EVERY.
    """
    steps = np.full((len(networks), len(distances), num_seeds), np.inf)
    parameters = np.zeros(len(networks), int)
    with console.bar(steps.size, "trainings") as bar:
        for row, name in enumerate(networks):
            for column, distance in enumerate(distances):
                bar.set_description(f"{NETWORKS[name].label}, n = {distance}")
                trainer = Trainer(NETWORKS[name], TASKS[task], distance)
                parameters[row] = trainer.num_parameters
                for index in range(num_seeds):
                    steps[row, column, index] = trainer.steps(index + 1, max_steps)
                    bar.update()
    return Measured(task, distances, networks, max_steps, steps, parameters)


def memory(measured: Measured) -> Lesson:
    """Returns the steps that show what was measured."""
    num_seeds, most = measured.steps.shape[-1], f">{measured.max_steps:,}"
    columns = tuple(f"n={distance}" for distance in measured.distances)
    paths = tuple(f"{NETWORKS[name].label} (path {NETWORKS[name].path})" for name in measured.networks)
    learned = np.isfinite(measured.steps).sum(axis=-1)  # [networks, distances]
    return Lesson(
        f"memory: how many steps it takes to learn to remember ({measured.task})",
        "A recurrent network carries what it read from state to state: between a piece of information and its use n "
        "steps later lies a path of length n. Attention looks at all positions at once: a path of length 1 (Vaswani et "
        "al. 2017, table 1). Does a longer path make a task harder to learn?",
        (
            _task(TASKS[measured.task], measured.distances[0]),
            Step(
                "The networks",
                values=(Values("parameters", measured.parameters[:, None], paths),),
                layer=", ".join(NETWORKS[name].layer for name in measured.networks),
                text=f"One layer each, trained by Adam with {BATCH_SIZE} fresh examples in each step, on the "
                "cross-entropy of the answers or on their squared error.",
            ),
            Step(
                f"Steps until it is learned: median of the seeds 1 to {num_seeds}"
                if num_seeds > 1
                else "Steps until it is learned: seed 1",
                values=(
                    Values("steps", measured.median, measured.labels, columns, 0, infinite=most),
                    Values("seeds that learned it", learned, measured.labels, columns),
                ),
                text="" if learned.all() else f"{most}: not within {measured.max_steps:,} steps.",
                figures=(_figure(measured),),
            ),
            Step("What to see", text=" ".join(_findings(measured))),
        ),
        sources=("pipelines/learn/memory_networks.py:Trainer.scores",),
    )


def _task(task: Task, distance: int) -> Step:
    inputs, targets = task.examples(distance, 3, np.random.default_rng(3))
    solved = (
        f"the mean squared error is at most {task.threshold:.4f}, a tenth of that of always answering 1 (1/6)"
        if task.classes == 1
        else f"{task.threshold:.0%} of the answers are right (by guessing: {1 / task.classes:.0%})"
    )
    return Step(
        f"The task, with n = {distance}",
        text=f"{task.about} It counts as learned when, of {CHECKED} examples that were not trained on, {solved}.",
        picture=tuple(task.written(*example) for example in zip(inputs, targets, strict=True)),
    )


def _findings(measured: Measured) -> list[str]:
    """Returns a sentence for each network, and one that compares both kinds at the largest distance."""
    distances, last = measured.distances, measured.distances[-1]
    sentences = []
    for label, row in zip(measured.labels, measured.median, strict=True):
        if np.isfinite(row).all() and len(row) > 1:
            sentences.append(
                f"{label}: {row[0]:,.0f} steps at n = {distances[0]}, {row[-1]:,.0f} at n = {last}: "
                f"{row[-1] / row[0]:.1f} times as many for {last / distances[0]:.1f} times the distance."
            )
            continue
        parts = [f"{steps:,.0f} steps at n = {n}" for n, steps in zip(distances, row) if np.isfinite(steps)]
        if missed := [str(n) for n, steps in zip(distances, row) if np.isinf(steps)]:
            parts.append(f"not within {measured.max_steps:,} steps at n = {', '.join(missed)}")
        sentences.append(f"{label}: {', '.join(parts)}.")
    kinds = []
    for path in ("1", "n"):
        reached = [
            np.isfinite(row[-1])
            for name, row in zip(measured.networks, measured.median, strict=True)
            if NETWORKS[name].path == path
        ]
        if reached:
            kinds.append(f"{sum(reached)} of {len(reached)} with a path of length {path} learned it")
    return [*sentences, f"At n = {last}, {' and '.join(kinds)}."]


def _figure(measured: Measured) -> Figure:
    import altair as alt

    rows = pd.DataFrame(
        [
            {
                "network": label,
                "distance": distance,
                "steps": f"{steps:,.0f}" if np.isfinite(steps) else f"not within {measured.max_steps:,}",
                # crosses of several networks do not cover each other
                "height": steps if np.isfinite(steps) else measured.max_steps * 1.25 ** (1 + index),
                "learned": bool(np.isfinite(steps)),
            }
            for index, (label, row) in enumerate(zip(measured.labels, measured.median, strict=True))
            for distance, steps in zip(measured.distances, row, strict=True)
        ]
    )
    scale = alt.Scale(type="log", nice=False, padding=20)
    base = alt.Chart(alt.NamedData("steps")).encode(
        x=alt.X("distance:Q", title="distance n", scale=scale, axis=alt.Axis(values=list(measured.distances))),
        y=alt.Y("height:Q", title="steps until it is learned", scale=scale),
        color=alt.Color("network:N", sort=list(measured.labels)),
        tooltip=["network:N", "distance:Q", "steps:N"],
    )
    lines = base.transform_filter("datum.learned").mark_line(point=True)
    missed = base.transform_filter("!datum.learned").mark_point(shape="cross", size=80, filled=True)
    limit = alt.Chart(alt.NamedData("limit")).mark_rule(strokeDash=[5, 3], color="#868e96").encode(y="height:Q")
    return Figure(
        "memory",
        f"Steps until the task is learned ({measured.task})",
        "A line for each network; both axes are logarithmic. A cross above the dashed line: not learned within "
        f"{measured.max_steps:,} steps.",
        (lines + missed + limit).properties(width=430, height=320),
        {"steps": rows, "limit": pd.DataFrame({"height": [measured.max_steps]})},
        rows[["network", "distance", "steps"]],
    )
