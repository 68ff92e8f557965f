"""Lesson 4: gates that keep, and what happens if one turns them."""

import numpy as np

from pipelines.inspect.intervention_views import Intervene
from pipelines.inspect.language_views import Agreement
from pipelines.inspect.models import Model
from pipelines.inspect.text_views import Gates
from pipelines.inspect.trace import Edit
from pipelines.learn.course import Course
from pipelines.learn.exercises.recurrent import exercise_5
from pipelines.learn.questions import Question
from pipelines.learn.steps import Lesson, Step, Values
from pipelines.networks.interventions import ALL

_MODEL = "lesson-4"
_FLIGHTS = "the flights the airline was canceling"
_TROPHY = "the trophy that the athletes won was large"
_VERBS = ("was", "were")


def _verbs(model: Model, forget: float | None) -> list[float]:
    """Returns the probability of each verb after the words, if all forget gates are set to a number."""
    edits = [] if forget is None else [Edit("layer_1", "forget_gate", ALL, ALL, ALL, forget)]
    (trace,) = model.intervene(_FLIGHTS, [edits])
    features = trace.outputs["features"][-1:]
    return [float(model.probability_of(verb)(features)[0]) for verb in _VERBS]


def lesson(course: Course) -> Lesson:
    """Returns the steps of the lesson."""
    return Lesson(
        "lesson 4: the LSTM keeps what it needs",
        "A simple network rewrites its whole state at every word. An LSTM has a second state, the cell, and three "
        "gates that decide what is kept, what is written and what is shown. Does it remember the subject now?",
        (
            Step(
                "The equations",
                "f = sigmoid(W_f x + U_f h' + b_f)     i, o likewise     g = tanh(W_g x + U_g h' + b_g)\n"
                "c = f * c' + i * g                    h = o * tanh(c)",
                layer="keras.layers.LSTM",
                text="sigmoid(x) = 1 / (1 + exp(-x)) lies between 0 and 1. f keeps (1) or forgets (0) the cell's "
                "content, i writes the new content g, o shows the cell. "
                "Each unit has gates of its own, computed from the word and the state before; * multiplies the numbers "
                "of each unit. If nothing is written, c after k words is c multiplied by f k times.",
            ),
            *exercise_5().steps[:2],
            course.drawn(
                "The subject far before its verb: the simple network of lesson 3, and an LSTM of the same size",
                Agreement,
                ("lesson-3", _MODEL),
                "Both read the same sentences, and have 64 units.",
                text=_FLIGHTS,
                grammar=True,
            ),
            course.drawn(
                "The gates at each word",
                Gates,
                (_MODEL,),
                "A forget gate near 1 keeps. Look for units whose forget gate is high between the subject and the "
                "verb, and low at the verb.",
                text=_TROPHY,
                top=12,
            ),
            Step(
                "Turn the gates: what the verb rests on",
                f'P(was) and P(were) after "{_FLIGHTS}", if all forget gates are set',
                (
                    Values(
                        "P",
                        np.array([_verbs(course.model(_MODEL), value) for value in (None, 0.0, 1.0)]),
                        ("nothing is set", "f = 0", "f = 1"),
                        _VERBS,
                    ),
                ),
                "keras.layers.LSTM",
                text="With f = 0 nothing is kept from word to word: the two verbs come closer, because the network no "
                "longer knows the number of the subject. With f = 1 nothing is forgotten. (The words are read alone "
                "here; above, three other sentences stand before them, as in training.) "
                "`inspect intervene` sets any gate, unit or state: `--clamp forget:all:all=0`.",
            ),
            course.drawn(
                "Which units does the answer rest on?",
                Intervene,
                (_MODEL,),
                "Each unit is taken out in turn. A number is the largest change of the probability of a next word. No "
                "single unit decides: what the network remembers is spread over several.",
                text=_FLIGHTS,
            ),
        ),
        (
            Question(
                "A unit has f = 0.5, c' = 0.8, i = 1 and g = 0.2. What is its new content c?",
                0.6,
                "c = f * c' + i * g = 0.4 + 0.2: step 1.",
                0.0051,
            ),
            Question(
                "A forget gate of 0.9 is applied at 10 words. Which share of the content is left?",
                0.9**10,
                "0.9^10: each word multiplies by f.",
                0.0051,
            ),
            Question(
                f'Which verb does the LSTM find more likely after "{_FLIGHTS}": "was" or "were"?',
                ("were",),
                'The sentences below the first figure: "flights" is plural, although "airline" stands nearer.',
            ),
        ),
        (
            "layers/lstm_gru.py:HoistedLSTM",
            "layers/recurrent_trace.py:RecurrentTrace",
            "pipelines/inspect/gates.py:figures",
        ),
    )
