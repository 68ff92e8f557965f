"""The embedded sample: English sentences and their Spanish translations, from a small seeded grammar.

Scores on it say nothing about real text. It is here so that the whole way, from training to an export, can be tried offline. Word by
word it cannot be translated: Spanish adjectives stand behind their nouns and agree with them, as articles do; verbs agree with
their subjects; "not" changes its place.
"""

import dataclasses
import random

import numpy as np

VERSION = 1  # raise it with any change of what is generated: finished runs on the old sample are then not taken for new
PAIR = "en-es"


@dataclasses.dataclass(frozen=True)
class _Noun:
    english: str
    spanish: str
    feminine: bool
    plural: str = ""  # English; with an s if not given

    def in_english(self, many: bool) -> str:
        return (self.plural or self.english + "s") if many else self.english

    def in_spanish(self, many: bool) -> str:
        return _plural(self.spanish) if many else self.spanish


_PEOPLE = (
    _Noun("man", "hombre", False, "men"), _Noun("woman", "mujer", True, "women"), _Noun("girl", "chica", True), _Noun("boy", "chico", False),
    _Noun("doctor", "m\u00e9dico", False), _Noun("nurse", "enfermera", True), _Noun("neighbour", "vecino", False), _Noun("queen", "reina", True),
    _Noun("dog", "perro", False), _Noun("cow", "vaca", True), _Noun("teacher", "maestra", True), _Noun("painter", "pintor", False),
)  # fmt: skip
_THINGS = (
    _Noun("house", "casa", True), _Noun("car", "coche", False), _Noun("apple", "manzana", True), _Noun("book", "libro", False),
    _Noun("table", "mesa", True), _Noun("hat", "sombrero", False), _Noun("bicycle", "bicicleta", True), _Noun("tree", "\u00e1rbol", False),
    _Noun("letter", "carta", True), _Noun("glass", "vaso", False, "glasses"), _Noun("window", "ventana", True), _Noun("train", "tren", False),
)  # fmt: skip
_PLACES = (
    ("in the garden", "en el jard\u00edn"), ("behind the church", "detr\u00e1s de la iglesia"), ("on the beach", "en la playa"),
    ("near the river", "cerca del r\u00edo"), ("at the market", "en el mercado"), ("under the bridge", "debajo del puente"),
)  # fmt: skip
_TIMES = (("today", "hoy"), ("every morning", "cada ma\u00f1ana"), ("now", "ahora"), ("on Sundays", "los domingos"))
_ADJECTIVES = (
    ("red", "rojo"), ("white", "blanco"), ("old", "viejo"), ("small", "peque\u00f1o"), ("beautiful", "hermoso"), ("green", "verde"),
    ("big", "grande"), ("sad", "triste"), ("blue", "azul"), ("new", "nuevo"), ("cheap", "barato"), ("strong", "fuerte"),
)  # fmt: skip
# English stem, third person; Spanish third person singular, plural.
_VERBS = (
    ("see", "sees", "ve", "ven"), ("buy", "buys", "compra", "compran"), ("paint", "paints", "pinta", "pintan"),
    ("look for", "looks for", "busca", "buscan"), ("sell", "sells", "vende", "venden"), ("want", "wants", "quiere", "quieren"),
    ("find", "finds", "encuentra", "encuentran"), ("carry", "carries", "lleva", "llevan"),
)  # fmt: skip


def generate(pairs: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """(English, Spanish): object arrays [pairs] of sentences; the same for the same seed, and no English one twice."""
    rng = random.Random(seed)
    made = {}
    while len(made) < pairs:
        english, spanish = _sentence(rng)
        made.setdefault(english, spanish)
    return np.array(list(made), object), np.array(list(made.values()), object)


def _sentence(rng: random.Random) -> tuple[str, str]:
    many = rng.random() < 0.4
    subject, subject_spanish = _phrase(rng, rng.choice(_PEOPLE), many)
    thing, thing_spanish = _phrase(rng, rng.choice(_THINGS), rng.random() < 0.4)
    stem, third, singular, plural = rng.choice(_VERBS)
    if rng.random() < 0.25:
        verb, verb_spanish = f"{'do' if many else 'does'} not {stem}", f"no {plural if many else singular}"
    else:
        verb, verb_spanish = (stem, plural) if many else (third, singular)
    english, spanish = f"{subject} {verb} {thing}", f"{subject_spanish} {verb_spanish} {thing_spanish}"
    if rng.random() < 0.5:
        place, place_spanish = rng.choice(_PLACES)
        english, spanish = f"{english} {place}", f"{spanish} {place_spanish}"
    if rng.random() < 0.3:
        time, time_spanish = rng.choice(_TIMES)
        english, spanish = f"{time} {english}", f"{time_spanish} {spanish}"
    return english[0].upper() + english[1:] + ".", spanish[0].upper() + spanish[1:] + "."


def _phrase(rng: random.Random, noun: _Noun, many: bool) -> tuple[str, str]:
    adjectives = rng.sample(_ADJECTIVES, rng.choice((0, 1, 1, 2)))
    english = " ".join([*(english for english, _ in adjectives), noun.in_english(many)])
    spanish = " y ".join(_agreeing(spanish, noun.feminine, many) for _, spanish in adjectives)
    spanish = f"{noun.in_spanish(many)} {spanish}".rstrip()
    if many or rng.random() < 0.6:
        return f"the {english}", f"{('los', 'las')[noun.feminine] if many else ('el', 'la')[noun.feminine]} {spanish}"
    return f"{'an' if english[0] in 'aeiou' else 'a'} {english}", f"{('un', 'una')[noun.feminine]} {spanish}"


def _agreeing(adjective: str, feminine: bool, many: bool) -> str:
    adjective = adjective[:-1] + "a" if feminine and adjective.endswith("o") else adjective
    return _plural(adjective) if many else adjective


def _plural(word: str) -> str:
    return word + "s" if word[-1] in "aeo" else word + "es"
