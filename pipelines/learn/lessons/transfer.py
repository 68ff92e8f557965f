"""Lesson 10: what a network has learned from texts without labels helps where labels are few; then it is served."""

import json

from pipelines.learn.course import MODELS, Course
from pipelines.learn.questions import Question
from pipelines.learn.steps import Lesson, Step

_ENCODER, _CLASSIFIER = "lesson-10", "lesson-10-labels"
_BLANK = "i am [MASK] because i have not had any meal today"
_FULL = "i am [MASK] because i ate a lot of bread today"
_BANKS = (
    "he sat on the river bank and looked at the water and the boats",
    "my sister walked along the grassy bank and looked at the reeds and the fish",
    "she works at the savings bank and talked about money and loans",
)


def lesson(course: Course) -> Lesson:
    """Returns the steps of the lesson."""
    classifier = course.model(_CLASSIFIER)
    request = {"instances": [_BANKS[0], _BANKS[2]]}
    answer = classifier.ask("serving_default", text=list(request["instances"]))
    labels = [each.decode() for each in answer["label"]]
    return Lesson(
        "lesson 10: transfer and serving",
        "Labels are expensive, texts are not. A network first learns to fill blanks in texts without labels; then a "
        "few labelled texts suffice. And how do others use the model?",
        (
            Step(
                "Filling blanks",
                "loss = -sum over the masked places of log P(token | all other tokens)",
                layer="layers.TransformerEncoderBlock",
                text="Without the mask of a language model each word looks at all others, before and after it. So the "
                "network cannot be asked for the next word, but for a missing one.",
            ),
            course.printed(
                "A blank that only later words decide",
                _ENCODER,
                "The training text has neither this sentence nor one that differs from it in one word.",
                texts=(_BLANK,),
                top=4,
            ),
            course.printed("The same blank, another reason", _ENCODER, texts=(_FULL,), top=4),
            course.printed(
                "One word, two meanings",
                _ENCODER,
                "The token's embedding is the same in each sentence, its vector in context is not: the two banks of "
                "rivers are more alike than a bank of a river and one of money.",
                texts=_BANKS,
                near=True,
                word="bank",
            ),
            course.printed(
                f"Labels for {MODELS[_CLASSIFIER].text}: 60 labelled sentences are enough",
                _CLASSIFIER,
                "The encoder is kept, a new layer on top learns the labels; then the upper layers are trained, too.",
                texts=(_BANKS[0], _BANKS[2]),
            ),
            Step(
                "Served: texts in, labels out",
                f"serve --models {course.name(_CLASSIFIER)}     POST /v1/models/{course.name(_CLASSIFIER)}:predict",
                picture=(json.dumps(request), json.dumps({"label": labels})),
                layer="tf.saved_model",
                text="The export is a SavedModel that has everything in its graph, also the division into tokens. Any "
                "TensorFlow Serving answers this request; `check NAME` says whether a model fits one.",
            ),
        ),
        (
            Question(
                "Which word fits the blank best, says the network, if someone has not had any meal?",
                ("hungry",),
                "The first row of step 2.",
            ),
            Question(
                'The embedding of the token "bank" in one sentence is compared with that in another. What is the '
                "cosine?",
                1,
                "It is the same vector: step 4, last column.",
            ),
            Question(
                f'Which label has "{_BANKS[0]}"?',
                (labels[0],),
                "The answer of the last two steps.",
            ),
        ),
        ("pipelines/encoder/networks.py:build", "pipelines/transfer/networks.py:network"),
    )
