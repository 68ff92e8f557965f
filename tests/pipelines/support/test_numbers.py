import pytest

from pipelines.support.numbers import counted


@pytest.mark.parametrize(("number", "text"), [(0, "0 trials"), (1, "1 trial"), (2, "2 trials"), (1200, "1,200 trials")])
def test_a_noun_has_the_number_before_it(number, text):
    assert counted(number, "trial") == text
