"""Lines of a text with its labels, as fastText reads them: `__label__good What a film`."""

import re
from collections.abc import Collection, Iterator
from pathlib import Path

from pipelines.data import encodings
from pipelines.data.table_options import DEFAULT_LABELS_SEPARATOR, TableOptions
from pipelines.data.table_rows import Format, Row
from pipelines.support.errors import UserError

START = "__label__"
SUFFIXES = (".txt", ".train", ".valid", ".test", ".ft", ".fasttext", "")  # of files that may have such lines
NO_LABEL = "the line starts with no __label__"  # why a row is left out
_LABELS = re.compile(r"(?:__label__\S+\s+)*__label__\S+")


def is_file(path: Path) -> bool:
    """Whether a file starts with a label."""
    if encodings.suffix(path) not in SUFFIXES or not path.is_file():
        return False
    try:
        with encodings.opened_text(path, errors="replace") as text:
            return text.read(len(START) + 1).lstrip("\ufeff").startswith(START)
    except (UserError, OSError):
        return False  # the reader of its format says what is wrong


def rows(path: Path, options: TableOptions, names: Collection[str] | None = None) -> Iterator[Row]:
    """Yields the rows of a file, with the columns label and text: see `tables.named_chunks`.

    Several labels of a line have the separator of --labels-separator between them, else `|`.
    """
    separator = options.labels_separator or DEFAULT_LABELS_SEPARATOR
    with encodings.opened_text(path, options.encoding, errors=options.encoding_errors) as lines:
        for line in lines:
            found = _LABELS.match(line.strip())
            if found:
                labels = separator.join(label.removeprefix(START) for label in found[0].split())
                yield {"label": labels, "text": line.strip()[found.end() :].strip()}
            elif line.strip():
                yield NO_LABEL


FORMAT = Format((), rows, frozenset({"encoding"}))
