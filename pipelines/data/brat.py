"""Annotations of brat: a text in x.txt, and its spans in x.ann. Format: https://brat.nlplab.org/standoff.html"""

import re
from collections.abc import Iterator
from pathlib import Path

from pipelines.data import encodings, marked_texts
from pipelines.data.conllu import Fields
from pipelines.data.marked_texts import MarkedText
from pipelines.data.span_tokens import Span
from pipelines.data.token_options import TokenOptions
from pipelines.support.errors import UserError

SUFFIX = ".ann"
_SPAN = re.compile(r"T\S*\t(\S+) (\d+ \d+(?:;\d+ \d+)*)(?:\t(.*))?")
_PARTS = "parts of spans with gaps, each a span of its own"
_MAX_SHOWN = 60


def files(folder: Path) -> list[Path]:
    """Returns the annotations in a folder, not in folders in it, by name."""
    return sorted(path for path in folder.iterdir() if path.suffix.lower() == SUFFIX and path.is_file())


def sentences(path: Path, options: TokenOptions, dropped: dict[str, int]) -> Iterator[Fields]:
    """Yields the sentences of the text that belongs to the annotations `path`.

    Args:
        dropped: reason -> number of spans; those that are left out or changed are added.

    Raises:
        UserError: the text is missing, a line is no annotation, or most spans do not fit to the text.
    """
    options.reject(("column", "token_column", "separator", "tag_names"), f"{path} has spans of a text")
    return marked_texts.sentences(path, lambda counts: _texts(path, options.encoding, counts), dropped)


def _texts(path: Path, encoding: str | None, counts: dict[str, int]) -> Iterator[MarkedText]:
    text_path = path.with_suffix(".txt")
    if not text_path.is_file():
        raise UserError(f"{path} has the annotations of {text_path}, which does not exist: put it beside them")
    with encodings.opened_text(text_path, encoding, limits_lines=False, newline="") as file:
        text = file.read()
    spans, shown = [], []
    with encodings.opened_text(path, encoding) as lines:
        for number, line in enumerate(lines, 1):
            if not line.startswith("T"):  # relations, events, notes and others
                continue
            match = _SPAN.fullmatch(line.rstrip("\n"))
            if match is None:
                raise UserError(
                    f"{path}, line {number}: {line.strip()[:_MAX_SHOWN]!r} is no annotation: expected a name, a tab, a "
                    "label, start and end, a tab and the text"
                )
            parts = [[int(position) for position in part.split()] for part in match[2].split(";")]
            if len(parts) > 1:
                counts[_PARTS] = counts.get(_PARTS, 0) + len(parts)
            spans += [Span(start, end, match[1]) for start, end in parts]
            shown += [match[3]] if len(parts) == 1 else [None] * len(parts)
    yield MarkedText(text, spans, shown, str(text_path))
