import pytest

from pipelines.learn.lessons import lstm
from tests.pipelines.learn.lessons.checks import checked, printed


@pytest.mark.exhaustive
def test_the_lstm_remembers_and_forgets_if_its_gates_are_shut(course):
    lesson = checked(lstm.lesson(course), 4)
    of_simple, of_lstm = (float(part.split()[0]) for part in printed(lesson, "The subject far").split("right for ")[1:])
    assert of_lstm > 0.95 > of_simple + 0.1
    (values,) = (value.numbers for value in next(s for s in lesson.steps if s.title.startswith("Turn")).values)
    kept, shut, _ = values[:, 1] / values.sum(1)  # the share of "were"
    assert kept > 0.6 and shut < kept
