import re

import pytest

from pipelines.learn.exercises.registry import EXERCISES, exercise
from pipelines.learn.lessons import neuron
from pipelines.learn.page import render


@pytest.mark.long
def test_a_page_checks_answers_as_the_command_line_does(tmp_path, browser):
    path = tmp_path / "exercise.html"
    for number in EXERCISES:
        lesson = exercise(number)
        path.write_text(render(lesson), encoding="utf-8")
        page = browser.new_page()
        page.goto(path.as_uri())
        for i, question in enumerate(lesson.questions):
            right = question.answer[0] if isinstance(question.answer, tuple) else repr(question.answer)
            for given, verdict in ((right, "Right."), ("-777", "Not yet.")):
                page.fill(f"#answer-{i}", given)
                page.locator("#questions li").nth(i).locator("button").click()
                assert page.locator("#questions output").nth(i).inner_text().startswith(verdict), (number, given)
                assert question.is_right(given) == (verdict == "Right.")
        page.close()


@pytest.mark.long
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_of_a_lesson_draws_its_figures_without_errors_at_every_width(width, tmp_path, browser, course):
    lesson = neuron.lesson(course)
    path = tmp_path / "lesson.html"
    path.write_text(render(lesson), encoding="utf-8")
    page = browser.new_page(viewport={"width": width, "height": 800})
    errors = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(path.as_uri())
    drawn = sum(len(step.figures) for step in lesson.steps)
    page.wait_for_function(f"window.views && window.views.length === {drawn}")
    assert errors == [] and drawn == 2
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    names = re.findall(r'<section id="(step-\d+-[^"]+)">', path.read_text(encoding="utf-8"))
    assert len(set(names)) == drawn
    page.close()
