"""Lesson 9: attention without recurrence."""

from pipelines.inspect.intervention_views import Intervene
from pipelines.inspect.text_views import Attention
from pipelines.learn.course import Course
from pipelines.learn.positions import positions
from pipelines.learn.questions import Question
from pipelines.learn.scaling import scaling
from pipelines.learn.steps import Lesson, Step

_MODEL = "lesson-9"
_TEXT = "the trophy did not fit into the suitcase because it was too {} so people looked for another"


def lesson(course: Course) -> Lesson:
    """Returns the steps of the lesson."""
    return Lesson(
        "lesson 9: the Transformer",
        '"The trophy did not fit into the suitcase because it was too large": what was too large? A Transformer has no '
        "state that is carried along. Every word looks at every word before it, in several layers. How does that work, "
        "and where does it find the answer?",
        (
            Step(
                "A block",
                "a = x + MultiHeadAttention(norm(x))     y = a + W2 f(W1 norm(a))",
                layer="layers.TransformerDecoderBlock",
                text="Each word asks (query), offers (key) and contributes (value) a projection of its vector. Several "
                "heads do that side by side, in a part of the vector each. In a language model a word sees only what "
                "stands before it: the weights of later words are 0.",
            ),
            *positions().steps[:2],
            *scaling(1).steps[-1:],
            *(
                course.printed(
                    f'What was too {word}? The network chooses between "trophy" and "suitcase"',
                    _MODEL,
                    "The training text has many things and containers, but not this sentence, nor one that differs "
                    "from it in one word.",
                    texts=(_TEXT.format(word),),
                    next=3,
                )
                for word in ("large", "small")
            ),
            course.drawn(
                "Where each head looks",
                Attention,
                (_MODEL,),
                'The last row asks what follows "another". Compare the heads: which one looks back at the nouns?',
                text=_TEXT.format("large"),
            ),
            course.drawn(
                "Which heads does the answer rest on?",
                Intervene,
                (_MODEL,),
                "Each head and each sublayer is taken out in turn. That a head looks somewhere does not yet mean that "
                "it matters.",
                text=_TEXT.format("large"),
            ),
        ),
        (
            Question(
                "A vector of 64 numbers is divided among 4 heads. How many has each?",
                16,
                "Several heads, a part of the vector each: step 1.",
            ),
            Question(
                "How many steps apart are the first and the last of 50 words, along the shortest path in one layer of "
                "self-attention?",
                1,
                "Every word looks at every word before it: step 1. In a recurrent network it is 49.",
            ),
            Question(
                'Which noun does the network choose for "too small"?',
                ("suitcase",),
                "The first row of its table.",
            ),
        ),
        ("layers/transformer.py:TransformerDecoderBlock", "layers/multi_head_attention.py:CachedMultiHeadAttention"),
    )
