"""The training texts of the lessons: generated sentences like those of the books, without the books' own.

No line of a text is or contains a sentence of its `asked`, nor one that becomes such a sentence by replacing, leaving
out or inserting one word. So a model that completes, reads or translates such a sentence has learned more than it.
"""

import dataclasses
import json
import random
from collections.abc import Callable, Iterator

from pipelines.data import sample_pairs
from pipelines.inspect import sentences

_MAX_TRIES = 100  # per line that is wanted


@dataclasses.dataclass(frozen=True)
class Text:
    """A training text.

    Attributes:
        asked: sentences of the books, which the text lacks, in lower case and without punctuation.
        make: generator of random numbers -> lines, without end.
        num_lines: of the text.
        distinct: whether no line appears twice.
        header: names of the columns, of a table.
    """

    asked: tuple[str, ...]
    make: Callable[[random.Random], Iterator[str]]
    num_lines: int
    distinct: bool = False
    header: str = ""

    def lines(self, seed: int) -> list[str]:
        """Returns the lines; the same seed gives the same lines.

        Raises:
            ValueError: the sentences are too few.
        """
        generator = random.Random(f"lesson {seed}")
        wanted: list[str] = []
        known: set[str] = set()
        asked = [words_of(each) for each in self.asked]
        for tries, line in enumerate(self.make(generator)):
            if tries > _MAX_TRIES * self.num_lines:
                raise ValueError(f"only {len(wanted)} different sentences")
            words = words_of(line)
            if (self.distinct and line in known) or any(has_near(words, each) for each in asked):
                continue
            known.add(line)
            wanted.append(line)
            if len(wanted) == self.num_lines:
                break
        return wanted


def words_of(line: str) -> tuple[str, ...]:
    """Returns the words of a line, of its first column or of its tokens, in lower case, without . and ,."""
    text = " ".join(json.loads(line)["tokens"]) if line.startswith("{") else line.split("\t")[0]
    return tuple(text.lower().replace(".", " ").replace(",", " ").split())


