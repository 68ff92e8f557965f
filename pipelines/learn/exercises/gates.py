"""Exercises 3 and 4: what the gates of an LSTM do at one word, and over many."""

import random

import numpy as np

from pipelines.learn.questions import Question
from pipelines.learn.steps import Lesson, Step, Values

_DIGITS = 3


def exercise_3(generator: random.Random | None = None) -> Lesson:
    """Returns what one unit of an LSTM does at the verb of "the cat sat".

    Args:
        generator: of other numbers than the first ones.
    """
    forget, write, output, candidate, before = 0.9, 0.1, 0.2, 0.5, 0.8
    if generator:
        forget, write, output = (generator.randint(1, 9) / 10 for _ in range(3))
        candidate, before = (generator.choice((-1, 1)) * generator.randint(2, 9) / 10 for _ in range(2))
    cell = forget * before + write * candidate
    hidden = output * np.tanh(cell)
    kept, written = abs(forget * before), abs(write * candidate)
    return Lesson(
        'exercise 3: the gates at "sat"',
        'An LSTM reads "the cat sat". At "sat" one of its units has the gates below. Does it keep the subject or store '
        "the verb, and how much of it do the other layers see?",
        (
            Step(
                "The gates and the content",
                "c = f c' + i g     h = o tanh(c)",
                tuple(
                    Values(name, number, digits=1)
                    for name, number in (("f", forget), ("i", write), ("o", output), ("g", candidate), ("c'", before))
                ),
            ),
            Step(
                "What is kept, what is written, what is shown",
                "c = f c' + i g     h = o tanh(c)",
                tuple(
                    Values(name, number, digits=_DIGITS)
                    for name, number in (
                        *(("f c'", forget * before), ("i g", write * candidate)),
                        *(("c", cell), ("tanh(c)", float(np.tanh(cell))), ("h", float(hidden))),
                    )
                ),
                text=f"Most of the new content is {'kept' if kept > written else 'written'}. o decides what the layers "
                "above and the next step's gates see; c keeps the rest for later. The gates of a trained network: "
                '`inspect gates "the cat sat" --models NAME`.',
            ),
        ),
        (
            Question("What does the cell c hold after the step?", float(cell), "c = f c' + i g: step 2.", 0.0051),
            Question("What is the unit's output h?", float(hidden), "h = o tanh(c): step 2.", 0.0051),
            Question(
                "Is more of the new content kept from before, or written now? Answer with `kept` or `written`.",
                ("kept",) if kept > written else ("written",),
                "Compare the sizes of f c' and i g: step 2.",
            ),
        ),
        given=1,
    )


def exercise_4(generator: random.Random | None = None) -> Lesson:
    """Returns how the forget gate keeps the number of "trophy" up to the verb; for the argument see `exercise_3`."""
    words = ("the trophy that the athletes won was large", "trophy", "was")
    gate, share = 0.9, 0.5
    if generator:
        words = generator.choice(
            (
                ("the flights the airline was canceling over there were full", "flights", "were"),
                ("the keys beside the table near the picture were missing", "keys", "were"),
                ("the letter that the teachers wanted downstairs was old", "letter", "was"),
            )
        )
        gate, share = generator.choice((0.8, 0.85, 0.95)), generator.choice((0.25, 0.5, 0.75))
    sentence, subject, verb = words
    tokens = sentence.split()
    steps = tokens.index(verb, tokens.index(subject) + 5) - tokens.index(subject) - 1
    left = gate**steps
    needed = share ** (1 / steps)
    return Lesson(
        f'exercise 4: the forget gate between "{subject}" and "{verb}"',
        f'"{sentence}": the number of "{subject}" is stored when the word is read, and used before "{verb}". What must '
        "the forget gate be at the words between them?",
        (
            Step(
                "The words that are read between",
                "c_T = f_T ... f_2 c_1     if nothing is written to this unit",
                picture=(" ".join(tokens),),
                text=f"{steps} words stand between them, and each multiplies the content by its f.",
            ),
            Step(
                f"What is left if f is {gate:g} at each of them",
                f"f^{steps}",
                (Values("left", left, digits=_DIGITS),),
            ),
            Step(
                f"The f that leaves {share:.0%}",
                f"f = {share:g}^(1/{steps})",
                (Values("f", needed, digits=_DIGITS),),
                text="The gate should be near 1 at these words, and low once the verb has been read. Whether a trained "
                f'network does that: `inspect gates "{sentence}" --models NAME`.',
            ),
        ),
        (
            Question(f'How many words stand between "{subject}" and "{verb}"?', steps, "Counted in step 1."),
            Question(
                f"If f is {gate:g} at each of them, what is left of the content, as a share?",
                float(left),
                f"f^{steps}: step 2.",
                0.0051,
            ),
            Question(
                f"Which f at each of them leaves {share:.0%}?", float(needed), f"f = share^(1/{steps}): step 3.", 0.0051
            ),
        ),
    )
