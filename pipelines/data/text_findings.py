"""What `doctor` finds in texts without labels: one long text, or many texts with a beginning and an end each."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from pipelines.data import tables, texts
from pipelines.data.splits import comparable
from pipelines.data.text_flaws import Flaws
from pipelines.support import paths
from pipelines.support.findings import MAX_EXAMPLES, Finding, examples, is_worth, percent
from pipelines.support.numbers import counted
from pipelines.support.paths import Data

LINE = "line"
_LONG = 40  # characters of a line that is hardly in two places by chance
_MIN_REPEATED = 0.02  # of the long lines
_MIN_LEAKED = 0.01  # of the long lines of the validation text
_MIN_LETTERS = 0.4  # of the characters that are no white space; in Hindi, vowel signs are no letters
_MIN_CHARACTERS = 20_000
_MIN_DOCUMENTS = 20
_MAX_LINE = 10_000  # characters; a paragraph of a book has a thousand
_ONCE = f"awk 'length($0) < {_LONG} || !seen[$0]++' FILE > NEW"


class Read(NamedTuple):
    """What was read.

    Attributes:
        texts: number of texts: lines that are not blank, or documents.
        characters: their number.
        letters: fraction of the characters that are no white space.
        findings: what was found.
    """

    texts: int
    characters: int
    letters: float
    findings: list[Finding]


def lines_of(data: Data, encoding: str | None) -> Iterator[tuple[str, str]]:
    """Yields (place, line) of the lines with text of files, or of a corpus."""
    for each in paths.each(data):
        name = Path(each).name
        for number, line in enumerate(texts.lines(each, encoding), 1):
            if line.strip():
                yield f"{name}:{number}", line


def find(
    rows: Iterable[tuple[str, str]],
    noun: str,
    encoding: str | None,
    in_lines: bool,
    markup: bool = True,
    valid: Callable[[], Iterable[tuple[str, str]]] | None = None,
) -> Read:
    """Returns what is found in texts.

    Args:
        rows: (place, text).
        noun: of a text: LINE of one long text, or another one for texts that have a beginning and an end.
        in_lines: whether each text is a line of its file.
        encoding, markup: as of `Flaws`.
        valid: yields (place, text) of the validation texts; None: there are none of their own.
    """
    flaws, seen = Flaws(noun, encoding, markup), set()
    count = characters = letters = visible = num_long = num_repeated = 0
    repeated: list[tuple[str, str]] = []
    endless: list[tuple[str, str]] = []
    for where, text in rows:
        count += 1
        characters += len(text)
        letters += sum(map(str.isalpha, text))
        visible += sum(map(len, text.split()))
        flaws.add(where, text)
        if noun == LINE and len(text) > _MAX_LINE:
            endless.append((where, f"{len(text):,} characters: {text[:_LONG]}"))
        if len(text) >= _LONG:
            num_long += 1
            key = _key(text)
            if key in seen:
                num_repeated += 1
                repeated += [(where, text)] if len(repeated) < MAX_EXAMPLES else []
            seen.add(key)
    found = flaws.findings()
    if endless:
        found.append(
            Finding(
                "no-line-ends",
                f"{counted(len(endless), 'line')} of more than {_MAX_LINE:,} characters: have the line ends been lost?",
                examples=examples(endless),
            )
        )
    if is_worth(num_repeated, num_long, _MIN_REPEATED):
        text = f"{counted(num_repeated, noun)} of at least {_LONG} characters, {percent(num_repeated, num_long)} of "
        text += "them, are there already: the model learns them by heart"
        found.append(Finding("repeated", text, _ONCE if in_lines else "", examples(repeated)))
    if letters < _MIN_LETTERS * visible:
        found.append(Finding("hardly-letters", f"only {percent(letters, visible)} of the characters are letters"))
    if characters < _MIN_CHARACTERS:
        text = f"{characters:,} characters are few to learn from: a book has half a million"
        found.append(Finding("few-characters", text))
    if noun != LINE and count < _MIN_DOCUMENTS:
        remedy = "--documents line, if each line is a text" if noun == "file" else ""
        found.append(Finding("few-documents", f"{counted(count, noun)}: few to learn from", remedy))
    if valid is not None:
        found += _leaked(valid(), seen, noun)
    return Read(count, characters, letters / visible if visible else 0.0, found)


def is_a_table(data: Data) -> list[Finding]:
    """Returns the finding that a file that is read as one long text is a table; nothing if it is none."""
    path = next((Path(each) for each in paths.each(data) if tables.is_table(Path(each))), None)
    if path is None:
        return []
    text = f"{path.name} is a table, and would be read as one long text with all its columns"
    return [Finding("table", text, "--documents row, and --text-column NAME for another column than `text`")]


def _leaked(valid: Iterable[tuple[str, str]], seen: set[bytes], noun: str) -> list[Finding]:
    """Returns the finding on validation texts that are also in training.

    Args:
        seen: keys of the training texts.
    """
    num_long, leaked = 0, []
    for where, text in valid:
        if len(text) >= _LONG:
            num_long += 1
            if _key(text) in seen:
                leaked.append((where, text))
    if not is_worth(len(leaked), num_long, _MIN_LEAKED):
        return []
    text = f"{counted(len(leaked), noun)} of --valid, {percent(len(leaked), num_long)} of those of at least {_LONG} "
    text += "characters, are also in the training text: its scores say little about new text"
    return [Finding("leak", text, "without --valid, which then is the end of the data", examples(leaked))]


def _key(text: str) -> bytes:
    return hashlib.blake2b(comparable(text).encode("utf-8", "replace"), digest_size=16).digest()
