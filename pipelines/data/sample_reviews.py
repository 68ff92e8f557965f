"""The embedded sample: film reviews from a small seeded grammar, with negation and contrast.

Scores on it say nothing about real text. With it, everything from training to the export can be tried offline. A bag of
words cannot solve it: "not", "hardly" and "but" decide what the adjectives mean.
"""

import random

import numpy as np

VERSION = 1  # raise it with any change of the generated texts: finished runs on the old sample are then not reused

ASPECTS = (
    "plot",
    "acting",
    "dialogue",
    "music",
    "camera work",
    "ending",
    "pacing",
    "cast",
    "script",
    "humour",
    "story",
    "lead actor",
    "first half",
    "second half",
    "direction",
    "editing",
)
GOOD = (
    "wonderful",
    "gripping",
    "clever",
    "moving",
    "fresh",
    "charming",
    "brilliant",
    "funny",
    "beautiful",
    "sharp",
    "warm",
    "convincing",
    "memorable",
    "superb",
    "honest",
)
BAD = (
    "dull",
    "clumsy",
    "predictable",
    "tiresome",
    "flat",
    "silly",
    "awful",
    "confused",
    "lifeless",
    "cheap",
    "slow",
    "wooden",
    "forgettable",
    "dreadful",
    "lazy",
)
OPENINGS = (
    "I watched {film} on a rainy Sunday.",
    "My sister made me see {film}.",
    "{film} came out when I was at school.",
    "We rented {film} last night.",
    "I had heard a lot about {film}.",
    "A friend &amp; I went to see {film}.",
    "",
)
FILLERS = (
    "It runs for about two hours.",
    "The story is set in a small harbour town.",
    "There is a long scene on a train.",
    "Most of it takes place at night.",
    "It was shot in black and white.",
    "The book came out ten years before.",
    "Some of the extras are local people.",
    "The hero is a retired teacher.",
)
CLAUSES = {  # {own} is an adjective of the opinion that the clause expresses, {other} one of the opposite opinion
    "plain": ("the {aspect} was {own}", "I found the {aspect} {own}", "the {aspect} is really {own}"),
    "negated": (
        "the {aspect} was not {other}",
        "the {aspect} was never {other}",
        "I would not call the {aspect} {other}",
        "nobody could say that the {aspect} was {other}",
        "the {aspect} was hardly {other}",
    ),
}
CONTRASTS = ("{less}, but {more}.", "Although {less}, {more}.", "{more}, even if {less}.", "{less}. Still, {more}.")
VERDICTS = {
    True: ("See it.", "I will watch it again.", "Worth every minute.", "Not a minute too long."),
    False: ("Skip it.", "I will not watch it again.", "Not worth a minute.", "Every minute was too long."),
}
FILMS = tuple(
    f"The {adjective} {noun}"
    for adjective in ("Last", "Silent", "Second", "Broken", "Northern", "Hidden", "Yellow", "Long", "Empty", "Paper")
    for noun in ("Harbour", "Letter", "Winter", "Witness", "Garden", "Station", "Promise", "River", "Clock", "Island")
)


def version() -> str:
    """A text that changes whenever the sample changes."""
    return f"embedded sample {VERSION}"


def generate(num_reviews: int = 5000, seed: int = 1) -> tuple:
    """Generates reviews, half of them positive. Returns the fields of `LabelledTexts`, with the film as group.

    Main clauses express the reviewer's opinion, sometimes by negating the opposite; in a contrast, the subordinate
    clause may express the other opinion. One fifth of the reviews ends in a verdict.
    """
    rng = random.Random(seed)
    texts, labels, groups = [], [], []
    for i in range(num_reviews):
        positive = i % 2 == 0
        film = rng.choice(FILMS)
        texts.append(_review(rng, positive, film))
        labels.append("positive" if positive else "negative")
        groups.append(film)
    return tuple(np.array(values, dtype=object) for values in (texts, labels, groups)) + ({},)


def _review(rng: random.Random, positive: bool, film: str) -> str:
    sentences = [rng.choice(OPENINGS).format(film=film)]
    for _ in range(rng.randint(2, 4)):
        if rng.random() < 0.35:
            less, more = _clause(rng, not positive), _clause(rng, positive)
            sentences.append(_capitalized(rng.choice(CONTRASTS).format(less=less, more=more)))
        else:
            sentences.append(_capitalized(_clause(rng, positive)) + ".")
        if rng.random() < 0.4:
            sentences.append(rng.choice(FILLERS))
    if rng.random() < 0.2:
        sentences.append(rng.choice(VERDICTS[positive]))
    return rng.choice((" ", " ", "<br /><br />")).join(filter(None, sentences))


def _clause(rng: random.Random, positive: bool) -> str:
    own, other = (GOOD, BAD) if positive else (BAD, GOOD)
    form = rng.choice(CLAUSES["negated"] if rng.random() < 0.3 else CLAUSES["plain"])
    return form.format(aspect=rng.choice(ASPECTS), own=rng.choice(own), other=rng.choice(other))


def _capitalized(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]
