"""A lesson as one HTML page, which needs no network: text, numbers, figures, and questions that are checked."""

import dataclasses
import html
import json
from pathlib import Path

from pipelines.inspect import page
from pipelines.inspect.figure import Figure
from pipelines.learn.format import numbers_of
from pipelines.learn.questions import Question
from pipelines.learn.sources import located
from pipelines.learn.steps import Lesson, Step

_FOLDER = Path(__file__).parent


def render(lesson: Lesson) -> str:
    """Returns the page of a lesson."""
    body, figures = [f"<p>{html.escape(lesson.question)}</p>"], []
    for number, step in enumerate(lesson.steps, 1):
        drawn = figures_of(number, step)
        figures += drawn
        body += [_step(number, step), *map(page.section, drawn)]
    if lesson.questions:
        body.append(_questions(lesson.questions))
    if lesson.sources:
        places = "".join(f"<li><code>{html.escape(located(each))}</code></li>" for each in lesson.sources)
        body.append(f"<section><h2>Source</h2><ul>{places}</ul></section>")
    files = [(_FOLDER / name).read_text("utf-8") for name in ("page.css", "page.js")]
    return page.document(lesson.title[0].upper() + lesson.title[1:], body, figures, *files)


def figures_of(number: int, step: Step) -> list[Figure]:
    """Returns the figures of a step, with names that no other step has."""
    return [dataclasses.replace(each, name=f"step-{number}-{each.name}") for each in step.figures]


def _step(number: int, step: Step) -> str:
    layer = f' <small class="layer">{html.escape(step.layer)}</small>' if step.layer else ""
    numbers = "\n".join(numbers_of(step))
    parts = [
        f'<section id="step-{number}"><h2>{number}. {html.escape(step.title)}</h2>{layer}',
        f'<pre class="equation">{html.escape(step.equation)}</pre>' if step.equation else "",
        f"<pre>{html.escape(numbers)}</pre>" if numbers else "",
        f'<div class="drawing">{step.drawing}</div>' if step.drawing else "",
        f"<p>{html.escape(step.text)}</p>" if step.text else "",
        f'<pre class="command">{html.escape(step.command)}</pre>' if step.command else "",
        "</section>",
    ]
    return "".join(parts)


def _questions(questions: tuple[Question, ...]) -> str:
    rows = [
        f'<li><label for="answer-{number}">{html.escape(each.text)}</label> '
        f'<span class="answer"><input id="answer-{number}" autocomplete="off"> <button>Check</button> '
        f'<output for="answer-{number}"></output></span></li>'
        for number, each in enumerate(questions)
    ]
    expected = [
        {"words": list(each.answer)}
        if isinstance(each.answer, tuple)
        else {"number": each.answer, "tolerance": each.allowed()}
        for each in questions
    ]
    content = json.dumps([expected[i] | {"because": each.because} for i, each in enumerate(questions)])
    data = f'<script type="application/json" id="expected">{content.replace("<", chr(92) + "u003c")}</script>'
    return f'<section id="questions"><h2>Questions</h2><ol>{"".join(rows)}</ol></section>{data}'
