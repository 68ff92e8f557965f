"""A lesson as a Jupyter notebook, in which every command can be run again and changed."""

import base64
import json
import shlex

import tyro

from pipelines.inspect.command import VIEWS
from pipelines.inspect.figure import smaller, stacked
from pipelines.learn.figures import svg
from pipelines.learn.format import numbers_of
from pipelines.learn.page import figures_of
from pipelines.learn.sources import located
from pipelines.learn.steps import Lesson, Step
from pipelines.support.installation import shell_command
from pipelines.task import TASKS

_MARKERS = (tyro.conf.OmitArgPrefixes, tyro.conf.FlagCreatePairsOff)


def run(command: str):
    """Runs a command of a lesson in a notebook.

    Args:
        command: `inspect WHAT ...`, whose figures are returned as one chart, or `predict TASK ...`, which prints.
    """
    kind, name, *arguments = shlex.split(command)
    if kind == "inspect":
        figures, notes = tyro.cli(VIEWS[name], args=arguments, config=_MARKERS).look()
        print("\n".join(notes))
        return _chart(figures)
    made = TASKS[name].command().Predict
    tyro.cli(made, args=arguments, default=made(task=name), config=_MARKERS)()
    return None


def _chart(figures):
    """Returns the figures one below the other; Jupyter shows what is returned."""
    import altair as alt

    alt.renderers.enable("png")  # the default one loads its library from a server
    charts = [alt.Chart.from_dict(each.with_data() | {"title": each.title}) for each in figures]
    return charts[0] if len(charts) == 1 else alt.vconcat(*charts)


def render(lesson: Lesson) -> str:
    """Returns the notebook (nbformat 4.5) of a lesson, with the output of each command."""
    cells = [
        _markdown(f"# {lesson.title[0].upper()}{lesson.title[1:]}\n\n{lesson.question}"),
        _code(f"from {__name__} import run", []),
    ]
    for number, step in enumerate(lesson.steps, 1):
        cells += _cells(number, step)
    if lesson.questions:
        questions = "\n".join(f"{number}. {each.text}" for number, each in enumerate(lesson.questions, 1))
        name = "-".join(lesson.title.partition(":")[0].split())
        answers = f"Answers: `{shell_command()} learn check {name} ANSWER ...`"
        cells.append(_markdown(f"## Questions\n\n{questions}\n\n{answers}"))
    if lesson.sources:
        places = "\n".join(f"- `{located(each)}`" for each in lesson.sources)
        cells.append(_markdown(f"## Source\n\n{places}"))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    content = {
        "cells": [{"id": f"cell-{i}", **cell} for i, cell in enumerate(cells)],
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def _cells(number: int, step: Step) -> list[dict]:
    numbers = [] if step.command else numbers_of(step)
    parts = [f"## {number}. {step.title}", f"*{step.layer}*" if step.layer else ""]
    parts += [f"```\n{text}\n```" for text in (step.equation, "\n".join(numbers)) if text]
    if step.drawing:
        image = base64.b64encode(svg.on_paper(step.drawing).encode()).decode()
        parts.append(f"![{step.title}](data:image/svg+xml;base64,{image})")
    figures = figures_of(number, step)
    png = smaller(stacked([each.png() for each in figures])) if figures else b""
    if png and not step.command:
        parts.append(f"![{figures[0].title}](data:image/png;base64,{base64.b64encode(png).decode()})")
    cells = [_markdown("\n\n".join(part for part in (*parts, step.text) if part))]
    if step.command:
        outputs = [_stream("\n".join(step.picture))] if step.picture else []
        if png:
            outputs.append(_picture(png))
        cells.append(_code(f"run({step.command.removeprefix(shell_command()).strip()!r})", outputs))
    return cells


def _markdown(source: str) -> dict:
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def _code(source: str, outputs: list[dict]) -> dict:
    return {"cell_type": "code", "metadata": {}, "execution_count": None, "source": source, "outputs": outputs}


def _stream(text: str) -> dict:
    return {"output_type": "stream", "name": "stdout", "text": f"{text}\n"}


def _picture(png: bytes) -> dict:
    data = {"image/png": base64.b64encode(png).decode()}
    return {"output_type": "display_data", "metadata": {}, "data": data}
