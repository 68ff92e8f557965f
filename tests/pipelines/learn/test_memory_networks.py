import dataclasses

import numpy as np
import pytest

from pipelines.learn import settings
from pipelines.learn.memory_networks import NETWORKS, Trainer, build
from pipelines.learn.memory_tasks import TASKS


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_the_networks_are_alike_in_size_and_answer_with_the_last_inputs(name, task):
    inputs, _ = task.examples(6, 3, np.random.default_rng(0))
    network = build(NETWORKS[name], task, inputs.shape[1])
    assert network(inputs).shape == (3, task.answers, task.classes)
    assert 4200 < network.count_params() < 5300


def test_only_attention_has_a_path_of_one_step():
    assert {name for name, network in NETWORKS.items() if network.path == "1"} == {"attention", "transformer"}
    assert tuple(NETWORKS) == settings.NETWORKS


@pytest.mark.long
def test_a_network_learns_and_each_seed_begins_anew():
    trainer = Trainer(NETWORKS["transformer"], TASKS["recall"], 4)
    first = trainer.steps(seed=1, max_steps=300)
    assert first <= 300 and first % settings.EVERY == 0
    trainer.steps(seed=2, max_steps=settings.EVERY)
    assert trainer.steps(seed=1, max_steps=300) == first


@pytest.mark.long
@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("task", TASKS)
def test_every_network_learns_every_task_at_a_short_distance(name, task):
    assert np.isfinite(Trainer(NETWORKS[name], TASKS[task], 3).steps(seed=5, max_steps=1500))


HIDDEN = {"copy": slice(0, 3), "recall": slice(0, 2), "adding": slice(0, None)}  # where the information stands


def blind(name):
    """Returns a task whose inputs are zero where the information stands."""

    def examples(*arguments):
        inputs, targets = TASKS[name].examples(*arguments)
        inputs[:, HIDDEN[name]] = 0
        return inputs, targets

    return dataclasses.replace(TASKS[name], examples=examples)


@pytest.mark.long
@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("network", ["gru", "transformer"])
def test_who_cannot_see_the_information_learns_nothing(name, network):
    """The same network learns the task within these steps if it sees it."""
    steps = 600
    assert Trainer(NETWORKS[network], TASKS[name], 3).steps(seed=1, max_steps=steps) < np.inf
    assert Trainer(NETWORKS[network], blind(name), 3).steps(seed=1, max_steps=steps) == np.inf
