"""The loop is found in Keras 3.15 and in Keras 3.16, and no other file looks for it."""

from types import SimpleNamespace

import numpy as np
import pytest
from keras import ops

from layers.backend_rnn import find_rnn, rnn
from tests.layers.checks import BACKEND, close, normal
from tests.layers.test_public import ROOT


def loop(*arguments):
    raise NotImplementedError


@pytest.mark.any_backend
@pytest.mark.parametrize("module", [SimpleNamespace(rnn=loop), SimpleNamespace(rnn=SimpleNamespace(rnn=loop))])
def test_it_is_a_function_or_in_a_module(module):
    assert find_rnn(module) is loop


@pytest.mark.any_backend
def test_the_installed_one_runs_a_step_over_the_time():
    x = normal(2, 5, 3)

    def step(inputs, states):
        total = states[0] + inputs
        return total, [total]

    last, outputs, states = rnn(step, ops.convert_to_tensor(x), [ops.zeros((2, 3))])
    close(outputs, np.cumsum(x, axis=1))
    close([last, *states], [x.sum(1)] * 2)


@pytest.mark.skipif(BACKEND == "torch", reason="no layer gives a list to the loop on Torch")
@pytest.mark.any_backend
def test_the_installed_one_takes_a_list_of_sequences_with_the_time_first():
    """As the layers call it: without a length, which it would read from the shape of a list."""
    x, y = normal(5, 2, 3), normal(5, 2, 3, seed=1)

    def step(inputs, states):
        total = states[0] + inputs[0] * inputs[1]
        return total, [total]

    inputs = [ops.convert_to_tensor(each) for each in (x, y)]
    _, outputs, _ = rnn(step, inputs, [ops.zeros((2, 3))], time_major=True, input_length=2**31 - 1)
    close(outputs, np.cumsum(x * y, axis=0))


def test_no_other_file_looks_for_it():
    files = [path for folder in ("layers", "pipelines", "serving") for path in (ROOT / folder).rglob("*.py")]
    found = {path.name for path in files if "backend.rnn" in path.read_text(encoding="utf-8")}
    assert found <= {"backend_rnn.py"}
