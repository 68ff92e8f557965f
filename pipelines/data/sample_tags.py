"""The embedded sample: English sentences with a part of speech for each token, from a small seeded grammar.

Its scores say nothing about real text. It serves to try training, evaluation and export without a download. The most
frequent tag of each word is not enough: "saw", "can", "flies", "light" and "watch" are nouns or verbs, "her" and "that"
determiners or pronouns, "to" and "like" have two tags each, and "Will" and "May" are names or, at the start of a
question, auxiliaries. Validation has words that training does not have.

The tags are those of Universal Dependencies, with one difference: possessives such as "her" are DET.
"""

import dataclasses
import random

# Raise it with any change of the sentences: a finished run on the old sample must not count as one on the new sample.
VERSION = 1

_NUM_TRAIN, _NUM_VALID, _NUM_FRESH = 4000, 500, 500
_SENTENCES_PER_DOCUMENT = 5
_NO_SPACE_BEFORE = {".", ",", "?", "!", "n't", "'s", "%", ")", "\u201d"}
_NO_SPACE_AFTER = {"$", "(", "\u201c"}

_Words = list[tuple[str, str]]  # tokens with their tags


@dataclasses.dataclass(frozen=True)
class _Lexicon:
    """Open classes of words.

    Attributes:
        nouns: singular and plural.
        transitive, intransitive: verbs: base, third person, past, past participle, present participle.
    """

    first_names: list[str]
    surnames: list[str]
    places: list[str]
    companies: list[str]
    nouns: list[list[str]]
    adjectives: list[str]
    adverbs: list[str]
    transitive: list[list[str]]
    intransitive: list[list[str]]

    def __add__(self, other: "_Lexicon") -> "_Lexicon":
        fields = (field.name for field in dataclasses.fields(self))
        return _Lexicon(*(getattr(self, name) + getattr(other, name) for name in fields))


def _words(listed: str) -> list[str]:
    return listed.split()


def _forms(listed: str) -> list[list[str]]:
    return [forms.split("/") for forms in listed.split()]


