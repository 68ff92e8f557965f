import numpy as np
import pytest

from pipelines.learn.memory_tasks import COPIED, KEYS, SYMBOLS, TASKS


def examples(name, distance, count=200):
    return TASKS[name].examples(distance, count, np.random.default_rng(4))


@pytest.mark.parametrize("distance", [2, 7])
def test_what_is_copied_was_read_before_the_blanks(distance):
    inputs, targets = examples("copy", distance)
    assert inputs.shape == (200, 2 * COPIED + distance, SYMBOLS + 2) and (inputs.sum(axis=-1) == 1).all()
    for read, answers in zip(inputs.argmax(axis=-1), targets, strict=True):
        mark = read.tolist().index(SYMBOLS + 1)
        assert (read[:COPIED] == answers).all() and mark - COPIED == distance
        assert set(read[COPIED:mark]) | set(read[mark + 1 :]) == {SYMBOLS}
        assert len(read) - mark == COPIED, "there is a place for each answer"


@pytest.mark.parametrize("distance", [2, 7])
def test_what_is_recalled_is_the_value_of_the_asked_key(distance):
    inputs, targets = examples("recall", distance)
    assert inputs.shape == (200, KEYS + distance, KEYS + SYMBOLS)
    for read, answer in zip(inputs, targets, strict=True):
        values = {step[:KEYS].argmax(): step[KEYS:].argmax() for step in read[:KEYS]}
        assert len(values) == KEYS and (read[:KEYS].sum(axis=1) == 2).all()
        assert not read[KEYS:-1].any() and not read[-1, KEYS:].any() and read[-1].sum() == 1
        assert [values[read[-1].argmax()]] == answer


@pytest.mark.parametrize("distance", [2, 3, 8])
def test_what_is_added_is_marked_once_in_each_half(distance):
    inputs, targets = examples("adding", distance)
    numbers, marks = inputs[..., 0], inputs[..., 1]
    assert inputs.shape == (200, distance, 2) and numbers.min() >= 0 and numbers.max() < 1
    assert (marks[:, : distance // 2].sum(axis=1) == 1).all() and (marks.sum(axis=1) == 2).all()
    np.testing.assert_allclose(targets[:, 0, 0], (numbers * marks).sum(axis=1), rtol=1e-6)


def test_the_thresholds_are_far_from_what_needs_no_memory():
    task, (_, sums) = TASKS["adding"], examples("adding", 10, 20_000)
    always_one = task.score(np.ones_like(sums), sums)
    assert always_one == pytest.approx(1 / 6, rel=0.05) and task.threshold == pytest.approx(always_one / 10, rel=0.05)
    for name in ("copy", "recall"):
        _, targets = examples(name, 5, 20_000)
        constant = np.broadcast_to(np.eye(SYMBOLS)[1], (*targets.shape, SYMBOLS))
        assert TASKS[name].score(constant, targets) == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize("name", TASKS)
def test_right_answers_are_solved_and_cost_nothing(name):
    task, (_, targets) = TASKS[name], examples(name, 5)
    right = targets if task.classes == 1 else np.eye(task.classes, dtype="float32")[targets] * 100
    assert task.is_solved(task.score(right, targets)) and not task.is_solved(task.score(right[::-1], targets))
    assert np.mean(task.loss(targets, right)) == pytest.approx(0, abs=1e-6)


def test_the_same_seed_draws_the_same_examples():
    for name in TASKS:
        for one, other in zip(examples(name, 6), examples(name, 6), strict=True):
            np.testing.assert_array_equal(one, other)


def test_examples_are_written_with_their_answers():
    def written(name):
        inputs, targets = examples(name, 3, 1)
        return TASKS[name].written(inputs[0], targets[0])

    read, answers = written("copy").split("   answers: ")
    assert read == f"{answers} . . . ? . ."
    read, answer = written("recall").split("   answer: ")
    assert f"{read.split()[-1][:-1]}={answer}" in read.split() and read.split()[2:4] == [".", "."]
    read, answer = written("adding").split("   answer: ")
    assert sum(float(each[:-1]) for each in read.split() if "*" in each) == pytest.approx(float(answer), abs=0.011)
