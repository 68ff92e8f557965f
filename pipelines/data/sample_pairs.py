"""The embedded sample: English sentences and their Spanish translations, from a small seeded grammar.

Its scores say nothing about real text. It serves to try training, evaluation and export without a download. A
translation word by word is not enough: Spanish adjectives follow their nouns and agree with them, articles agree with
nouns and verbs with subjects, and "not" moves to another position.
"""

import dataclasses
import random

import numpy as np

# Raise it with any change of the sentences: a finished run on the old sample must not count as one on the new sample.
VERSION = 1
PAIR = "en-es"


@dataclasses.dataclass(frozen=True)
class Noun:
    """A noun in English and Spanish."""

    english: str
    spanish: str
    feminine: bool
    english_plural: str = ""  # by default the singular with an s

    def in_english(self, is_plural: bool) -> str:
        """Returns the English form."""
        return (self.english_plural or self.english + "s") if is_plural else self.english

    def in_spanish(self, is_plural: bool) -> str:
        """Returns the Spanish form."""
        return _spanish_plural(self.spanish) if is_plural else self.spanish


_PEOPLE = (
    Noun("man", "hombre", False, "men"),
    Noun("woman", "mujer", True, "women"),
    Noun("girl", "chica", True),
    Noun("boy", "chico", False),
    Noun("doctor", "m\u00e9dico", False),
    Noun("nurse", "enfermera", True),
    Noun("neighbour", "vecino", False),
    Noun("queen", "reina", True),
    Noun("dog", "perro", False),
    Noun("cow", "vaca", True),
    Noun("teacher", "maestra", True),
    Noun("painter", "pintor", False),
)
_THINGS = (
    Noun("house", "casa", True),
    Noun("car", "coche", False),
    Noun("apple", "manzana", True),
    Noun("book", "libro", False),
    Noun("table", "mesa", True),
    Noun("hat", "sombrero", False),
    Noun("bicycle", "bicicleta", True),
    Noun("tree", "\u00e1rbol", False),
    Noun("letter", "carta", True),
    Noun("glass", "vaso", False, "glasses"),
    Noun("window", "ventana", True),
    Noun("train", "tren", False),
)
_PLACES = (
    ("in the garden", "en el jard\u00edn"),
    ("behind the church", "detr\u00e1s de la iglesia"),
    ("on the beach", "en la playa"),
    ("near the river", "cerca del r\u00edo"),
    ("at the market", "en el mercado"),
    ("under the bridge", "debajo del puente"),
)
_TIMES = (("today", "hoy"), ("every morning", "cada ma\u00f1ana"), ("now", "ahora"), ("on Sundays", "los domingos"))
ADJECTIVES = (
    ("red", "rojo"),
    ("white", "blanco"),
    ("old", "viejo"),
    ("small", "peque\u00f1o"),
    ("beautiful", "hermoso"),
    ("green", "verde"),
    ("big", "grande"),
    ("sad", "triste"),
    ("blue", "azul"),
    ("new", "nuevo"),
    ("cheap", "barato"),
    ("strong", "fuerte"),
)
# English stem, third person; Spanish third person singular, plural.
_VERBS = (
    ("see", "sees", "ve", "ven"),
    ("buy", "buys", "compra", "compran"),
    ("paint", "paints", "pinta", "pintan"),
    ("look for", "looks for", "busca", "buscan"),
    ("sell", "sells", "vende", "venden"),
    ("want", "wants", "quiere", "quieren"),
    ("find", "finds", "encuentra", "encuentran"),
    ("carry", "carries", "lleva", "llevan"),
)


def version() -> str:
    """A text that changes whenever the sample changes."""
    return f"embedded sample {VERSION}"


def generate(pairs: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Generates different English sentences and their Spanish translations; the same for the same seed.

    Args:
        pairs: number of pairs.

    Returns:
        (English, Spanish), both object [pairs] of str.
    """
    rng = random.Random(seed)
    translations: dict[str, str] = {}
    while len(translations) < pairs:
        english, spanish = _sentence(rng)
        translations.setdefault(english, spanish)
    return np.array(list(translations), object), np.array(list(translations.values()), object)


def _sentence(rng: random.Random) -> tuple[str, str]:
    """A sentence in English and Spanish."""
    is_plural = rng.random() < 0.4
    subject, subject_spanish = noun_phrase(rng, rng.choice(_PEOPLE), is_plural)
    thing, thing_spanish = noun_phrase(rng, rng.choice(_THINGS), rng.random() < 0.4)
    stem, third_person, singular, plural = rng.choice(_VERBS)
    if rng.random() < 0.25:
        verb, verb_spanish = f"{'do' if is_plural else 'does'} not {stem}", f"no {plural if is_plural else singular}"
    else:
        verb, verb_spanish = (stem, plural) if is_plural else (third_person, singular)
    english, spanish = f"{subject} {verb} {thing}", f"{subject_spanish} {verb_spanish} {thing_spanish}"
    if rng.random() < 0.5:
        place, place_spanish = rng.choice(_PLACES)
        english, spanish = f"{english} {place}", f"{spanish} {place_spanish}"
    if rng.random() < 0.3:
        time, time_spanish = rng.choice(_TIMES)
        english, spanish = f"{time} {english}", f"{time_spanish} {spanish}"
    return english[0].upper() + english[1:] + ".", spanish[0].upper() + spanish[1:] + "."


def noun_phrase(rng: random.Random, noun: Noun, is_plural: bool) -> tuple[str, str]:
    """Returns a noun with an article and up to two adjectives, in English and Spanish."""
    adjectives = rng.sample(ADJECTIVES, rng.choice((0, 1, 1, 2)))
    english = " ".join([*(english for english, _ in adjectives), noun.in_english(is_plural)])
    spanish = " y ".join(_agree(spanish, noun.feminine, is_plural) for _, spanish in adjectives)
    spanish = f"{noun.in_spanish(is_plural)} {spanish}".rstrip()
    if is_plural or rng.random() < 0.6:
        article = ("los", "las")[noun.feminine] if is_plural else ("el", "la")[noun.feminine]
        return f"the {english}", f"{article} {spanish}"
    article = "an" if english[0] in "aeiou" else "a"
    return f"{article} {english}", f"{('un', 'una')[noun.feminine]} {spanish}"


def _agree(adjective: str, feminine: bool, is_plural: bool) -> str:
    """The Spanish adjective in the gender and number of its noun."""
    adjective = adjective[:-1] + "a" if feminine and adjective.endswith("o") else adjective
    return _spanish_plural(adjective) if is_plural else adjective


def _spanish_plural(word: str) -> str:
    return word + "s" if word[-1] in "aeo" else word + "es"