_SEEN = _Lexicon(
    first_names=_words(
        "Will May Mark Grace Bill Anna Tom Maria Peter Lucy Omar Zo\u00e9 Ivan Emma Hans Ruth Noah Clara"
    ),
    surnames=_words("Miller Berg Okafor Rossi Tanaka Novak Baker Haddad Silva Larsen Marsh Carter Singh Weber"),
    places=_words(
        "Boston Lagos Oslo Kyoto M\u00e1laga Cairo Hamburg Bristol Kingston Lyon Geneva Dublin Quito Ashford"
    ),
    companies=_words("Acme Nordwind Bluestone Hartwell Solaris Westlake Kestrel Orbita"),
    nouns=_forms(
        "saw/saws can/cans fly/flies light/lights watch/watches plant/plants duck/ducks park/parks book/books "
        "stamp/stamps play/plays point/points dog/dogs cat/cats child/children man/men woman/women doctor/doctors "
        "farmer/farmers teacher/teachers painter/painters house/houses table/tables letter/letters river/rivers "
        "bridge/bridges train/trains ticket/tickets window/windows garden/gardens apple/apples bottle/bottles "
        "share/shares ship/ships horse/horses bird/birds coat/coats key/keys lamp/lamps market/markets"
    ),
    adjectives=_words(
        "light old red small quiet heavy green cheap strong empty broken famous careful wooden useful clean"
    ),
    adverbs=_words("slowly quietly often again soon carefully never early there well loudly quickly"),
    transitive=_forms(
        "see/sees/saw/seen/seeing watch/watches/watched/watched/watching light/lights/lit/lit/lighting "
        "plant/plants/planted/planted/planting book/books/booked/booked/booking like/likes/liked/liked/liking "
        "stamp/stamps/stamped/stamped/stamping buy/buys/bought/bought/buying sell/sells/sold/sold/selling "
        "find/finds/found/found/finding carry/carries/carried/carried/carrying paint/paints/painted/painted/painting "
        "need/needs/needed/needed/needing open/opens/opened/opened/opening lose/loses/lost/lost/losing "
        "clean/cleans/cleaned/cleaned/cleaning visit/visits/visited/visited/visiting"
    ),
    intransitive=_forms(
        "fly/flies/flew/flown/flying park/parks/parked/parked/parking duck/ducks/ducked/ducked/ducking "
        "play/plays/played/played/playing sleep/sleeps/slept/slept/sleeping sing/sings/sang/sung/singing "
        "swim/swims/swam/swum/swimming wait/waits/waited/waited/waiting work/works/worked/worked/working "
        "laugh/laughs/laughed/laughed/laughing arrive/arrives/arrived/arrived/arriving"
    ),
)
# In validation only.
_UNSEEN = _Lexicon(
    first_names=_words("Greta Felix Aisha Bruno"),
    surnames=_words("Jensen Moretti Coleman"),
    places=_words("Stanford Hamilton Rosario"),
    companies=_words("Redwood Polaris"),
    nouns=_forms("baker/bakers singer/singers kitten/kittens basket/baskets castle/castles wheel/wheels novel/novels"),
    adjectives=_words("careless helpful golden dusty"),
    adverbs=_words("happily suddenly proudly"),
    transitive=_forms(
        "repair/repairs/repaired/repaired/repairing collect/collects/collected/collected/collecting "
        "wash/washes/washed/washed/washing"
    ),
    intransitive=_forms("jump/jumps/jumped/jumped/jumping travel/travels/traveled/traveled/traveling"),
)
_BASE, _THIRD, _PAST, _PARTICIPLE, _ING = range(5)
_SUBJECTS = (("I", True), ("she", False), ("he", False), ("they", True), ("we", True))  # and whether the verb is plural
_OBJECTS = _words("me her him them us it that")
_POSSESSIVES = _words("her her his my our their")
_NUMBERS = _words("two three four five ten twelve 12 20 45 300 1,200 2.5")
_UNITS = _words("liters kilos meters boxes pairs")
_MATERIALS = _words("water sand light paper fish")
_MODALS = _words("can can will may must should")
_SAYING = (("says", False), ("thinks", False), ("knows", False), ("say", True), ("think", True), ("know", True))
_PREPOSITIONS = _words("in near behind on under at")
_DAYS = _words("Monday Tuesday Friday Sunday")


def version() -> str:
    """A text that changes whenever the sample changes."""
    return f"embedded sample {VERSION}"


def generate() -> dict[str, tuple]:
    """Generates the sample, the same every time.

    Returns:
        "train" and "valid" -> tokens, tags, texts, documents: fields of `TaggedSentences`.
    """
    train = _different(_NUM_TRAIN, 1, _SEEN, set())
    valid = _different(_NUM_VALID, 2, _SEEN + _UNSEEN, set(train))
    return {"train": _fields(train), "valid": _fields(valid)}


def fresh() -> tuple:
    """Generates other sentences than `generate`, with the words of its validation. For the fields see `generate`."""
    known = {text for part in generate().values() for text in part[2]}
    return _fields(_different(_NUM_FRESH, 3, _SEEN + _UNSEEN, known))


def _different(count: int, seed: int, lexicon: _Lexicon, known: set[str]) -> dict[str, _Words]:
    """Generates different sentences that are not `known`: text -> words."""
    rng = random.Random(seed)
    sentences: dict[str, _Words] = {}
    while len(sentences) < count:
        words = _sentence(rng, lexicon)
        text = _text(words)
        if text not in known:
            sentences.setdefault(text, words)
    return sentences


