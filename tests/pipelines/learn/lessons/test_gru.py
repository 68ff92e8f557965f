import pytest

from pipelines.learn.lessons import gru
from tests.pipelines.learn.lessons.checks import checked, printed


@pytest.mark.exhaustive
def test_the_gru_is_as_good_as_the_lstm(course):
    lesson = checked(gru.lesson(course), 5)
    of_simple, of_lstm, of_gru = (
        float(part.split()[0]) for part in printed(lesson, "Three networks").split("right for ")[1:]
    )
    assert min(of_lstm, of_gru) > 0.95 > of_simple
    assert "parameters" in printed(lesson, "Every matrix")
