import numpy as np
import pytest

from pipelines.decoding.options import SAMPLING
from pipelines.python.errors import UserError
from pipelines.python.options import checked


def test_options_are_passed_with_numbers_of_python():
    given = checked("generate", SAMPLING, {"max_length": np.int64(3), "temperature": 1, "stop": None})
    assert given == {"max_length": 3, "temperature": 1, "stop": None} and type(given["max_length"]) is int


def test_an_unknown_option_is_refused_with_the_known_ones():
    with pytest.raises(TypeError, match="generate.. has no option 'temprature'; it has max_length, temperature"):
        checked("generate", SAMPLING, {"temprature": 1})


@pytest.mark.parametrize("given", [{"max_length": "3"}, {"temperature": True}, {"stop": 3}], ids=str)
def test_an_option_of_the_wrong_type_is_refused(given):
    with pytest.raises(UserError, match="must be of the type"):
        checked("generate", SAMPLING, given)
