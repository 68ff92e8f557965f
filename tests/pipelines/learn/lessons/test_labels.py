import pytest

from pipelines.learn.lessons import labels
from tests.pipelines.learn.lessons.checks import checked, printed


@pytest.mark.exhaustive
def test_tags_change_without_the_backward_direction(course):
    lesson = checked(labels.lesson(course), 6)
    tags = printed(lesson, "The sentence of the book").split()
    assert tags[-10:] == ["B-PER", "O", "O", "O", "O", "B-ORG", "I-ORG", "O", "O", "O"]
    names = printed(lesson, "A name that").split()
    assert names.count("B-ORG") == names.count("I-ORG") == names.count("B-PER") == 1 and names.count("B-LOC") == 2
    step = next(step for step in reversed(lesson.steps) if step.title.startswith("What does the backward"))
    rows = step.figures[0].data["answers"].query("answer == '0 Carter: B-PER'").set_index("when")["probability"]
    assert rows["before"] > 0.9 > rows["after"]
