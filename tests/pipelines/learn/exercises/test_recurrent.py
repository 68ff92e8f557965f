import numpy as np
import pytest

from pipelines.learn.exercises.language import exercise_10
from pipelines.learn.exercises.recurrent import exercise_1, exercise_5
from pipelines.learn.exercises.registry import EXERCISES
from pipelines.learn.exercises.sizes import exercise_6
from pipelines.learn.format import WIDTH, format_lesson


def numbers_of(lesson, name):
    """The numbers that the last step with this name shows."""
    return [value.numbers for step in lesson.steps for value in step.values if value.name == name][-1]


def test_exercise_1_gives_the_material_s_states():
    lesson = exercise_1()
    expected = [[0.4621, 0.1974], [0.3676, 0.5068], [0.7344, 0.6416]]
    np.testing.assert_allclose(numbers_of(lesson, "h"), expected, atol=5e-5)
    h = np.zeros(2)
    for time in (1, 2, 3):
        h = np.tanh(numbers_of(lesson, "W") @ numbers_of(lesson, f"x{time}") + numbers_of(lesson, "U") @ h)
        np.testing.assert_allclose(numbers_of(lesson, f"h{time}"), h, atol=1e-6)
    np.testing.assert_allclose(np.tanh(numbers_of(lesson, "sum")), h, atol=1e-6)


def test_exercise_5_has_the_material_s_givens_and_cell():
    lesson = exercise_5()
    givens = {"f": [0.9, 0.3], "i": [0.2, 0.8], "c'": [1, 0.5], "g": [0, 1]}
    for name, numbers in givens.items():
        np.testing.assert_array_equal(numbers_of(lesson, name), numbers)
    np.testing.assert_allclose(numbers_of(lesson, "f * c'"), [0.9, 0.15])
    np.testing.assert_allclose(numbers_of(lesson, "i * g"), [0, 0.8])
    cell = numbers_of(lesson, "c")
    np.testing.assert_allclose(cell, [0.9, 0.95], atol=1e-6)
    f, i, g, before = (numbers_of(lesson, name) for name in ("f", "i", "g", "c'"))
    np.testing.assert_allclose(cell, f * before + i * g, atol=1e-6)
    assert "keeps 90% of" in lesson.steps[-1].text and "keeps 30% and adds 0.8" in lesson.steps[-1].text


def test_the_givens_of_the_other_exercises_are_the_material_s():
    lesson = exercise_1()
    givens = {"W": [[0.5, 0.3], [0.2, 0.4]], "U": [[0.1, 0.2], [0.3, 0.1]], "b": [0, 0], "h0": [0, 0]}
    for name, numbers in (givens | {"x1": [1, 0], "x2": [0, 1], "x3": [1, 1]}).items():
        np.testing.assert_array_equal(numbers_of(lesson, name), numbers)
    assert "inputs of size 128 and 256 units" in exercise_6().question
    np.testing.assert_array_equal(numbers_of(exercise_10(), "N"), [150, 80])


def test_exercise_6_counts_by_the_formula():
    lesson = exercise_6()
    np.testing.assert_array_equal(numbers_of(lesson, "parameters"), [98_560, 295_680, 394_240])
    np.testing.assert_allclose(numbers_of(lesson, "% of the LSTM"), [25, 75, 100])
    count = numbers_of(lesson, "count")
    np.testing.assert_array_equal(count[:, :3].sum(axis=1), count[:, 3])
    np.testing.assert_array_equal(count[:, 3], np.array([1, 3, 4]) * numbers_of(lesson, "d (n + d + 1)"))
    assert f"{295_680 + 3 * 256:,}" in lesson.steps[-1].text


def test_exercise_10_compares_the_losses():
    lesson = exercise_10()
    np.testing.assert_allclose(numbers_of(lesson, "loss"), np.log([150, 80]), rtol=1e-6)
    assert numbers_of(lesson, "bits") == pytest.approx(np.log2(150 / 80), rel=1e-5)
    assert numbers_of(lesson, "ratio") == pytest.approx((150 / 80) ** 20, rel=1e-4)


@pytest.mark.parametrize("number", [1, 5, 6, 10])
def test_each_prints_a_question_steps_and_an_answer(number):
    lesson = EXERCISES[number]()
    lines = format_lesson(lesson)
    assert lesson.title.startswith(f"exercise {number}:") and lesson.question.endswith("?")
    assert lesson.steps[-1].title == "Answer" and lesson.steps[-1].text
    assert any(step.layer.startswith("keras.") for step in lesson.steps)
    assert max(map(len, lines)) <= WIDTH
