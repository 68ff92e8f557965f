"""English sentences whose verb agrees with a subject that stands far before it, made by a grammar.

    the old flights the airline was canceling near the tables were full

The verb has the number of the first noun, `flights`. The nouns between the two are attractors where their number is the
other one. A network that reads only the last words, or only the last noun, answers wrongly as often as rightly in the
test sentences.

Source of the task: Linzen, Dupoux and Goldberg 2016, "Assessing the Ability of LSTMs to Learn Syntax-Sensitive
Dependencies" (TACL 4).
"""

import dataclasses
import random
import zlib
from collections.abc import Iterator, Sequence

from pipelines.support.errors import UserError

# Singular and plural. No word has two meanings, and no plural equals its singular or a form of a verb.
PEOPLE = {name: f"{name}s" for name in ("athlete", "student", "pilot", "teacher", "artist", "airline")}
THINGS = {name: f"{name}s" for name in ("flight", "key", "table", "picture", "letter")} | {"trophy": "trophies"}
NOUNS = PEOPLE | THINGS
ADJECTIVES = ("large", "small", "old", "new", "famous", "expensive", "full", "missing")
PARTICIPLES = ("forgotten", "admired", "protected", "photographed")  # only after was or were
PAST_VERBS = ("liked", "found", "sold", "won", "mentioned", "wanted")  # the same for singular and plural
PROGRESSIVE_VERBS = ("canceling", "watching", "describing")  # after was or were
PREPOSITIONS = ("near", "behind", "beside", "opposite")
ADVERBS = ("outside", "nearby", "upstairs", "downstairs")
OPENERS = ("yesterday", "today", "once")
VERBS = ("was", "were")  # of a singular and of a plural subject
TEST_DISTANCES = tuple(range(25))
_MAX_DISTANCE = 24  # of the training text
_SHARE_NEXT_TO_VERB = 0.15  # training sentences with distance 0
_SHARE_AGREEING = 0.7  # nouns between subject and verb that have the subject's number, in the training text
_SHARE_TEST = 5  # one beginning in five is kept for the tests
_MAX_TRIES = 200  # per sentence that is wanted


@dataclasses.dataclass(frozen=True)
class AgreementSentence:
    """The beginning of a sentence up to its verb, and the verb in both numbers.

    Attributes:
        prefix: the words before the verb, with spaces between them.
        right, wrong: the verb in the subject's number and in the other one.
        distance: tokens between subject and verb; 0 if the verb follows the subject.
        attractors: nouns between subject and verb whose number is not the subject's.
    """

    prefix: str
    right: str
    wrong: str
    distance: int
    attractors: int

    @property
    def subject(self) -> int:
        """Index of the subject in `prefix.split(" ")`."""
        return len(self.prefix.split(" ")) - 1 - self.distance


def training_text(num_sentences: int, seed: int) -> str:
    """Returns sentences, one per line, in lower case and without punctuation.

    Half of the subjects are plural. The verb follows the subject in 15 % of the sentences. In the others the distance d
    is 1 to 24, with a probability in proportion to 1 / (d + 4): the mean over all sentences is 7.6 tokens, and 9 % have
    20 or more. Two thirds of the sentences have nouns between subject and verb. Each of these nouns has the subject's
    number with probability .7, and 37 % of all sentences have an attractor. In real text agreeing nouns are even more
    frequent. So "the verb has the number of the last noun" is right in 81 % of the sentences: it tempts a network that
    remembers little.

    Args:
        num_sentences: lines of the text.
        seed: the same number gives the same text.

    Raises:
        UserError: `num_sentences` is below 1.
    """
    if num_sentences < 1:
        raise UserError(f"{num_sentences} sentences: give at least 1")
    generator = random.Random(f"training {seed}")
    distances = range(1, _MAX_DISTANCE + 1)
    weights = [1 / (d + 4) for d in distances]
    lines = []
    while len(lines) < num_sentences:
        near = generator.random() < _SHARE_NEXT_TO_VERB
        distance = 0 if near else generator.choices(distances, weights)[0]
        sentence = _sentence(generator, distance, False, generator.randrange(2))
        if not _is_for_test(sentence.prefix):
            lines.append(f"{sentence.prefix} {sentence.right} {_end(generator)}")
    return "".join(f"{line}\n" for line in lines)


