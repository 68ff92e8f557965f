"""Lesson 7: a sentence becomes one vector, and the vector another sentence."""

from pipelines.learn.course import Course
from pipelines.learn.questions import Question
from pipelines.learn.steps import Lesson, Step

_MODEL = "lesson-7"
_TEXT = "The green witch arrived."


def lesson(course: Course) -> Lesson:
    """Returns the steps of the lesson."""
    return Lesson(
        "lesson 7: from sequence to sequence",
        f'"{_TEXT}" is "Lleg\u00f3 la bruja verde." in Spanish: the verb stands first, and the adjective follows its '
        "noun. No label for each word can do that. How does a network write a sentence of another length and order?",
        (
            Step(
                "Encoder and decoder",
                "c = last state of the encoder     s_t = g(s_(t-1), y_(t-1), c)     P(y_t) = softmax(V [s_t ; c])",
                text="The encoder reads the whole sentence. Its last state c is all that the decoder knows of it: a "
                "vector of fixed size, whatever the length. The decoder is a language model that sees c at each step. "
                "It starts with a start token and ends with an end token.",
            ),
            Step(
                "Training and translating",
                "loss = -sum over t of log P(y_t | y_1 ... y_(t-1), x)",
                text="In training the decoder reads the true word before each step (teacher forcing), in translation "
                "the word that it has written. A beam of several translations is kept, and the likeliest wins.",
            ),
            course.printed(
                "A sentence that it has never read",
                _MODEL,
                "The training pairs have neither this sentence nor one that differs from it in one word. Some verbs "
                "stand before their subject in Spanish and others after it, so the first Spanish word depends on the "
                "last English one. Look at the order first, then at the words: all that the decoder knows of them had "
                "to go through c. Lesson 8 trains equally long, without this bottleneck.",
                texts=(_TEXT,),
                n_best=3,
            ),
            course.printed(
                "A verb that stands after its subject",
                _MODEL,
                texts=("The green witch sang.",),
                n_best=2,
            ),
        ),
        (
            Question(
                "The encoder has 96 units. A sentence has 5 words, another 50. How many numbers has c for the longer "
                "one?",
                96,
                "A vector of fixed size, whatever the length: step 1.",
            ),
            Question(
                "A translation has three words with the probabilities 0.5, 0.8 and 0.5. What is its probability?",
                0.2,
                "They are multiplied, or their logarithms added: step 2.",
                0.0051,
            ),
            Question(
                'Which Spanish word does the network write first for "The green witch arrived."?',
                ("llego", "lleg\u00f3"),
                "The first translation of step 3.",
            ),
        ),
        ("pipelines/translation/networks.py:encode", "pipelines/translation/networks.py:decode"),
    )
