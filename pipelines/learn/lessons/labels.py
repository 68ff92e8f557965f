"""Lesson 6: a label for every word, read from both sides."""

from pipelines.inspect.intervention_views import Intervene
from pipelines.learn.course import Course
from pipelines.learn.questions import Question
from pipelines.learn.steps import Lesson, Step

_MODEL = "lesson-6"
_BOOK = "Jim bought 300 shares of Acme Corp. in 2006 ."
_TEXTS = ("Carter Bank sold 20 bonds in Jordan .", "Carter sold 20 bonds in Jordan .")

_ABOUT = (
    "The states of the backward direction are set to 0 at every word. A number stands before each word: its place.",
    'The forward direction has read nothing but "Carter" in either sentence. What still tells them apart is the rule '
    "that an I- needs a B- of its kind before it.",
)


def lesson(course: Course) -> Lesson:
    """Returns the steps of the lesson."""
    return Lesson(
        "lesson 6: a label for every word",
        "So far a network predicted the next word. The same states can carry labels: which words are a name, and of "
        'what? "Carter" is a person in "Carter sold bonds", and a part of an organisation in "Carter Bank sold bonds": '
        "the label depends on a word that comes later. So the network reads in both directions.",
        (
            Step(
                "Spans as tags: B, I and O",
                text="B- begins a name, I- continues it, O is outside. PER is a person, ORG an organisation, LOC a "
                "place. So one tag for each word says where each name begins and ends, and two names that follow each "
                "other stay apart.",
            ),
            Step(
                "Two networks, one reads backwards",
                "h_t = [forward state after x_1 ... x_t ; backward state after x_T ... x_t]\nP(tag_t) = softmax(W h_t)",
                layer="keras.layers.Bidirectional",
                text="The two states of a word stand side by side, one vector of twice the size. Each word gets a "
                "probability for each tag. Only sequences in which each "
                "I- follows a B- or I- of its kind are allowed. (Other taggers of Unroll also learn scores for "
                "neighbouring tags, a conditional random field; it is left out here.)",
            ),
            course.printed(
                "The sentence of the book",
                _MODEL,
                "The training text has neither this sentence nor one that differs from it in one word.",
                texts=(_BOOK,),
            ),
            course.printed("A name that a later word decides", _MODEL, texts=_TEXTS),
            *(
                course.drawn(
                    f'What does the backward direction add? "{text}"',
                    Intervene,
                    (_MODEL,),
                    _ABOUT[i],
                    text=text,
                    clamp=("layer_1_backward:hidden:all:all=0",),
                )
                for i, text in enumerate(_TEXTS)
            ),
        ),
        (
            Question(
                "Tags: B-PER O B-ORG I-ORG O B-ORG. How many names are in the sentence?",
                3,
                "Each B- begins one: step 1.",
            ),
            Question(
                "Each direction has 50 units. How many numbers has the state from which a tag is computed?",
                100,
                "The two states stand side by side: step 2.",
            ),
            Question(
                'Which direction has already read "Bank" when it reads "Carter": `forward` or `backward`?',
                ("backward",),
                '"Bank" stands after "Carter": step 2.',
            ),
        ),
        ("pipelines/tagging/networks.py:build", "pipelines/networks/recurrent.py:stacked_recurrent"),
    )