def test_sentences(num_per_cell: int, seed: int, distances: Sequence[int] = TEST_DISTANCES) -> list[AgreementSentence]:
    """Returns test sentences up to their verb; no sentence of any `training_text` begins with one of them.

    Whether a beginning is used for training or for tests depends on its words alone (a checksum of them), not on seeds.
    Half of the subjects are plural. The number of attractors is drawn uniformly from 0 to the number of nouns between
    subject and verb, and so is their place among them: the last noun, or the number that most of these nouns have, is
    right for half of the sentences that have such nouns.

    Args:
        num_per_cell: sentences of each distance with a singular and with a plural subject together. There are fewer
            where the grammar has fewer: 175 with distance 0, 696 with distance 1.
        seed: the same number gives the same sentences.
        distances: in tokens; also longer than those of the training text, which end at 24.

    Raises:
        UserError: `num_per_cell` is below 2, or a distance below 0.
    """
    if num_per_cell < 2:
        raise UserError(f"{num_per_cell} sentences per distance: give at least 2, one for each number")
    if wrong := [distance for distance in distances if distance < 0]:
        raise UserError(f"distance {wrong[0]}: give distances from 0")
    generator = random.Random(f"test {seed}")
    sentences = []
    for distance in distances:
        for plural in range(2):
            found: dict[str, AgreementSentence] = {}
            wanted = num_per_cell // 2
            for _ in range(wanted * _MAX_TRIES):
                sentence = _sentence(generator, distance, True, plural)
                if _is_for_test(sentence.prefix):
                    found.setdefault(sentence.prefix, sentence)
                if len(found) == wanted:
                    break
            sentences += found.values()
    return sentences


test_sentences.__test__ = False  # pytest takes a function of this name for a test


def vocabulary() -> list[str]:
    """Returns all words of the grammar, in alphabetical order."""
    words = {*NOUNS, *NOUNS.values(), *ADJECTIVES, *PARTICIPLES, *PAST_VERBS, *PROGRESSIVE_VERBS, *PREPOSITIONS}
    return sorted(words | {*ADVERBS, *OPENERS, *VERBS, "the", "that", "over", "there"})


def _is_for_test(prefix: str) -> bool:
    return zlib.crc32(prefix.encode()) % _SHARE_TEST == 0


def _end(generator: random.Random) -> str:
    return generator.choice(ADJECTIVES + PARTICIPLES)


def _sentence(generator: random.Random, distance: int, balanced: bool, plural: int) -> AgreementSentence:
    """Returns a sentence with this distance.

    Args:
        balanced: whether the number of attractors is uniform; otherwise most nouns agree.
        plural: 0 or 1.
    """
    words = [generator.choice(OPENERS)] if generator.random() < 0.25 else []
    words.append("the")
    if generator.random() < 0.5:
        words.append(generator.choice(ADJECTIVES))
    subject = generator.choice(list(NOUNS))
    words.append(_form(subject, plural))
    pieces = list(_between(generator, distance, subject))
    num_nouns = sum(isinstance(piece, dict) for piece in pieces)
    if balanced:
        num_attractors = generator.randint(0, num_nouns)
        is_attractor = [i < num_attractors for i in range(num_nouns)]
        generator.shuffle(is_attractor)
    else:
        is_attractor = [generator.random() > _SHARE_AGREEING for _ in range(num_nouns)]
    others = iter(is_attractor)
    number = plural
    for piece in pieces:
        if isinstance(piece, dict):
            number = 1 - plural if next(others) else plural
            words.append(_form(piece["noun"], number))
        else:
            words.append(VERBS[number] if piece == VERBS[0] else piece)
    return AgreementSentence(" ".join(words), VERBS[plural], VERBS[1 - plural], distance, sum(is_attractor))


def _form(noun: str, plural: int) -> str:
    return NOUNS[noun] if plural else noun


def _between(generator: random.Random, length: int, head: str | None) -> Iterator[str | dict]:
    """Yields `length` words that may stand after the noun `head`: words, or {"noun": singular}.

    "was" stands for the verb in the number of the noun before it.
    """
    after_adverb = False
    while length:
        options = {"adverb": 0.1 if after_adverb else 1.0}  # weights of what fits
        if length >= 2:
            options["there"] = 0.05 if after_adverb else 0.5
        if length >= 3:
            options["preposition"] = 3.0
        if length >= 4 and head:
            options |= {"object": 2.0, "progressive": 0.7, "subject": 1.3 if head in PEOPLE else 0.0}
        kind = generator.choices(list(options), list(options.values()))[0]
        person, noun = generator.choice(list(PEOPLE)), generator.choice(list(NOUNS))
        if kind == "adverb":
            piece = [generator.choice(ADVERBS)]
        elif kind == "there":
            piece = ["over", "there"]
        elif kind == "preposition":
            piece, head = [generator.choice(PREPOSITIONS), "the", {"noun": noun}], noun
        elif kind == "subject":  # that liked the artist
            piece, head = ["that", generator.choice(PAST_VERBS), "the", {"noun": noun}], noun
        elif kind == "object":  # that the athletes won; what follows cannot be a second relative clause
            piece, head = ["that", "the", {"noun": person}, generator.choice(PAST_VERBS)], None
        else:  # the airline was canceling
            piece, head = ["the", {"noun": person}, VERBS[0], generator.choice(PROGRESSIVE_VERBS)], None
        after_adverb = kind in ("adverb", "there")
        length -= len(piece)
        yield from piece
