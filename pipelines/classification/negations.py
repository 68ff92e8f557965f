"""Generates short English sentences that show what "not" does to the adjectives of the training texts.

A long text repeats its opinion, so a model can ignore "not" and still label nearly every one correctly: it learns that
"bad" is negative, also in "not at all a bad film". In these sentences nothing but "not" decides. Their adjectives are
those that the training texts use for praise or blame, so that they fit films as well as telephones. Texts in another
language yield no sentences.
"""

import collections
import math
import random
import re

import numpy as np

from pipelines.labelled.labelled_splits import Labelled
from pipelines.text.invisible import visible

_DEGREE = "very|really|quite|pretty|extremely|truly"
_ADJECTIVE = re.compile(rf"\b(?:an?|is|was|are|were) (?:{_DEGREE}) ([a-z]+)")
_NOUN = re.compile(rf"\ban? (?:{_DEGREE}) [a-z]+ ([a-z]+)(?=[.,;!?])")
_MIN_TEXTS = 10  # texts that use an adjective in this way
_MIN_LOG_RATIO = 0.7  # it is in twice as large a fraction of the texts of one class as of the other
_NUM_NOUNS = 12
_PLAIN = (
    "{a} {x} {n}",
    "this is {a} {x} {n}",
    "it was {x}",
    "the {n} is {x}",
    "a {n} that is {x}",
    # Without "not", "from" and "no", the words "at all", "far" and "means" negate nothing.
    "at all times {a} {x} {n}",
    "it was {x} at all times",
    "all in all this is {a} {x} {n}",
    "by all means {a} {x} {n}",
    "by far {a} {x} {n}",
)
_NEGATED = (
    "{no} {a} {x} {n}",
    "this is {no} {a} {x} {n}",
    "it was {no} {x}",
    "the {n} is {no} {x}",
    "I found it {no} {x}",
    "it was not {x} at all",
    "it isn't {x}",
    "this wasn't {a} {x} {n}",
    "I would not call it {x}",
    "nobody would call this {a} {x} {n}",
)
_NEGATIONS = ("not", "not at all", "hardly", "never", "by no means", "far from", "anything but")


def adjectives(data: Labelled) -> tuple[list[str], list[str]]:
    """Returns the adjectives of texts of class 0 and those of texts of class 1, in alphabetical order."""
    num_texts = np.bincount(data.labels, minlength=2)
    used, texts_with = collections.Counter(), (collections.Counter(), collections.Counter())
    for text, label in zip(data.texts, data.labels, strict=True):
        text = visible(text).lower()
        used.update(set(_ADJECTIVE.findall(text)))
        texts_with[label].update(set(re.findall(r"[a-z]+", text)))
    blame, praise = [], []
    for word in sorted(word for word, texts in used.items() if texts >= _MIN_TEXTS):
        in_negative, in_positive = ((texts_with[label][word] + 1) / (num_texts[label] + 1) for label in (0, 1))
        log_ratio = math.log(in_positive / in_negative)
        if abs(log_ratio) >= _MIN_LOG_RATIO:
            (praise if log_ratio > 0 else blame).append(word)
    return blame, praise


def sentences(data: Labelled, count: int, seed: int) -> Labelled:
    """Generates `count` sentences, half of them negated; none if the texts lack adjectives of one class.

    Args:
        data: texts with the classes 0 (negative) and 1 (positive).
        count: number of sentences.
        seed: of the random choices.
    """
    adjectives_of = adjectives(data)  # class -> adjectives
    if not all(adjectives_of):
        return Labelled(data.texts[:0], data.labels[:0])
    noun_counts = collections.Counter(noun for text in data.texts for noun in _NOUN.findall(visible(text).lower()))
    nouns = [noun for noun, _ in sorted(noun_counts.items(), key=lambda item: (-item[1], item[0]))[:_NUM_NOUNS]] or [
        "thing"
    ]
    rng = random.Random(seed)
    texts, labels = [], []
    for i in range(count):
        negated, label = i % 2, i // 2 % 2
        x, n, no = rng.choice(adjectives_of[label]), rng.choice(nouns), rng.choice(_NEGATIONS)
        a = "an" if x[0] in "aeiou" else "a"
        sentence = rng.choice(_NEGATED if negated else _PLAIN).format(a=a, x=x, n=n, no=no)
        texts.append(sentence + rng.choice(("", ".", "!")))
        labels.append(label ^ negated)
    return Labelled(np.array(texts, dtype=object), np.array(labels, dtype=data.labels.dtype))
