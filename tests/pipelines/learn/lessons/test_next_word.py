import pytest

from pipelines.learn.lessons import next_word
from tests.pipelines.learn.lessons.checks import checked, printed


@pytest.mark.long
def test_a_sentence_that_is_not_in_the_text_ends_as_it_should(course):
    lesson = checked(next_word.lesson(course), 2)
    rows = printed(lesson, "A trained network reads").splitlines()
    assert rows[2].split()[0] == "fish" and float(rows[2].split()[1]) > 0.4
    assert "perplexity" in printed(lesson, "The probability of a whole")
