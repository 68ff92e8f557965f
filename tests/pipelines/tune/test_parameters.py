"""Hidden sizes with which networks have equally many parameters."""

import dataclasses

import pytest

from pipelines.support.errors import UserError
from pipelines.tune import parameters
from tests.pipelines.tune.searches import config_of


@pytest.mark.parametrize("step", [1, 2, 8, 24])
@pytest.mark.parametrize("target", [1, 10, 5_000, 123_456, 3_000_000])
@pytest.mark.parametrize("start", [1, 64, 5000])
def test_the_nearest_size_is_found(step, target, start):
    def count(size):
        return 4 * size * size + 71 * size + 9

    size = parameters.nearest_size(count, target, step, start)
    assert size % step == 0 and size > 0
    best = min((n * step for n in range(1, 2000)), key=lambda n: abs(count(n) - target))
    assert abs(count(size) - target) == abs(count(best) - target)


@pytest.mark.parametrize(
    ("task", "changes", "step"),
    [
        ("sentiment", {"model": "lstm"}, 1),
        ("char-lm", {"model": "transformer"}, 8),  # four heads, each with an even number of features
        ("char-lm", {"model": "transformer", "positions": "none", "num_heads": 8, "hidden_size": 64}, 8),
        ("nmt", {"model": "rnn"}, 2),
    ],
)
def test_hidden_sizes_are_multiples_that_the_config_accepts(task, changes, step):
    config = config_of(task, **changes).resolve()
    assert parameters.size_step(config) == step
    dataclasses.replace(config, hidden_size=11 * step).check()


def test_the_parameters_of_a_layer_are_those_of_all_its_weights():
    weights = {"output/kernel": [4, 3], "output/bias": [3], "recurrent_1/cell/kernel": [2, 5]}
    assert parameters.of_layers(weights) == {"output": 15, "recurrent_1": 10}
    assert parameters.of_layers({}) == {}


def test_a_model_without_a_hidden_size_is_refused():
    with pytest.raises(UserError, match=r"--equal-parameters: --hidden-size has no effect here"):
        parameters.size_step(config_of(model="bag").resolve())


def test_a_feedforward_size_that_follows_the_hidden_size_still_does():
    config = config_of("nmt", model="transformer").resolve()
    assert parameters._sized(config, 96) == {"hidden_size": 96, "feedforward_size": 192}
    assert parameters._sized(config_of("nmt", model="rnn").resolve(), 96) == {"hidden_size": 96}


@pytest.mark.long
@pytest.mark.slow
def test_networks_of_several_depths_have_equally_many_parameters(tmp_path):
    configs = [config_of("char-lm", model="gru", hidden_size=64, num_layers=n).resolve() for n in (1, 3)]
    found = parameters._sizes(tmp_path, "char-lm", configs)
    assert found[0]["hidden_size"] == 64 > found[1]["hidden_size"]
    assert abs(found[1]["parameters"] / found[0]["parameters"] - 1) < 0.02
    assert parameters._sizes(tmp_path, "char-lm", [configs[1], configs[0]])[1]["hidden_size"] > 64


def test_a_task_without_a_hidden_size_is_refused(tmp_path):
    with pytest.raises(UserError, match="`transfer` has no --hidden-size"):
        parameters.equal_sizes(tmp_path, "transfer", [config_of("transfer", model=None, encoder="x").resolve()])
