"""Scripts of texts, such as Latin or Cyrillic, by the names of their letters in Unicode."""

import collections
import functools
import unicodedata
from collections.abc import Iterable

_MAX_LETTERS = 1000  # characters of a text that are read, to find its script
_OF_JAPANESE = ("Cjk", "Hiragana", "Katakana")  # a sentence may have one of them alone


def fractions(texts: Iterable[str]) -> dict[str, float]:
    """Returns script -> fraction of the letters, the most frequent first: Latin, Cyrillic, CJK, ..."""
    letters: collections.Counter = collections.Counter()
    for text in texts:
        letters.update(character for character in text[:_MAX_LETTERS] if character.isalpha())
    found: collections.Counter = collections.Counter()
    for letter, count in letters.items():
        name = _of(letter)
        found["CJK" if name == "Cjk" else name] += count
    total = sum(found.values())
    return {name: count / total for name, count in found.most_common()}


def of_text(text: str) -> str | None:
    """Returns the script of most letters of a text; None if it has none. Those of Japanese are one: CJK."""
    names = (_of(character) for character in text[:_MAX_LETTERS] if character.isalpha())
    found = collections.Counter("CJK" if name in _OF_JAPANESE else name for name in names)
    return found.most_common(1)[0][0] if found else None


@functools.cache
def _of(letter: str) -> str:
    return unicodedata.name(letter, "OTHER").split()[0].capitalize()
