"""Prints lessons: equations, and numbers in aligned columns, at most 100 characters wide."""

import textwrap

import numpy as np

from pipelines.learn.sources import located
from pipelines.learn.steps import Lesson, Step, Values

WIDTH = 100
_INDENT = "   "
_GAP = "     "  # between two matrices that stand side by side


def format_lesson(lesson: Lesson) -> list[str]:
    """Returns the lines of a lesson, with its questions and where its code is."""
    lines = [lesson.title, "", *textwrap.wrap(lesson.question, WIDTH)]
    for number, step in enumerate(lesson.steps, 1):
        lines += ["", *_format_step(number, step)]
    return lines + format_questions(lesson)


def format_questions(lesson: Lesson) -> list[str]:
    """Returns the lines of the questions of a lesson, and of the places of its code."""
    lines = ["", "Questions"] if lesson.questions else []
    for number, question in enumerate(lesson.questions, 1):
        lines += textwrap.wrap(f"{number}. {question.text}", WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)
    if lesson.sources:
        lines += ["", "Source", *(_INDENT + located(source) for source in lesson.sources)]
    return lines


def _format_step(number: int, step: Step) -> list[str]:
    lines = textwrap.wrap(f"{number}. {step.title}", WIDTH, subsequent_indent=_INDENT)
    if step.layer:
        layer = f"[{step.layer}]"
        if len(lines[-1]) + len(layer) + 2 <= WIDTH:
            lines[-1] += layer.rjust(WIDTH - len(lines[-1]))
        else:
            lines.append(layer.rjust(WIDTH))
    if step.equation:
        lines += [f"{_INDENT}{line}" for line in step.equation.splitlines()]
    numbers = numbers_of(step)
    if numbers:
        lines += ["", *(_INDENT + line for line in numbers)]
    if step.text:
        lines += ["", *textwrap.wrap(step.text, WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)]
    if step.command:
        lines += ["", f"{_INDENT}$ {step.command}"]
    return [line.rstrip() for line in lines]


def numbers_of(step: Step) -> list[str]:
    """Returns the lines of the values and of the picture of a step."""
    picture = list(step.picture)
    return _side_by_side(step.values) + (["", *picture] if step.values and picture else picture)


def format_values(values: Values) -> list[str]:
    """Returns the lines of a number, a vector or a matrix: its name, then its rows in brackets.

    A row that differs from `values.before` is followed by its former numbers.
    """
    numbers = np.asarray(values.numbers)
    rows = numbers.reshape(-1, numbers.shape[-1]) if numbers.ndim else numbers.reshape(1, 1)
    cells = [
        [values.infinite if np.isposinf(number) else format_number(number, values.digits) for number in row]
        for row in rows
    ]
    former = None
    if values.before is not None:
        former = [
            [format_number(number, values.digits) for number in row]
            for row in np.asarray(values.before).reshape(rows.shape)
        ]
    widths = [
        max(len(row[column]) for row in [*cells, *(former or []), *([values.columns] if values.columns else [])])
        for column in range(rows.shape[1])
    ]
    start = f"{values.name} = "
    label_width = max(map(len, values.rows), default=-1) + 1
    lines = []
    for index, row in enumerate(cells):
        line = (start if index == 0 else " " * len(start)) + _label(values, index, label_width)
        line += _bracketed(row, widths) if numbers.ndim else row[0]
        if former and former[index] != row:
            line += "   was " + (_bracketed(former[index], widths) if numbers.ndim else former[index][0])
        lines.append(line)
    if values.columns:
        names = "  ".join(name.rjust(width) for name, width in zip(values.columns, widths, strict=True))
        lines.insert(0, " " * (len(start) + label_width + 1) + names)
    return lines


def _label(values: Values, index: int, width: int) -> str:
    return values.rows[index].ljust(width) if values.rows else ""


def _bracketed(cells: list[str], widths: list[int]) -> str:
    return "[" + "  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True)) + "]"


def format_number(number: float | np.integer, digits: int) -> str:
    """Returns the number with thousands separators, rounded to `digits` unless it is an integer."""
    if isinstance(number, np.integer):
        return f"{number:,}"
    if not np.isfinite(number):
        return "infinite" if np.isinf(number) else "undefined"
    if abs(number) >= 1e6:
        return f"{number:.3g}"
    rounded = round(float(number), digits)
    return f"{rounded + 0.0:,.{digits}f}"  # + 0.0 turns -0.0 into 0.0


def _side_by_side(all_values: tuple[Values, ...]) -> list[str]:
    """Returns the lines of the values, as many beside each other as fit into the width."""
    if not all_values:
        return []
    lines, row, width = [], [], len(_INDENT)
    for values in all_values:
        block = format_values(values)
        block_width = max(map(len, block)) + len(_GAP)
        if row and width + block_width - len(_GAP) > WIDTH:
            lines += [*_joined(row), ""]
            row, width = [], len(_INDENT)
        row.append((block, bool(values.columns)))
        width += block_width
    return lines + _joined(row)


def _joined(blocks: list[tuple[list[str], bool]]) -> list[str]:
    """Returns the lines of blocks beside each other, with their names in the same line.

    Args:
        blocks: the lines of each block, and whether a header stands above its name.
    """
    any_header = any(has_header for _, has_header in blocks)
    columns = [block if has_header or not any_header else ["", *block] for block, has_header in blocks]
    height = max(map(len, columns))
    padded = [
        [line.ljust(max(map(len, column))) for line in [*column, *[""] * (height - len(column))]] for column in columns
    ]
    return [_GAP.join(parts).rstrip() for parts in zip(*padded, strict=True)]
