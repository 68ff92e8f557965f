"""Schemes that mark spans, such as names, with one tag per token: IOB2 (also called BIO), IOB1, BIOES and BILOU.

All of them have O for tokens outside of spans. In IOB2, B-PER starts a span of the label PER and I-PER continues it. In
IOB1, a span starts with I-PER, and with B-PER only directly after a span of the same label. In BIOES, E-PER ends a span
and S-PER is a span of one token; BILOU has L and U in place of E and S, and other names of these letters are in use.
"""

import re
from collections.abc import Iterable

IOB1, IOB2, BIOES = "IOB1", "IOB2", "BIOES"
_TAG = re.compile(r"([BIESLUMW])-(.+)", re.DOTALL)
_LETTERS_OF_BIOES = tuple(map(frozenset, ("BIES", "BILU", "BMES", "BMEW")))
_CONTINUES = "IELM"  # letters of tags that continue a span
_IS_LAST = "ESLUW"  # letters of tags after which no span is open


def is_spans(tags: Iterable[str]) -> bool:
    """Whether all tags are O, B-x or I-x, and at least one is not O.

    Args:
        tags: the set of tags, or the tags of all tokens.
    """
    different = set(tags) - {"O"}
    return bool(different) and all(tag[:2] in ("B-", "I-") and len(tag) > 2 for tag in different)


def detect(sentences: Iterable[list[str]]) -> str | None:
    """Returns the scheme of the tags: IOB2, IOB1 or BIOES; None if they mark no spans.

    Tags mark spans only if all of them do: other tags, such as parts of speech, may look like those of a scheme. If
    the tags fit both IOB1 and IOB2 it is IOB2; if they fit neither, it is the one that fewer of them break.

    Args:
        sentences: tags of each sentence.
    """
    detector = Detector()
    detector.add(sentences)
    return detector.scheme()


class Detector:
    """Finds the scheme of sentences that are given one after the other, as `detect` does for all together."""

    def __init__(self):
        self._different: set[str] = set()
        self._breaking_iob1 = self._breaking_iob2 = 0

    def add(self, sentences: Iterable[list[str]]) -> None:
        """Reads the tags of more sentences."""
        for tags in sentences:
            self._different.update(tags)
            iob1, iob2 = _num_breaking(tags)
            self._breaking_iob1 += iob1
            self._breaking_iob2 += iob2

    def scheme(self) -> str | None:
        """Returns the scheme of all sentences so far."""
        matches = [_TAG.fullmatch(tag) for tag in self._different - {"O"}]
        if not matches or not all(matches):
            return None
        letters = {match[1] for match in matches}
        if "O" not in self._different and {m[2] for m in matches} != {m[2] for m in matches if m[1] in "BSUW"}:
            return None  # without O, every label must have a tag that starts a span
        if letters <= {"B", "I"}:
            return IOB1 if self._breaking_iob2 > self._breaking_iob1 else IOB2
        return BIOES if letters & set("BSUW") and any(letters <= known for known in _LETTERS_OF_BIOES) else None


def may_mark_spans(tags: Iterable[str]) -> bool:
    """Whether each tag alone is O or one of a scheme."""
    return all(tag == "O" or _TAG.fullmatch(tag) for tag in tags)


def to_iob2(sentences: Iterable[list[str]]) -> tuple[list[list[str]], int]:
    """Converts tags of any of the schemes to IOB2. A span starts with B-, whatever its first tag in the source is.

    Returns:
        (tags of each sentence, number of tags that continue a span in their scheme and were changed to B-, because
        there is no open span of their label). In IOB1 they are correct.
    """
    converted, num_changed = [], 0
    for sentence in sentences:
        tags, open_label = [], None
        for tag in sentence:
            if tag == "O":
                open_label = None
                tags.append(tag)
                continue
            letter, label = tag[0], tag[2:]
            continues = letter in _CONTINUES and label == open_label
            num_changed += letter in _CONTINUES and not continues
            tags.append(f"I-{label}" if continues else f"B-{label}")
            open_label = None if letter in _IS_LAST else label
        converted.append(tags)
    return converted, num_changed


def _num_breaking(tags: list[str]) -> tuple[int, int]:
    """Returns (number of B- that break IOB1, number of I- that break IOB2) of a sentence."""
    iob1 = iob2 = 0
    label_before = ""
    for tag in tags:
        label = tag[2:]
        if label and label != label_before:
            if tag[0] == "B":
                iob1 += 1
            else:
                iob2 += 1
        label_before = label
    return iob1, iob2
