"""Drawings as SVG, by plain functions: boxes, circles, arrows, and texts with numbers.

Each function returns parts that belong to a step of the drawing, counted from 0. Texts take the colour of the page, and
the other colours are readable on white and on black.
"""

import dataclasses
import html
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pipelines.learn.format import format_number
from pipelines.learn.steps import Lesson, Step
from pipelines.support.errors import UserError

DIGITS = 3
HEIGHT = 46
WIDTH = 124
_RADIUS = 13
_HEAD = 8
_SMALLEST = 0.8  # of the size that a drawing may be scaled down to; where the screen is narrower, it scrolls
_COLOURS = {
    "": "#8a8a8a",
    "input": "#2a9d5c",
    "state": "#3b82d6",
    "memory": "#9b59b6",
    "gate": "#d9752b",
    "back": "#d64545",
}
_STYLE = (
    ".drawing text{fill:currentColor;font:13px sans-serif;text-anchor:middle}"
    ".drawing .number{font:12px monospace}"
    ".drawing .small{font-size:11px}"
    ".drawing .later{opacity:.3}"
    ".drawing .now{stroke-width:2.6}.drawing .now text{font-weight:bold}"
)

Point = tuple[float, float]


class Part(NamedTuple):
    """A part of a drawing."""

    step: int
    """The first step that shows it; the steps before show its outline."""
    markup: str
    is_number: bool = False
    """A number is not there before its step."""


def text(step: int, at: Point, words: str, kind: str = "") -> list[Part]:
    """Returns a text; `at` is the middle of its base line. `kind` is "", "small" or "number"."""
    markup = f'<text x="{at[0]:g}" y="{at[1]:g}" class="{kind}" stroke="none">{html.escape(words)}</text>'
    return [Part(step, markup, kind == "number")]


def numbers(step: int, at: Point, values: "np.ndarray | float", digits: int = DIGITS, label: str = "") -> list[Part]:
    """Returns the rounded numbers of a scalar or a vector, below `label`; `at` is the middle of their base line."""
    words = "  ".join(format_number(number, digits) for number in np.atleast_1d(values))
    above = text(step, (at[0], at[1] - 16), label, "small") if label else []
    return [*above, *text(step, at, words.replace("  ", "\u00a0 "), "number")]


def box(step: int, at: Point, label: str, values=None, kind: str = "", width: float = WIDTH) -> list[Part]:
    """Returns a box with the middle `at`, with a label and, in the line below it, the rounded numbers of `values`."""
    x, y = at
    colour = _COLOURS[kind]
    markup = (
        f'<rect x="{x - width / 2:g}" y="{y - HEIGHT / 2:g}" width="{width:g}" height="{HEIGHT}" rx="6" '
        f'fill="{colour}" fill-opacity=".14" stroke="{colour}"/>'
    )
    parts = [Part(step, markup), *text(step, (x, y + (5 if values is None else -5)), label)]
    return parts if values is None else parts + numbers(step, (x, y + 15), values)


def circle(step: int, at: Point, label: str, kind: str = "") -> list[Part]:
    """Returns a circle with an operation in it, such as x or +."""
    colour = _COLOURS[kind]
    markup = (
        f'<circle cx="{at[0]:g}" cy="{at[1]:g}" r="{_RADIUS}" fill="{colour}" fill-opacity=".14" stroke="{colour}"/>'
    )
    return [Part(step, markup), *text(step, (at[0], at[1] + 5), label)]


def joint(step: int, at: Point) -> list[Part]:
    """Returns a dot, where a line divides."""
    return [Part(step, f'<circle cx="{at[0]:g}" cy="{at[1]:g}" r="3" fill="{_COLOURS[""]}" stroke="none"/>')]


def arrow(step: int, *points: Point, kind: str = "", head: bool = True, style: str = "") -> list[Part]:
    """Returns an arrow through the points, with its head at the last one.

    Args:
        style: further attributes of the line, such as a width.
    """
    colour = _COLOURS[kind]
    (x0, y0), (x1, y1) = points[-2:]
    length = math.hypot(x1 - x0, y1 - y0)
    dx, dy = (x1 - x0) / length, (y1 - y0) / length
    end = (x1 - dx * _HEAD, y1 - dy * _HEAD) if head else points[-1]
    line = " ".join(f"{x:g},{y:g}" for x, y in [*points[:-1], end])
    markup = f'<polyline points="{line}" fill="none" stroke="{colour}" {style}/>'
    if head:
        corners = [(x1, y1), *((end[0] + s * dy * _HEAD / 2, end[1] - s * dx * _HEAD / 2) for s in (1, -1))]
        tip = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
        markup += f'<polygon points="{tip}" fill="{colour}" stroke="none"/>'
    return [Part(step, markup)]


def cut(step: int, at: Point) -> list[Part]:
    """Returns two strokes through a horizontal line: what ends there."""
    x, y = at
    strokes = "".join(f"M{x + d - 4:g},{y + 9:g} l8,-18 " for d in (-4, 4))
    return [Part(step, f'<path d="{strokes.strip()}" stroke="{_COLOURS["back"]}" stroke-width="2.5" fill="none"/>')]


def drawing(title: str, description: str, size: Point, parts: Sequence[Part], step: int | None = None) -> str:
    """Returns an SVG image.

    Args:
        title, description: for people who cannot see it.
        size: width and height, in pixels.
        parts: what is drawn.
        step: what comes later is faint, and without numbers; what is new is bold. Everything is drawn if not given.
    """
    width, height = size
    done = [part.markup for part in parts if step is None or part.step < step]
    now = [part.markup for part in parts if part.step == step]
    later = [part.markup for part in parts if step is not None and part.step > step and not part.is_number]
    groups = (("later", later), ("done", done), ("now", now))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="drawing" role="img" viewBox="0 0 {width:g} {height:g}" '
        f'style="width:100%;min-width:{_SMALLEST * width:.0f}px;max-width:{width:g}px" stroke-width="1.5">'
        f"<title>{html.escape(title)}</title><desc>{html.escape(description)}</desc><style>{_STYLE}</style>"
        + "".join(f'<g class="{name}">{"".join(markup)}</g>' for name, markup in groups if markup)
        + "</svg>"
    )


def scaled(parts: Sequence[Part], at: Point, factor: float) -> list[Part]:
    """Returns parts without their numbers, smaller, with the upper left corner `at`."""
    markup = "".join(part.markup for part in parts if not part.is_number)
    return [Part(0, f'<g transform="translate({at[0]:g} {at[1]:g}) scale({factor:g})">{markup}</g>')]


def drawn(steps: Sequence[Step], title: str, size: Point, parts: Sequence[Part]) -> tuple[Step, ...]:
    """Returns the steps, each with the drawing as far as it is built up."""
    return tuple(
        dataclasses.replace(
            step, drawing=drawing(f"{title}, step {i + 1}: {step.title}", step.text or step.equation, size, parts, i)
        )
        for i, step in enumerate(steps)
    )


def render(lesson: Lesson) -> str:
    """Returns the last drawing of a lesson as a file of its own.

    Raises:
        UserError: it has none.
    """
    images = [step.drawing for step in lesson.steps if step.drawing]
    if not images:
        raise UserError(f"{lesson.title.partition(':')[0]} has no SVG drawing: give --output a name ending in .html")
    return on_paper(images[-1]) + "\n"


def on_paper(image: str) -> str:
    """Returns an image with black text on white, for a file of its own or a notebook."""
    return image.replace('style="', 'style="background:white;color:black;', 1)
