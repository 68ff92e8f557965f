import pytest

from pipelines.learn.lessons import encoder_decoder
from tests.pipelines.learn.lessons.checks import checked, printed


@pytest.mark.exhaustive
def test_the_verb_stands_first_where_it_must(course):
    lesson = checked(encoder_decoder.lesson(course), 7)
    assert printed(lesson, "A sentence that").split()[1] == "Lleg\u00f3"
    assert printed(lesson, "A verb that").split()[1] == "La"
