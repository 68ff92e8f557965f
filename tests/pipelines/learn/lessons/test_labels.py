import pytest

from pipelines.learn.lessons import labels
from tests.pipelines.learn.lessons.checks import checked, printed


@pytest.mark.exhaustive
def test_tags_change_without_the_backward_direction(course):
    lesson = checked(labels.lesson(course), 6)
    assert "Acme" in printed(lesson, "Tags of a sentence")
    assert "->" in printed(lesson, "What does the backward")
