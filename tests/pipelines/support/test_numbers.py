import pytest

from pipelines.support.numbers import counted, listed


@pytest.mark.parametrize(("number", "text"), [(0, "0 trials"), (1, "1 trial"), (2, "2 trials"), (1200, "1,200 trials")])
def test_a_noun_has_the_number_before_it(number, text):
    assert counted(number, "trial") == text


def test_the_first_names_of_many_and_the_number_of_the_others():
    assert listed(["a", "b"]) == "a, b"
    assert listed({str(i): 1 for i in range(13)}) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 3 more"
