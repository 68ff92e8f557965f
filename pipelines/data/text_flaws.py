"""Flaws of single texts that come from files: wrong encodings, control characters, markup, hardly a letter."""

import re
from collections.abc import Callable, Iterable

from pipelines.support.findings import MAX_EXAMPLES, Finding, examples, is_worth
from pipelines.support.numbers import counted

# Bytes of UTF-8 that were read as Windows-1252 or Latin-1. Quotes are not among those after Ã and Â: they may follow a
# word in capital letters.
_AFTER = "\xa0-\xbf\u20ac\u0192\u02c6\u2030\u0160\u2039\u0152\u017d\u02dc\u2122\u0161\u203a\u0153\u017e\u0178\x80-\x9f"
_QUOTES = "\u201a\u201e\u2026\u2020\u2021\u2018\u2019\u201c\u201d\u2022\u2013\u2014"
_MOJIBAKE = re.compile(
    f"\u00c3[{_AFTER}]|\u00c2[\xa0-\xbf]|\u00e2[\u20ac\x80][{_AFTER}{_QUOTES}]"
    f"|(?:[\u00c4-\u00df][{_AFTER}{_QUOTES}]){{2}}|(?:[\u00e0-\u00ef][{_AFTER}{_QUOTES}]{{2}}){{2}}"
    f"|\u00f0\u0178[{_AFTER}{_QUOTES}]{{2}}"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_MARKUP = re.compile(
    r"</?(?:a|b|i|u|p|br|em|hr|li|ol|td|th|tr|ul|div|img|pre|code|font|html|body|head|link|meta|span|style|table|"
    r"script|strong|h[1-6])(?:\s[^<>]*)?/?>|&(?:amp|lt|gt|quot|apos|nbsp|#\d{2,5});",
    re.IGNORECASE,
)
_MIN_CHARACTERS, _MIN_LETTERS = 30, 0.3  # of a text with few letters: a shorter one may be a date or a price

Text = tuple[str, str]  # where it is, and the text


class Flaws:
    """Counts the flaws of texts that are given one after the other.

    Args:
        noun: of a text in sentences, such as "sentence".
        encoding: that the user gave for the files.
        markup: whether markup is a flaw; some tasks remove it.
        letters: whether a text with few letters is one.
    """

    def __init__(self, noun: str, encoding: str | None, markup: bool = True, letters: bool = True):
        self._noun, self._encoding = noun, encoding
        self._rows = 0
        self._all_mended = True  # whether the command for mojibake keeps every other letter, too
        self._counts: dict[str, int] = {}
        self._examples: dict[str, list[Text]] = {}
        self._tests: dict[str, Callable[[str], object]] = {
            "mojibake": _has_mojibake,
            "replacement-characters": lambda text: "\ufffd" in text,
            "control-characters": _CONTROL.search,
        }
        if markup:
            self._tests["markup"] = lambda text: ("<" in text or "&" in text) and _MARKUP.search(text)
        if letters:
            self._tests["few-letters"] = has_few_letters

    def add(self, where: str, text: str) -> None:
        """Reads one more text."""
        self._rows += 1
        self._all_mended = self._all_mended and (text.isascii() or _is_mended(text))
        for name, has in self._tests.items():
            if has(text):
                self._counts[name] = self._counts.get(name, 0) + 1
                if len(places := self._examples.setdefault(name, [])) < MAX_EXAMPLES:
                    places.append((where, text))

    def findings(self) -> list[Finding]:
        """Returns the flaws that enough texts have."""
        return [
            Finding(
                name,
                f"{counted(count, self._noun)} {_SENTENCES[name]}",
                self._remedy(name),
                examples(self._examples[name]),
            )
            for name, count in self._counts.items()
            if is_worth(count, self._rows)
        ]

    def _remedy(self, name: str) -> str:
        if name in ("mojibake", "replacement-characters") and self._encoding:
            return f"without --encoding {self._encoding}, or with another one"
        return "" if name == "mojibake" and not self._all_mended else _REMEDIES.get(name, "")


_SENTENCES = {
    "mojibake": "with letters such as \u00c3\u00a9, which are UTF-8 that was once read in another encoding",
    "replacement-characters": "with the character U+FFFD: a program has decoded them wrongly, and the letter is lost",
    "control-characters": "with control characters",
    "markup": "with markup of HTML, which is learned like any text",
    "few-letters": f"with hardly a letter: less than {100 * _MIN_LETTERS:.0f} % of the characters",
}
_REMEDIES = {
    "mojibake": "iconv -f utf-8 -t cp1252 < FILE > NEW",
    "control-characters": r"tr -d '\000-\010\013\014\016-\037\177' < FILE > NEW",
    "markup": r"sed -E 's/<[^>]*>/ /g; s/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g' < FILE > NEW",
}


def find(texts: Iterable[Text], flaws: Flaws) -> list[Finding]:
    """Returns the flaws of all texts."""
    for where, text in texts:
        flaws.add(where, text)
    return flaws.findings()


def has_few_letters(text: str) -> bool:
    """Whether a long text has hardly a letter."""
    visible = sum(map(len, text.split()))
    return visible >= _MIN_CHARACTERS and sum(map(str.isalpha, text)) < _MIN_LETTERS * visible


def _is_mended(text: str) -> bool:
    """Whether a text is UTF-8 after it is written in Windows-1252: it then is not if it has a letter that is right."""
    try:
        text.encode("cp1252").decode("utf-8")
    except UnicodeError:
        return False
    return True


def _has_mojibake(text: str) -> bool:
    return not text.isascii() and bool(_MOJIBAKE.search(text))
