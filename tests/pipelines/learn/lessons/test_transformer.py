import pytest

from pipelines.learn.lessons import transformer
from tests.pipelines.learn.lessons.checks import checked, printed


@pytest.mark.exhaustive
def test_it_finds_what_was_too_large_or_too_small(course):
    lesson = checked(transformer.lesson(course), 9)
    for word, thing in (("large", "trophy"), ("small", "suitcase")):
        assert printed(lesson, f"What was too {word}").splitlines()[2].split()[0] == thing
    assert printed(lesson, "Which heads").count("without") == 3
