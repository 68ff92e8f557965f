from xml.etree import ElementTree

import numpy as np
import pytest

from pipelines.learn.figures import svg
from pipelines.learn.steps import Lesson, Step
from pipelines.support.errors import UserError

PARTS = [
    *svg.box(0, (70, 40), "a < b & c", np.array([1.0, -0.25])),
    *svg.arrow(1, (132, 40), (200, 40)),
    *svg.circle(2, (213, 40), "+"),
]


def drawn(step):
    return ElementTree.fromstring(svg.drawing("title", "what <one> sees", (300, 80), PARTS, step))


def classes(root):
    return [each.get("class") for each in root if each.get("class")]


def test_what_comes_later_is_faint_and_what_is_new_stands_out():
    assert [classes(drawn(step)) for step in (0, 1, 2, None)] == [
        ["later", "now"],
        ["later", "done", "now"],
        ["done", "now"],
        ["done"],
    ]


def test_texts_are_escaped_and_numbers_come_with_their_step():
    texts = ["".join(each.itertext()) for each in drawn(0).iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ["+", "a < b & c", "1.000\u00a0 -0.250"]
    later = svg.drawing("t", "d", (9, 9), svg.numbers(1, (0, 0), 0.5, label="share"), 0)
    assert "share" in later and "0.500" not in later


def test_an_arrow_ends_at_its_point():
    (part,) = svg.arrow(0, (0, 0), (0, 30), (40, 30))
    assert 'points="0,0 0,30 32,30"' in part.markup and 'points="40.0,30.0 ' in part.markup


def test_a_file_is_the_last_drawing_on_white():
    lesson = Lesson("figures x: y", "", (Step("a", drawing=svg.drawing("one", "", (9, 9), [])), Step("b")))
    assert "background:white" in svg.render(lesson) and "<title>one</title>" in svg.render(lesson)
    with pytest.raises(UserError, match="figures x has no SVG drawing: give --output a name ending in .html"):
        svg.render(Lesson("figures x: y", "", ()))
