import math

import pytest

from pipelines.learn.exercises.gates import exercise_3, exercise_4


def test_exercise_3_is_a_step_of_an_lstm_s_unit():
    cell, hidden, kept = (question.answer for question in exercise_3().questions)
    assert cell == pytest.approx(0.9 * 0.8 + 0.1 * 0.5)
    assert hidden == pytest.approx(0.2 * math.tanh(cell)) and kept == ("kept",)


def test_exercise_4_counts_the_words_between():
    words, left, needed = (question.answer for question in exercise_4().questions)
    assert words == len(["that", "the", "athletes", "won"])
    assert left == pytest.approx(0.9**4) and needed**words == pytest.approx(0.5)
