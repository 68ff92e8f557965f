import pytest

from pipelines.learn.lessons import neuron
from tests.pipelines.learn.lessons.checks import checked, printed


@pytest.mark.long
def test_one_unit_keeps_day_or_night_and_its_state_decides(course):
    lesson = checked(neuron.lesson(course), 1)
    (h,) = (value.numbers for value in lesson.steps[2].values)
    day, night = h
    assert (day > 0.5).all() != (night > 0.5).all() and (day * night < -0.2).all()
    changed = printed(lesson, "Is it really")
    assert "moon" in changed and "sun" in changed
    for text, word in (("day", "sun"), ("night", "moon")):
        (step,) = (step for step in lesson.steps if step.title.startswith(f'What comes after "{text}'))
        tokens = [line.split()[0] for line in step.picture[2:4]]
        assert word in tokens and not ({"sun", "moon"} - {word}) & set(tokens)
