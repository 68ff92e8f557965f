import pytest

from pipelines.learn.exercises.language import exercise_9, exercise_10, exercise_11


def test_exercise_9_names_both_words_and_asks_for_the_right_one():
    for question in exercise_9().questions:
        assert question.answer[0] in question.text
    assert [question.answer for question in exercise_9().questions] == [("themselves",), ("or",), ("read",)]


def test_exercise_10_asks_for_nats_bits_and_a_sentence():
    nats, bits, ratio = (question.answer for question in exercise_10().questions)
    assert (nats, bits) == (pytest.approx(0.6286, abs=1e-4), pytest.approx(0.9069, abs=1e-4))
    assert ratio == pytest.approx((150 / 80) ** 20)


def test_exercise_11_counts_the_words_of_each_direction():
    forward, both, direction = (question.answer for question in exercise_11().questions)
    assert (forward, both, direction) == (2, 10, ("backward",))
