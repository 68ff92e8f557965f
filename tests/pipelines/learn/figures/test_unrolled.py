"""The unrolled network against NumPy, and its way back."""

import numpy as np
import pytest

from pipelines.learn.backward import INPUTS, backward
from pipelines.learn.figures.unrolled import NUM_STEPS, bptt, matrices, unrolled
from pipelines.learn.worked_example import so_long_and


def values_of(step):
    return {each.name: each.numbers for each in step.values}


def test_the_states_are_those_of_the_equations():
    words = ("the", "so", "the", "witch")
    weights, vocabulary = matrices(words)
    e, w, u, v = (np.array(weights[name]) for name in "EWUV")
    h = np.zeros(2)
    for t, step in enumerate(unrolled(" ".join(words)).steps):
        h = np.maximum(u @ h + w @ e[vocabulary.index(words[t])], 0)
        y = np.exp(v @ h) / np.exp(v @ h).sum()
        found = values_of(step)
        np.testing.assert_allclose(found[f"h{t}"], h, atol=1e-5)
        assert found[f"y{t}[{vocabulary[y.argmax()]}]"] == pytest.approx(y.max(), abs=1e-5)
        assert f"{h[0]:.3f}" in step.drawing


def test_the_words_of_the_example_have_its_numbers():
    expected = {each.name: each.numbers for step in so_long_and({}).steps for each in step.values}
    found = values_of(unrolled("so long and").steps[1])
    np.testing.assert_allclose(found["h1"], expected["h1"], atol=1e-6)


def test_a_word_has_the_same_row_in_every_sentence():
    one, names = matrices(("green", "witch"))
    other, others = matrices(("witch", "so", "green"))
    np.testing.assert_array_equal(one["E"][names.index("witch")], other["E"][others.index("witch")])


def test_long_sentences_are_drawn_in_parts_and_as_a_whole():
    *steps, whole = unrolled("a b c d e internationalization").steps
    assert [step.drawing.count("<rect") for step in steps] == [13] * 6
    assert whole.drawing.count("<rect") == 19 and "internatio\u2026" in whole.drawing


def test_the_gradients_are_those_of_the_backward_pass():
    found = backward(inputs=np.tile(INPUTS, (2, 1)))
    *back, total = bptt().steps[1:]
    norms = [step.values[0].numbers for step in back]
    np.testing.assert_allclose(norms, np.linalg.norm(found.of_states, axis=-1)[::-1])
    assert values_of(total)["|dL/dU|"] == pytest.approx(np.linalg.norm(found.of_u.sum(0)))


@pytest.mark.parametrize("truncate", [1, 2, 5])
def test_truncation_leaves_out_what_came_before(truncate):
    found = backward(inputs=np.tile(INPUTS, (2, 1)))
    lesson = bptt(truncate)
    assert len(lesson.steps) == truncate + 2
    kept = values_of(lesson.steps[-1])["|dL/dU|"]
    assert kept == pytest.approx(np.linalg.norm(found.of_u[NUM_STEPS - truncate :].sum(0)))
    assert lesson.steps[-1].drawing.count("stroke-dasharray") == NUM_STEPS - truncate
