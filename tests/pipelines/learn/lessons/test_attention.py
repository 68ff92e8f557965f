import pytest

from pipelines.learn.lessons import attention
from tests.pipelines.learn.lessons.checks import checked, printed


@pytest.mark.exhaustive
def test_the_green_witch_arrives(course):
    lesson = checked(attention.lesson(course), 8)
    assert "Lleg\u00f3 la bruja verde." in printed(lesson, "A translator").splitlines()[0]
    (figure,) = next(s for s in lesson.steps if s.title.startswith("Where it looks")).figures
    assert figure.data
