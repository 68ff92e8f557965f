"""Lesson 6: a label for every word, read from both sides."""

from pipelines.inspect.intervention_views import Intervene
from pipelines.learn.course import Course
from pipelines.learn.questions import Question
from pipelines.learn.steps import Lesson, Step

_MODEL = "lesson-6"
_TEXT = "Jim bought 300 shares of Acme Corp. in 2006."


def lesson(course: Course) -> Lesson:
    """Returns the steps of the lesson."""
    tagged = course.printed("Tags of a sentence", _MODEL, texts=(_TEXT,))
    return Lesson(
        "lesson 6: a label for every word",
        "So far a network predicted the next word. The same states can carry labels: which words are a name, and of "
        "what? A label may depend on words that come later, so the network reads in both directions.",
        (
            Step(
                "Two networks, one reads backwards",
                "h_t = [forward state after x_1 ... x_t ; backward state after x_T ... x_t]     tag_t from W h_t",
                layer="keras.layers.Bidirectional",
                text="Both states of a word stand side by side. A conditional random field chooses the sequence of "
                "tags, so that no I- follows an O.",
            ),
            tagged,
            Step(
                "Spans as tags: B, I and O",
                text="B- begins a span, I- continues it, O is outside. So a sequence of tags says where each name "
                "begins and ends, and two names that follow each other stay apart.",
            ),
            course.drawn(
                "What does the backward direction add?",
                Intervene,
                (_MODEL,),
                "The states of the backward direction are set to 0: each word is now labelled from the words before "
                "it and from itself.",
                text=_TEXT,
                clamp=("layer_1_backward:hidden:all:all=0",),
            ),
        ),
        (
            Question(
                "Tags: B-PER O B-ORG I-ORG O B-ORG. How many names are in the sentence?",
                3,
                "Each B- begins one: step 3.",
            ),
            Question(
                "Each direction has 50 units. How many numbers has the state from which a tag is computed?",
                100,
                "The two states stand side by side: step 1.",
            ),
            Question(
                'Which direction has read "Corp." when it reaches "Acme": `forward` or `backward`?',
                ("backward",),
                '"Corp." stands behind "Acme": step 1.',
            ),
        ),
        ("pipelines.tagging.networks:build", "layers.crf:CRF"),
    )
