import pytest

from pipelines.learn.lessons import transfer
from tests.pipelines.learn.lessons.checks import checked, printed


@pytest.mark.exhaustive
def test_blanks_banks_and_labels(course):
    lesson = checked(transfer.lesson(course), 10)
    assert "hungry" in printed(lesson, "A blank").splitlines()[1]
    assert "full" in printed(lesson, "The same blank").splitlines()[1]
    same, other, _ = (float(line.split()[0]) for line in printed(lesson, "One word").splitlines()[1:4])
    assert same > other
    assert printed(lesson, "Served").splitlines()[1] == '{"label": ["river", "money"]}'
