import itertools
import re
import shlex
from xml.etree import ElementTree

import pytest

import main
from pipelines.learn.figures.registry import FIGURES, figure


@pytest.mark.parametrize("name", list(FIGURES))
def test_each_figure_says_what_the_book_says_and_how_to_measure_it(name):
    lesson = figure(name, "so long and", None)
    found, last = FIGURES[name], lesson.steps[-1]
    assert found.says in last.text and found.here in last.text
    assert len(last.picture) == len(found.commands) and all("main.py" in line for line in last.picture)
    is_drawn = f"learn figures {name}" in found.commands[0]
    assert is_drawn == any(step.drawing or step.figures for step in lesson.steps)
    for step in lesson.steps:
        if step.drawing:
            root = ElementTree.fromstring(step.drawing)
            width, height = map(float, root.get("viewBox").split()[2:])
            for text in root.iterfind("./{*}g/{*}text"):
                assert 0 < float(text.get("x")) < width and 0 < float(text.get("y")) < height


def test_the_figures_of_the_chapter_are_complete():
    numbers = re.findall(r"5\.\d+", " ".join(each.number for each in FIGURES.values()))
    assert {f"5.{n}" for n in range(1, 29)} == set(numbers)


@pytest.mark.parametrize("command", sorted(set(itertools.chain(*(each.commands for each in FIGURES.values())))))
def test_each_command_is_one(command):
    assert main.parse(shlex.split(command))
