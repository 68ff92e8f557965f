"""The embedded sample: film reviews from a small seeded grammar, with negation and contrast.

Scores on it say nothing about real text. It is here so that the whole way, from training to an export, can be tried
offline. A bag of words cannot solve it: "not", "hardly" and "but" decide what the adjectives mean.
"""

import random

import numpy as np

VERSION = 1  # raise it with any change of what is generated: finished runs on the old sample are then not taken for new

ASPECTS = (
    "plot", "acting", "dialogue", "music", "camera work", "ending", "pacing", "cast", "script", "humour", "story",
    "lead actor", "first half", "second half", "direction", "editing",
)  # fmt: skip
GOOD = (
    "wonderful", "gripping", "clever", "moving", "fresh", "charming", "brilliant", "funny", "beautiful", "sharp", "warm",
    "convincing", "memorable", "superb", "honest",
)  # fmt: skip
BAD = (
    "dull", "clumsy", "predictable", "tiresome", "flat", "silly", "awful", "confused", "lifeless", "cheap", "slow",
    "wooden", "forgettable", "dreadful", "lazy",
)  # fmt: skip
OPENINGS = (
    "I watched {film} on a rainy Sunday.", "My sister made me see {film}.", "{film} came out when I was at school.",
    "We rented {film} last night.", "I had heard a lot about {film}.", "A friend &amp; I went to see {film}.", "",
)  # fmt: skip
FILLERS = (
    "It runs for about two hours.", "The story is set in a small harbour town.", "There is a long scene on a train.",
    "Most of it takes place at night.", "It was shot in black and white.", "The book came out ten years before.",
    "Some of the extras are local people.", "The hero is a retired teacher.",
)  # fmt: skip
SAYS = {  # how a clause calls something good or bad: {own} is an adjective of its own side
    "plain": ("the {aspect} was {own}", "I found the {aspect} {own}", "the {aspect} is really {own}"),
    "negated": (
        "the {aspect} was not {other}", "the {aspect} was never {other}", "I would not call the {aspect} {other}",
        "nobody could say that the {aspect} was {other}", "the {aspect} was hardly {other}",
    ),
}  # fmt: skip
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


def generate(reviews: int = 5000, seed: int = 1) -> tuple:
    """Reviews of which one half is positive: the fields of `Reviews`, with the film as group.

    What the reviewer thinks of most is said in main clauses, sometimes by negating its opposite; a contrast may concede
    the other side in its lesser half. A fifth of the reviews ends in a verdict.
    """
    rng = random.Random(seed)
    texts, labels, groups = [], [], []
    for i in range(reviews):
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
            sentences.append(_capital(rng.choice(CONTRASTS).format(less=less, more=more)))
        else:
            sentences.append(_capital(_clause(rng, positive)) + ".")
        if rng.random() < 0.4:
            sentences.append(rng.choice(FILLERS))
    if rng.random() < 0.2:
        sentences.append(rng.choice(VERDICTS[positive]))
    return rng.choice((" ", " ", "<br /><br />")).join(filter(None, sentences))


def _clause(rng: random.Random, positive: bool) -> str:
    own, other = (GOOD, BAD) if positive else (BAD, GOOD)
    form = rng.choice(SAYS["negated"] if rng.random() < 0.3 else SAYS["plain"])
    return form.format(aspect=rng.choice(ASPECTS), own=rng.choice(own), other=rng.choice(other))


def _capital(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]
