"""Exercises 7 and 8: what reaches the first steps, and what a truncated gradient loses."""

import random

import numpy as np

from pipelines.learn.questions import Question
from pipelines.learn.steps import Lesson, Step, Values

_SENTENCES = (  # with the words that depend on each other, in their order
    ("the keys that the man near the door of the old house had lost yesterday were found", "keys", "were"),
    ("if the weather in the north of the country stays dry until the end of the week then we leave", "if", "then"),
    ("she said that she had seen it and so she was asked", "that", "had"),
)


def exercise_7(generator: random.Random | None = None) -> Lesson:
    """Returns why the gradient of the first state is small.

    Args:
        generator: of other numbers than the first ones.
    """
    weight, state, steps = 0.8, 0.6, 20
    if generator:
        weight, state = generator.choice((0.7, 0.85, 0.95)), generator.choice((0.2, 0.3, 0.5))
        steps = generator.choice((12, 15, 20))
    factor = weight * (1 - state**2)
    lost = int(np.ceil(np.log(0.1) / np.log(factor)))
    return Lesson(
        "exercise 7: why the gradient of the first step is small",
        f"A network with one unit has the recurrent weight {weight:g}, and its state is {state:g} at every step. How "
        f"much of a gradient arrives {steps} steps earlier?",
        (
            Step(
                "The factor of one step",
                "dh_t/dh_(t-1) = u (1 - h_t^2)     because tanh' = 1 - tanh^2",
                (Values("1 - h^2", 1 - state**2), Values("factor", factor)),
            ),
            Step(
                "The factor of many steps",
                f"factor^{steps}",
                (
                    Values(
                        "left",
                        factor ** np.array([1, 5, 10, steps]),
                        columns=tuple(f"{k} steps" for k in (1, 5, 10, steps)),
                        digits=7,
                    ),
                ),
                text=f"After {lost} steps more than 90 % is lost. A step that far back still acts on the loss, but no "
                "weight learns from it. Measured: `inspect gradients --models NAME`.",
            ),
        ),
        (
            Question("What is the factor of one step?", float(factor), "u (1 - h^2): step 1.", 0.0006),
            Question(
                "After how many steps is at least 90 % of the gradient lost for the first time?",
                lost,
                "The smallest k with factor^k <= 0.1: step 2.",
            ),
            Question(
                f"Which share of the gradient arrives {steps} steps earlier?",
                float(factor**steps),
                f"factor^{steps}: step 2.",
            ),
        ),
    )


def exercise_8(generator: random.Random | None = None) -> Lesson:
    """Returns which dependencies a truncated gradient cannot learn; for the argument see `exercise_7`."""
    length = generator.choice((5, 8, 12)) if generator else 10
    distances = []
    for sentence, first, second in _SENTENCES:
        words = sentence.split()
        start = words.index(first)
        distances.append(words.index(second, start) - start)
    lost = [f"{first} ... {second}" for (_, first, second), d in zip(_SENTENCES, distances, strict=True) if d >= length]
    rows = tuple(f"{first} ... {second}" for _, first, second in _SENTENCES)
    return Lesson(
        f"exercise 8: what truncation after K = {length} steps loses",
        f"Gradients end after K = {length} steps. Which of the dependencies below can the network not learn?",
        (
            Step("The sentences", picture=tuple(sentence for sentence, _, _ in _SENTENCES)),
            Step(
                "How many steps lie between the two words",
                "lost if the distance is K or more: the gradient ends before the first word",
                (Values("distance", np.array(distances)[:, None], rows),),
                text="The state still carries the first word past the window's border. But no weight learns to keep "
                "it, unless shorter dependencies of the same kind teach it. `train char-lm --window K` sets K; "
                "compare runs at equal numbers of updates, because a smaller K makes more updates per epoch.",
            ),
        ),
        (
            *(
                Question(f"What is the distance of {row}, in words?", int(d), "Counted in step 2.")
                for row, d in zip(rows, distances, strict=True)
            ),
            Question("How many of the three are lost?", len(lost), f"Those with a distance of at least {length}."),
        ),
        given=1,
    )
