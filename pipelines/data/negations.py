"""Short sentences that show what "not" does to the adjectives of the training texts.

A review says what it thinks many times over, so a model can leave "not" aside and still be right about nearly every one: it
learns that "bad" is bad, also in "not at all a bad film". These sentences leave it nothing else to go by. Their adjectives are
those that the labelled texts themselves use for praise or blame, so that they fit films as well as telephones; their
language is English, and a text in another one yields none.
"""

import collections
import math
import random
import re

import numpy as np

from pipelines.data.splits import Labelled

_DEGREE = "very|really|quite|pretty|extremely|truly"
_ADJECTIVE = re.compile(rf"\b(?:an?|is|was|are|were) (?:{_DEGREE}) ([a-z]+)")
_NOUN = re.compile(rf"\ban? (?:{_DEGREE}) [a-z]+ ([a-z]+)(?=[.,;!?])")
_LEAST_TEXTS = 10  # that use an adjective in this way
_LEAST_LOG_ODDS = 0.7  # of the texts that contain it: twice as many of one class as of the other
_NOUNS = 12
_PLAIN = (
    "{a} {x} {n}", "this is {a} {x} {n}", "it was {x}", "the {n} is {x}", "a {n} that is {x}",
    # "at all", "far" and "means" negate nothing without "not", "from" and "no".
    "at all times {a} {x} {n}", "it was {x} at all times", "all in all this is {a} {x} {n}", "by all means {a} {x} {n}",
    "by far {a} {x} {n}",
)  # fmt: skip
_NEGATED = (
    "{no} {a} {x} {n}", "this is {no} {a} {x} {n}", "it was {no} {x}", "the {n} is {no} {x}", "I found it {no} {x}",
    "it was not {x} at all", "it isn't {x}", "this wasn't {a} {x} {n}", "I would not call it {x}", "nobody would call this {a} {x} {n}",
)  # fmt: skip
_NEGATIONS = ("not", "not at all", "hardly", "never", "by no means", "far from", "anything but")


def adjectives(data: Labelled) -> tuple[list[str], list[str]]:
    """The adjectives that texts of class 0 use, and those that texts of class 1 use, in alphabetical order."""
    used, texts_with = collections.Counter(), (collections.Counter(), collections.Counter())
    for text, label in zip(data.texts, data.labels, strict=True):
        text = text.lower()
        used.update(set(_ADJECTIVE.findall(text)))
        texts_with[label].update(set(re.findall(r"[a-z]+", text)))
    blame, praise = [], []
    for word in sorted(word for word, texts in used.items() if texts >= _LEAST_TEXTS):
        log_odds = math.log((texts_with[1][word] + 1) / (texts_with[0][word] + 1))
        if abs(log_odds) >= _LEAST_LOG_ODDS:
            (praise if log_odds > 0 else blame).append(word)
    return blame, praise


def sentences(data: Labelled, count: int, seed: int) -> Labelled:
    """`count` sentences, one half of them negated; none if the texts have no adjectives for both sides.

    Args:
        data: texts with the classes 0, negative, and 1, positive.
    """
    sides = adjectives(data)
    if not all(sides):
        return Labelled(data.texts[:0], data.labels[:0])
    found = collections.Counter(noun for text in data.texts for noun in _NOUN.findall(text.lower()))
    nouns = [noun for noun, _ in sorted(found.items(), key=lambda item: (-item[1], item[0]))[:_NOUNS]] or ["thing"]
    rng = random.Random(seed)
    texts, labels = [], []
    for i in range(count):
        negated, side = i % 2, i // 2 % 2
        x, n, no = rng.choice(sides[side]), rng.choice(nouns), rng.choice(_NEGATIONS)
        a = "an" if x[0] in "aeiou" else "a"
        sentence = rng.choice(_NEGATED if negated else _PLAIN).format(a=a, x=x, n=n, no=no)
        texts.append(sentence + rng.choice(("", ".", "!")))
        labels.append(side ^ negated)
    return Labelled(np.array(texts, dtype=object), np.array(labels, dtype=data.labels.dtype))