def near(words: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Returns whether two sentences are equal, or become equal if one word is replaced, left out or inserted."""
    same = 0
    while same < min(len(words), len(others)) and words[same] == others[same]:
        same += 1
    rest, other_rest = words[same:], others[same:]
    return rest[1:] == other_rest[1:] or rest[1:] == other_rest or rest == other_rest[1:]


def has_near(words: tuple[str, ...], asked: tuple[str, ...]) -> bool:
    """Returns whether a line is `near` the sentence, or contains words that are."""
    lengths = range(len(asked) - 1, len(asked) + 2)
    return any(
        near(words[start : start + length], asked) for length in lengths for start in range(len(words) - length + 1)
    )


# Lesson 1: whether it is day or night must be kept through any number of "quiet".
_SHARE_CHANGE, _SHARE_QUIET = 0.1, 0.4
_WORDS_PER_LINE = 200


def _days(generator: random.Random) -> Iterator[str]:
    is_night = 0
    while True:
        words = []
        while len(words) < _WORDS_PER_LINE:
            if generator.random() < _SHARE_CHANGE:
                is_night = 1 - is_night
                words.append(("day", "night")[is_night])
            else:
                words.append("quiet" if generator.random() < _SHARE_QUIET else ("sun", "moon")[is_night])
        yield " ".join(words)


# Lesson 2: farewells; "so long and thanks for all the fish" is asked.
_FAREWELLS = ("so long", "goodbye", "farewell", "good night", "see you soon", "until tomorrow")
_THANKS = (
    *("thanks for all the fish", "thanks for the lovely evening", "thank you for the kind letter"),
    *(
        "many thanks for all the fish",
        "thanks to all of you",
        "sleep well",
        "take care",
        "give my love to the dolphins",
    ),
)
_STARTS = ("", "", "my friends", "dear dolphins", "well then", "oh well")


def _farewells(generator: random.Random) -> Iterator[str]:
    while True:
        start, thanks = generator.choice(_STARTS), generator.choice(_THANKS)
        yield " ".join(f"{start} {generator.choice(_FAREWELLS)} and {thanks}".split())


# Lessons 3 to 5: the verb agrees with a subject that stands far before it.
def _agreement(generator: random.Random) -> Iterator[str]:
    while True:
        yield from sentences.training_text(10_000, generator.randrange(2**31)).splitlines()


# Lesson 6: whether "Carter" is a person, an organisation or a place depends on the words around it, also later ones.
_NAMES = ("Carter", "Jordan", "Lincoln", "Madison")  # of all three
_PERSONS, _ORGANISATIONS = (*_NAMES, "Jim", "Anna"), (*_NAMES, "Acme", "Delta")
_ENDINGS, _PLACES = ("Corp.", "Bank", "Press"), (*_NAMES, "Boston", "Paris")
_DEALS, _GOODS = ("bought", "sold", "wanted", "offered"), ("shares", "bonds", "houses", "books")
_NUMBERS, _YEARS = ("20", "300", "45", "1,000"), ("1998", "2006", "2013")


def _names(generator: random.Random) -> Iterator[str]:
    """Yields sentences with the tags of their tokens."""

    def person() -> list[tuple[str, str]]:
        return [(generator.choice(_PERSONS), "B-PER")]

    def organisation() -> list[tuple[str, str]]:
        return [(generator.choice(_ORGANISATIONS), "B-ORG"), (generator.choice(_ENDINGS), "I-ORG")]

    while True:
        buyer = person() if generator.randrange(2) else organisation()
        goods = [generator.choice(_DEALS), generator.choice(_NUMBERS), generator.choice(_GOODS)]
        when = [(generator.choice(_YEARS), "O")] if generator.randrange(2) else [(generator.choice(_PLACES), "B-LOC")]
        whose = [("of", "O"), *organisation()] if generator.randrange(2) else []
        pairs = [*buyer, *((word, "O") for word in goods), *whose, ("in", "O"), *when, (".", "O")]
        tokens, tags = zip(*pairs, strict=True)
        yield json.dumps({"tokens": tokens, "tags": tags})


# Lesson 9: what "it" is depends on one later word.
_THINGS = ("trophy", "violin", "statue", "painting", "lamp", "globe", "camera", "book", "carpet", "clock")
_CONTAINERS = ("suitcase", "box", "bag", "drawer", "chest", "basket", "crate", "cupboard", "trunk", "van")
_LARGE, _SMALL = ("large", "big", "wide", "long", "tall"), ("small", "little", "narrow", "short", "tiny")
_FITS = ("did not fit into", "would not go into", "could not be put into", "was never squeezed into")
_BEFORE = ("the", "the old", "the new", "the heavy")


def _containers(generator: random.Random) -> Iterator[str]:
    while True:
        thing, container = generator.choice(_THINGS), generator.choice(_CONTAINERS)
        is_thing = generator.randrange(2)
        adjective = generator.choice(_LARGE if is_thing else _SMALL)
        yield (
            f"{generator.choice(_BEFORE)} {thing} {generator.choice(_FITS)} {generator.choice(_BEFORE)} {container} "
            f"because it was too {adjective} so people looked for another {thing if is_thing else container}"
        )


# Lesson 10: a word between two halves of a sentence, and a word with two meanings.
_WHO = (
    *(("i am", "i have", "i"), ("she is", "she has", "she"), ("he is", "he has", "he"), ("we are", "we have", "we")),
    *(("they are", "they have", "they"), ("the boy is", "he has", "he"), ("the girls are", "they have", "they")),
)
_MEALS = ("meal", "lunch", "breakfast", "dinner", "food", "soup", "bread")
_SINCE = ("today", "since yesterday", "this morning", "for hours")
_ALREADY = ("two plates of", "a lot of", "three bowls of", "so much")
_RIVER = ("water", "boats", "fish", "ducks", "reeds")
_MONEY = ("money", "loans", "accounts", "coins", "cheques")
_PEOPLE = ("he", "she", "the man", "the woman", "the boy", "a friend", "my sister", "our neighbour")
_BY_RIVER = ("sat on the river bank", "walked along the grassy bank", "slept on the muddy bank", "fished from the bank")
_BY_MONEY = ("works at the savings bank", "went to the bank", "asked the bank", "opened the bank")


def _meals_and_banks(generator: random.Random) -> Iterator[str]:
    while True:
        if generator.randrange(2):
            (state, has, subject), meal = generator.choice(_WHO), generator.choice(_MEALS)
            if generator.randrange(2):
                reason = f"{has} not had any {meal} {generator.choice(_SINCE)}"
                yield f"{state} {generator.choice(('hungry', 'hungry', 'weak'))} because {reason}"
            else:
                reason = f"{subject} ate {generator.choice(_ALREADY)} {meal} {generator.choice(_SINCE[:3:2])}"
                yield f"{state} {generator.choice(('full', 'full', 'tired'))} because {reason}"
        else:
            yield next(_banks(generator)).split("\t")[0]


def _banks(generator: random.Random) -> Iterator[str]:
    """Yields sentences with their labels."""
    while True:
        subject = generator.choice(_PEOPLE)
        if generator.randrange(2):
            end = f"and looked at the {generator.choice(_RIVER)} and the {generator.choice(_RIVER)}"
            yield f"{subject} {generator.choice(_BY_RIVER)} {end}\triver"
        else:
            end = f"and talked about {generator.choice(_MONEY)} and {generator.choice(_MONEY)}"
            yield f"{subject} {generator.choice(_BY_MONEY)} {end}\tmoney"


# Lessons 7 and 8: in Spanish some verbs stand before their subject, which is known only from the last English word.
_WITCHES = tuple(
    sample_pairs.Noun(*each)
    for each in (
        *(("witch", "bruja", True, "witches"), ("wizard", "mago", False), ("girl", "chica", True)),
        *(("boy", "chico", False), ("doctor", "m\u00e9dico", False), ("nurse", "enfermera", True)),
        *(("dog", "perro", False), ("cow", "vaca", True), ("queen", "reina", True), ("painter", "pintor", False)),
    )
)
_FIRST = (("arrived", "lleg\u00f3", "llegaron"), ("appeared", "apareci\u00f3", "aparecieron"))
_LAST = (
    ("sang", "cant\u00f3", "cantaron"),
    ("danced", "bail\u00f3", "bailaron"),
    ("slept", "durmi\u00f3", "durmieron"),
)


def _witches(generator: random.Random) -> Iterator[str]:
    while True:
        plural = generator.randrange(2)
        english, spanish = sample_pairs.noun_phrase(generator, generator.choice(_WITCHES), bool(plural))
        verb, *forms = generator.choice(_FIRST + _LAST)
        words = [forms[plural], spanish] if (verb, *forms) in _FIRST else [spanish, forms[plural]]
        pair = [f"{english} {verb}.", f"{' '.join(words)}."]
        yield "\t".join(each[0].upper() + each[1:] for each in pair)


TEXTS = {
    "days": Text((), _days, 200),
    "farewells": Text(("so long and thanks for all the fish",), _farewells, 3_000),
    "agreement": Text(
        (
            "the flights the airline was canceling were full",
            "the trophy that the athletes won was large",
            "the keys beside the table near the picture were missing",
        ),
        _agreement,
        16_000,
    ),
    "names": Text(
        ("jim bought 300 shares of acme corp in 2006", "carter bank sold 20 bonds in jordan"),
        _names,
        1_500,
        distinct=True,
    ),
    "containers": Text(
        (
            "the trophy did not fit into the suitcase because it was too large so people looked for another trophy",
            "the trophy did not fit into the suitcase because it was too small so people looked for another suitcase",
        ),
        _containers,
        12_000,
    ),
    "witches": Text(("the green witch arrived",), _witches, 3_000, distinct=True),
    "meals": Text(
        (
            "i am hungry because i have not had any meal today",
            "i am full because i ate a lot of bread today",
            "he sat on the river bank and looked at the water and the boats",
            "she works at the savings bank and talked about money and loans",
        ),
        _meals_and_banks,
        8_000,
    ),
    "banks": Text((), _banks, 60, distinct=True, header="text\tlabel"),
}
"""Name -> training text."""