def _fields(sentences: dict[str, _Words]) -> tuple:
    tokens = [[token for token, _ in words] for words in sentences.values()]
    tags = [[tag for _, tag in words] for words in sentences.values()]
    return tokens, tags, list(sentences), [i // _SENTENCES_PER_DOCUMENT for i in range(len(sentences))]


def _text(words: _Words) -> str:
    text, has_space = "", False
    for token, _ in words:
        text += f" {token}" if has_space and token not in _NO_SPACE_BEFORE else token
        has_space = token not in _NO_SPACE_AFTER
    return text


def _sentence(rng: random.Random, lexicon: _Lexicon) -> _Words:
    kind = rng.random()
    if kind < 0.15:
        words, end = _question(rng, lexicon), "?"
    elif kind < 0.25:
        words, end = (
            [(rng.choice(lexicon.transitive)[_BASE], "VERB"), *_object(rng, lexicon), *_place(rng, lexicon)],
            "!",
        )
    elif kind < 0.35:
        said, end = _clause(rng, lexicon), "."
        said = [(_capitalized(said[0][0]), said[0][1]), *said[1:]]
        speaker = [(rng.choice(lexicon.first_names), "PROPN"), ("says", "VERB")]
        words = [("\u201c", "PUNCT"), *said, (",", "PUNCT"), ("\u201d", "PUNCT"), *speaker]
    else:
        words, end = _clause(rng, lexicon), "."
        if rng.random() < 0.15:
            words += [("and", "CCONJ"), *_clause(rng, lexicon)]
    first, tag = words[0]
    return [(_capitalized(first), tag), *words[1:], (end, "PUNCT")]


def _clause(rng: random.Random, lexicon: _Lexicon) -> _Words:
    if rng.random() < 0.12:
        says, is_plural = rng.choice(_SAYING)
        that = [("that", "SCONJ")] if rng.random() < 0.8 else []
        return [*_subject(rng, lexicon, is_plural), (says, "VERB"), *that, *_plain_clause(rng, lexicon)]
    return _plain_clause(rng, lexicon)


def _plain_clause(rng: random.Random, lexicon: _Lexicon) -> _Words:
    is_plural = rng.random() < 0.4
    return [*_subject(rng, lexicon, is_plural), *_predicate(rng, lexicon, is_plural), *_circumstance(rng, lexicon)]


def _question(rng: random.Random, lexicon: _Lexicon) -> _Words:
    is_plural = rng.random() < 0.4
    auxiliary = rng.choice(_MODALS) if rng.random() < 0.7 else ("do" if is_plural else "does")
    subject = _subject(rng, lexicon, is_plural, with_clause=False)
    return [(auxiliary, "AUX"), *subject, *_verb_phrase(rng, lexicon, _BASE), *_circumstance(rng, lexicon)]


def _subject(rng: random.Random, lexicon: _Lexicon, is_plural: bool, with_clause: bool = True) -> _Words:
    kind = rng.random()
    if kind < 0.2:
        return [(rng.choice([word for word, plural in _SUBJECTS if plural == is_plural]), "PRON")]
    if kind < 0.4 and not is_plural:
        return _name(rng, lexicon)
    words = _noun_phrase(rng, lexicon, is_plural)
    if with_clause and rng.random() < 0.15:  # the verb agrees with the noun before "that"
        words += [("that", "PRON"), *_verb_phrase(rng, lexicon, _PAST)]
    return words


def _predicate(rng: random.Random, lexicon: _Lexicon, is_plural: bool) -> _Words:
    present = _BASE if is_plural else _THIRD
    kind = rng.random()
    if kind < 0.5:
        return _verb_phrase(rng, lexicon, rng.choice((present, _PAST)))
    if kind < 0.65:
        return [(rng.choice(_MODALS), "AUX"), *_verb_phrase(rng, lexicon, _BASE)]
    if kind < 0.72:
        negated = [("do" if is_plural else "does", "AUX"), ("n't", "PART")]
        return [*negated, *_verb_phrase(rng, lexicon, _BASE)]
    if kind < 0.79:
        return [("have" if is_plural else "has", "AUX"), *_verb_phrase(rng, lexicon, _PARTICIPLE)]
    if kind < 0.86:
        return [("were" if is_plural else "was", "AUX"), *_verb_phrase(rng, lexicon, _ING)]
    if kind < 0.93:
        return [("want" if is_plural else "wants", "VERB"), ("to", "PART"), *_verb_phrase(rng, lexicon, _BASE)]
    return [("were" if is_plural else "was", "AUX"), (rng.choice(lexicon.adjectives), "ADJ")]


def _verb_phrase(rng: random.Random, lexicon: _Lexicon, form: int) -> _Words:
    """A verb with its object or an adverb."""
    if rng.random() < 0.65:
        return [(rng.choice(lexicon.transitive)[form], "VERB"), *_object(rng, lexicon)]
    verb = (rng.choice(lexicon.intransitive)[form], "VERB")
    kind = rng.random()
    if kind < 0.4:
        return [verb, (rng.choice(lexicon.adverbs), "ADV")]
    if kind < 0.6:
        return [verb, ("like", "ADP"), *_noun_phrase(rng, lexicon, is_plural=False)]
    return [verb, ("to", "ADP"), (rng.choice(lexicon.places), "PROPN")] if kind < 0.75 else [verb]


def _object(rng: random.Random, lexicon: _Lexicon) -> _Words:
    kind = rng.random()
    if kind < 0.25:
        return [(rng.choice(_OBJECTS), "PRON")]
    if kind < 0.4:
        return _name(rng, lexicon)
    if kind < 0.5:
        return _quantity(rng, lexicon)
    return _noun_phrase(rng, lexicon, rng.random() < 0.4)


def _name(rng: random.Random, lexicon: _Lexicon) -> _Words:
    words = [(rng.choice(lexicon.first_names), "PROPN")]
    return [*words, (rng.choice(lexicon.surnames), "PROPN")] if rng.random() < 0.4 else words


def _quantity(rng: random.Random, lexicon: _Lexicon) -> _Words:
    number = (rng.choice(_NUMBERS), "NUM")
    kind = rng.random()
    if kind < 0.3:
        return [("$", "SYM"), (rng.choice([each for each in _NUMBERS if each[0].isdigit()]), "NUM")]
    if kind < 0.6:
        return [number, ("shares", "NOUN"), ("of", "ADP"), (rng.choice(lexicon.companies), "PROPN")]
    return [number, (rng.choice(_UNITS), "NOUN"), ("of", "ADP"), (rng.choice(_MATERIALS), "NOUN")]


def _noun_phrase(rng: random.Random, lexicon: _Lexicon, is_plural: bool) -> _Words:
    noun = (rng.choice(lexicon.nouns)[is_plural], "NOUN")
    adjectives = [(rng.choice(lexicon.adjectives), "ADJ")] if rng.random() < 0.35 else []
    kind = rng.random()
    if kind < 0.3:
        first = [(rng.choice(_POSSESSIVES), "DET")]
    elif kind < 0.4:
        first = [*_name(rng, lexicon), ("'s", "PART")]
    elif kind < 0.55:
        first = [(rng.choice(("these", "those") if is_plural else ("this", "that")), "DET")]
    elif kind < 0.7 and is_plural:
        first = [(rng.choice([each for each in _NUMBERS if each != "2.5"]), "NUM")]
    elif kind < 0.85 or is_plural:
        first = [("the", "DET")]
    else:
        next_word = (adjectives or [noun])[0][0]
        first = [("an" if next_word[0] in "aeo" else "a", "DET")]  # "useful" starts with a consonant
    return [*first, *adjectives, noun]


def _circumstance(rng: random.Random, lexicon: _Lexicon) -> _Words:
    """A place or a time, or none."""
    kind = rng.random()
    if kind < 0.3:
        return _place(rng, lexicon)
    if kind < 0.45:
        return [("on", "ADP"), (rng.choice(_DAYS), "PROPN")]
    if kind < 0.52:
        return [("in", "ADP"), ("May", "PROPN")]
    return [("in", "ADP"), (str(rng.randint(1950, 2025)), "NUM")] if kind < 0.62 else []


def _place(rng: random.Random, lexicon: _Lexicon) -> _Words:
    if rng.random() < 0.4:
        return [("in", "ADP"), (rng.choice(lexicon.places), "PROPN")]
    return [(rng.choice(_PREPOSITIONS), "ADP"), *_noun_phrase(rng, lexicon, is_plural=False)]


def _capitalized(word: str) -> str:
    return word[0].upper() + word[1:]
