"""Prints tokens with their tags underneath."""

import zlib
from collections.abc import Sequence

from rich.cells import cell_len

_COLORS = tuple(f"\033[{code}m" for code in (31, 32, 33, 34, 35, 36, 95))
_BOLD, _RESET = "\033[1m", "\033[0m"
_GAP = "  "  # between columns
_UNSURE = 0.5  # a tag with a lower probability has a question mark


def format_tags(tokens: Sequence[str], tags: Sequence[str], scores: Sequence[float], width: int, color: bool) -> str:
    """Returns lines of tokens, each with its tag underneath; a tag with a probability under 0.5 has a question mark.

    Args:
        tokens, tags, scores: of a text; the scores are the probabilities of the tags.
        width: number of columns of the terminal. An East Asian character takes two columns. A text that does not fit
            is printed as several blocks of lines; a single token that does not fit is not divided.
        color: whether entities, the tokens with tags B-x and I-x, are in bold colors: one color for each label x.
    """
    if not tokens:
        return "(no tokens)"
    blocks, used = [], width
    for token, tag, score in zip(tokens, tags, scores, strict=True):
        token, shown_tag = _printable(token), tag + "?" * (score < _UNSURE)
        size = max(cell_len(token), cell_len(shown_tag))
        if used + len(_GAP) + size > width:
            blocks.append(([], []))
            used = -len(_GAP)
        used += len(_GAP) + size
        for line, text in zip(blocks[-1], (token, shown_tag)):
            line.append(_colored(text, tag, color) + " " * (size - cell_len(text)))
    return "\n\n".join("\n".join(_GAP.join(line).rstrip() for line in block) for block in blocks)


def _printable(token: str) -> str:
    """The token without control characters, which could move the cursor or change colors."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in token)


def _colored(text: str, tag: str, color: bool) -> str:
    if not color or tag[:2] not in ("B-", "I-"):
        return text
    return f"{_BOLD}{_COLORS[zlib.adler32(tag[2:].encode()) % len(_COLORS)]}{text}{_RESET}"
