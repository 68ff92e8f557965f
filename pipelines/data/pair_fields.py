"""What two texts have in common: sets of words, and how much they share. They are fields of a text; see fields.py."""

import re
import string

COMMON, ONLY_FIRST, ONLY_SECOND, DIFFERENT, SHARED = "common", "only first", "only second", "different", "shared"
DIRECTED = (COMMON, ONLY_FIRST, ONLY_SECOND, SHARED)  # of a pair whose order counts
SYMMETRIC = (COMMON, DIFFERENT, SHARED)
LIMITS = tuple(i / 20 for i in range(1, 21))  # of SHARED
NO_WORDS = f"[{re.escape(string.punctuation + string.whitespace)}]+"  # between words; the same in RE2


def words(text: str) -> set[str]:
    """Returns the words of a text, with A to Z in lower case, without the punctuation of ASCII."""
    lower = text.translate(str.maketrans(string.ascii_uppercase, string.ascii_lowercase))
    return set(filter(None, re.split(NO_WORDS, lower)))


def compared(first: str, second: str) -> dict[str, str | float]:
    """Returns the fields of a pair: the words of each set, sorted by their bytes; SHARED is |common| / |all|, or 0."""
    a, b = words(first), words(second)
    sets = {COMMON: a & b, ONLY_FIRST: a - b, ONLY_SECOND: b - a, DIFFERENT: a ^ b}
    joined: dict[str, str | float] = {name: " ".join(sorted(each, key=_bytes)) for name, each in sets.items()}
    return joined | {SHARED: len(a & b) / len(a | b) if a | b else 0.0}


def _bytes(word: str) -> bytes:
    return word.encode("utf-8", "surrogatepass")  # it may have bytes that are not in the encoding of its file
