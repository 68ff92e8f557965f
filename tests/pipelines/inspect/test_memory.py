import numpy as np
import pandas as pd
import pytest

from pipelines.inspect.memory import earlier_tokens, memory_steps, number_of_subject, probe
from pipelines.inspect.sentences import AgreementSentence
from pipelines.support.errors import UserError


@pytest.fixture
def generator():
    return np.random.default_rng(0)


def one_hot(ids, num):
    return np.eye(num)[ids]


def test_a_state_that_is_the_last_two_tokens_knows_those_alone(generator):
    ids = generator.integers(6, size=1500)
    before = np.concatenate([[0], ids[:-1]])
    states = np.concatenate([one_hot(ids, 6), one_hot(before, 6)], axis=1)
    table = earlier_tokens(states, ids, range(5))
    assert table["k"].tolist() == [0, 1, 2, 3, 4]
    assert (table["accuracy"][:2] > 0.99).all()
    assert (table["accuracy"][2:] < 0.3).all()
    assert (table["floor"] < 0.3).all()
    assert ((table["low"] <= table["accuracy"]) & (table["accuracy"] <= table["high"])).all()
    assert memory_steps(table) == 1


def test_tokens_of_other_texts_are_not_asked_for(generator):
    ids = generator.integers(4, size=900)
    texts = np.arange(900) // 3
    table = earlier_tokens(one_hot(ids, 4), ids, [0, 2, 3], texts)
    assert table["k"].tolist() == [0, 2]
    assert table["rows"].tolist() == [270, 90]  # 30 % of 300 texts, with 3 and 1 states


def test_rare_tokens_are_left_out(generator):
    ids = np.concatenate([generator.integers(3, size=500), np.arange(3, 103)])
    table = earlier_tokens(one_hot(ids, 103), ids, [0], num_tokens=3)
    assert table["accuracy"][0] == 1
    assert table["rows"][0] <= 200


def test_random_states_do_not_beat_the_floor(generator):
    labels = generator.random(2000) < 0.7
    found = probe(generator.normal(size=(2000, 10)), labels)
    assert found["accuracy"] == pytest.approx(found["floor"], abs=0.03)
    assert found["floor"] == pytest.approx(0.7, abs=0.05)


def test_one_class_is_the_floor(generator):
    assert probe(generator.normal(size=(50, 2)), np.zeros(50))["accuracy"] == 1


def test_groups_are_on_one_side(generator):
    # Each group has its own direction and its own random label: only a probe that has seen the group could answer.
    groups = np.repeat(np.arange(100), 5)
    labels = (generator.random(100) < 0.5)[groups]
    found = probe(one_hot(groups, 100), labels, groups)
    assert found["accuracy"] < 0.75
    assert found["rows"] == 150


def test_the_number_of_the_subject(generator):
    sentences, states = [], np.zeros((200, 6, 2))
    for i in range(200):
        plural = i // 4 % 2
        distance = i % 4
        prefix = " ".join(["the", "keys" if plural else "key", *["nearby"] * distance])
        verbs = ("were", "was") if plural else ("was", "were")
        sentences.append(AgreementSentence(prefix, *verbs, distance, 0))
        states[i] = generator.normal(size=(6, 2))
        states[i, 1:3, 0] = plural  # known at the subject and one word after it
    table = number_of_subject(states, sentences, range(6))
    assert table["k"].tolist() == [0, 1, 2, 3]
    assert (table["accuracy"][:2] == 1).all()
    assert (table["accuracy"][2:] < 0.8).all()
    assert memory_steps(table) == 1
    with pytest.raises(UserError, match="200 sentences of up to 5 words"):
        number_of_subject(states[:, :3], sentences, [1])
    with pytest.raises(UserError, match="no distance"):
        number_of_subject(states, sentences, [10])


def test_memory_steps():
    def table(*accuracies):
        return pd.DataFrame({"k": np.arange(len(accuracies)), "accuracy": accuracies, "floor": 0.1})

    assert memory_steps(table(1, 0.9, 0.8, 0.5, 0.49, 0.9)) == 3
    assert memory_steps(table(1, 0.1, 0.1)) == 0
    assert memory_steps(table(1, 0.9, 0.9)) == 2


def test_impossible_requests_are_refused(generator):
    with pytest.raises(UserError, match="too few"):
        probe(np.zeros((5, 2)), np.zeros(5))
    with pytest.raises(UserError, match="one text"):
        probe(np.zeros((50, 2)), np.zeros(50), groups=np.zeros(50))
    with pytest.raises(UserError, match="one state for each"):
        earlier_tokens(np.zeros((5, 2)), np.zeros(6), [1])
    with pytest.raises(UserError, match="longer texts"):
        earlier_tokens(np.zeros((50, 2)), np.zeros(50), [60])
