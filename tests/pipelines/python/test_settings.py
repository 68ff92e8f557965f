import dataclasses
import inspect
from typing import Annotated, Literal

import numpy as np
import pytest

from pipelines.python.errors import UserError
from pipelines.python.settings import COMMON, config_fields, estimator_of
from pipelines.settings.config import TrainingConfig


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(TrainingConfig):
    size: Annotated[int | None, "a note"] = None
    """Size of the network."""
    rate: float = 0.5
    kind: Literal["lstm", "gru"] | None = None


@estimator_of(Config, leave_out=("data",))
class Estimator:
    """An estimator."""


def parameters(**changes):
    return vars(Estimator(**changes))


def test_the_fields_of_the_config_are_parameters():
    names = list(inspect.signature(Estimator).parameters)
    fields = {field.name for field in dataclasses.fields(Config)}
    assert set(names) == fields - {"data", "start_weights"} | set(COMMON) and names[:2] == ["preset", "model"]
    assert Estimator(size=3).size == 3 and Estimator().rate == 0.5
    assert "size (default None): Size of the network." in Estimator.__doc__


def test_an_unknown_parameter_is_refused_with_the_right_one():
    with pytest.raises(TypeError, match="Estimator has no parameter 'siez'; did you mean size"):
        Estimator(siez=3)
    with pytest.raises(TypeError):
        Estimator("quick")


def test_numbers_of_numpy_become_those_of_python():
    fields = config_fields(Config, parameters(size=np.int64(3), rate=1))
    assert (fields["size"], type(fields["size"]), type(fields["rate"])) == (3, int, float)
    assert not set(COMMON) & set(fields)


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"size": "3"}, ["size '3'", "int", "str"]),
        ({"size": True}, ["size True", "int", "bool"]),
        ({"rate": None}, ["rate None", "float"]),
        ({"kind": "gruu"}, ["kind 'gruu'", "'lstm', 'gru'"]),
        ({"seed": 1.5}, ["seed 1.5"]),
        ({"random_state": "x"}, ["seed 'x'"]),
    ],
    ids=str,
)
def test_values_of_the_wrong_type_are_refused(changes, parts):
    with pytest.raises(UserError) as caught:
        config_fields(Config, parameters(**changes))
    for part in parts:
        assert part in str(caught.value)


def test_random_state_is_another_name_of_the_seed():
    assert config_fields(Config, parameters(seed=5))["seed"] == 5
    assert config_fields(Config, parameters(random_state=7))["seed"] == 7
    assert config_fields(Config, parameters(seed=5, random_state=7))["seed"] == 5
    assert config_fields(Config, parameters())["seed"] == Config.seed
    drawn = [config_fields(Config, parameters(random_state=np.random.RandomState(0)))["seed"] for _ in range(2)]
    assert drawn[0] == drawn[1] != 1


def test_no_random_state_draws_a_seed_from_the_generator_of_numpy():
    np.random.seed(3)
    drawn = [config_fields(Config, parameters(random_state=None))["seed"] for _ in range(2)]
    np.random.seed(3)
    again = [config_fields(Config, parameters(random_state=None))["seed"] for _ in range(2)]
    assert drawn == again and drawn[0] != drawn[1]
