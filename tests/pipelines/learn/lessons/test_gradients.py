import pytest

from pipelines.learn.lessons import gradients
from tests.pipelines.learn.lessons.checks import checked, printed


@pytest.mark.long
def test_the_gradient_is_measured_and_a_simple_network_forgets(course):
    lesson = checked(gradients.lesson(course), 3)
    assert "90 % is lost every" in printed(lesson, "The gradient of a trained")
    right = float(printed(lesson, "What it has learned").rpartition("right for ")[2].split()[0])
    assert 0.5 < right < 0.85
