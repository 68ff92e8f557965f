"""Lesson 1: what one recurrent unit computes, and what it can remember."""

import numpy as np

from pipelines.inspect.intervention_views import Intervene
from pipelines.inspect.text_views import States
from pipelines.learn.course import Course
from pipelines.learn.questions import Question
from pipelines.learn.steps import Lesson, Step, Values

_MODEL = "lesson-1"
_WORDS = ("day", "night", "quiet", "sun", "moon")
_TEXTS = ("day quiet quiet", "night quiet quiet")


def lesson(course: Course) -> Lesson:
    """Returns the steps of the lesson."""
    model = course.model(_MODEL)
    traces = model.trace(list(_TEXTS))
    weights = {each.name.split(":")[0]: each.numpy() for each in model.variables()}
    w, u, b = (weights[f"recurrent_1/simple_rnn_cell/{name}"] for name in ("kernel", "recurrent_kernel", "bias"))
    vectors = np.array([weights["tokens/embeddings"][model.token_id(word, "")] for word in _WORDS])
    inputs = vectors @ w[:, 0] + b[0]
    start, *_ = traces[0].recurrent["layer_1"]["hidden"][:, 0]  # after the token that starts a line
    day, night = (trace.recurrent["layer_1"]["hidden"][1:, 0] for trace in traces)
    quiet = inputs[_WORDS.index("quiet")]
    return Lesson(
        "lesson 1: one recurrent unit",
        'A text tells of days and nights: "day quiet sun quiet quiet sun night quiet moon quiet day ...". Behind '
        '"quiet" there may be a sun or a moon. Whoever predicts it must still know which of "day" and "night" came '
        "last, however long ago. How does a network with a single unit, whose whole memory is one number, do that?",
        (
            Step(
                "The equation",
                "h = tanh(w . e + u h' + b)     e: vector of the word that is read, h': the h of the step before",
                text="A unit adds up what it reads, what it remembers and a constant, and tanh squeezes the sum "
                "between -1 and 1: tanh(0) = 0, tanh(1) = 0.762, tanh(3) = 0.995. Nothing else is carried from word to "
                "word. A network that has not read anything has h = 0.",
            ),
            Step(
                "What training found",
                "e: two numbers for each word",
                (
                    Values("e", vectors, rows=_WORDS),
                    *(Values("w", w[:, 0]), Values("u", float(u[0, 0])), Values("b", float(b[0]))),
                    Values("w . e + b", inputs[:, None], rows=_WORDS),
                ),
                "keras.layers.Embedding, keras.layers.SimpleRNN",
                text="Nobody chose these numbers: the training changed them until the next words became likely. "
                'Compare "day" with "night": what they add to the sum has different signs. What "quiet" adds is small.',
            ),
            Step(
                "Reading word by word",
                "h after each word",
                (Values("h", np.array([day, night]), rows=_TEXTS, columns=("first", "second", "third")),),
                "keras.layers.SimpleRNN",
                text='The first word decides the sign of the state, and "quiet" keeps it: of the two terms, u h\' = '
                f"{u[0, 0] * day[0]:.3f} weighs more than what is read, {quiet:.3f}. (A line starts with a token of "
                f"its own, which leads to {start:.3f}.) By hand, the second "
                f"state of the first row is tanh({quiet:.3f} + {u[0, 0]:.3f} * {day[0]:.3f}) = "
                f"{np.tanh(quiet + u[0, 0] * day[0]):.3f}.",
            ),
            course.drawn(
                "A longer line, as a picture",
                States,
                (_MODEL,),
                "One unit moves on a line: left and right are the two signs. On a terminal, the command below writes "
                "the picture to a page.",
                text="day quiet sun quiet quiet night quiet quiet moon",
            ),
            *(
                course.printed(
                    f'What comes after "{text}"',
                    _MODEL,
                    "The output multiplies h by a number for each word and adds a constant; exp of each, divided by "
                    "their sum, is its probability. So the sign of h decides between sun and moon. The last column is "
                    "what --temperature 0.8 and --top-p 0.95 make of the probabilities when a text is written: likely "
                    "words become likelier, unlikely ones are cut.",
                    texts=(text,),
                    next=3,
                )
                for text in _TEXTS
            ),
            course.drawn(
                "Is it really this number?",
                Intervene,
                (_MODEL,),
                f'hidden:3:0 is unit 0 after the third word. The last state of "{_TEXTS[1]}" is set to that of '
                f'"{_TEXTS[0]}", {day[2]:.3f}: the answer becomes '
                "that of a day.",
                text=_TEXTS[1],
                clamp=(f"hidden:3:0={day[2]:.4f}",),
            ),
        ),
        (
            Question(
                "A unit has w . e + b = 0.5, u = 2 and h' = 0.25. What is its new state?",
                float(np.tanh(1.0)),
                "tanh(0.5 + 2 * 0.25) = tanh(1): step 1.",
                0.0051,
            ),
            Question(
                'After which word is the state of this network positive: "day" or "night"?',
                ("day",) if day[0] > night[0] else ("night",),
                "Compare the two rows of step 3, in the first column.",
            ),
            Question(
                "In the last step the state of a night becomes that of a day. Which word does the network then find "
                'more likely: "sun" or "moon"?',
                ("sun",),
                "The state is all that the network remembers: step 7.",
            ),
        ),
        ("pipelines/networks/recurrent.py:stacked_recurrent", "pipelines/networks/interventions.py:EditedRecurrent"),
    )
