"""CoNLL-U files: words with their tags, and the raw text of each sentence.

Format: https://universaldependencies.org/format.html
"""

import collections
import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from pipelines.data import tag_schemes
from pipelines.support.errors import UserError, suggestion

COLUMNS = {"upos": 3, "xpos": 4, "feats": 5}
NO_TAG = "_"
_NUM_COLUMNS = 10
_FORM, _LEMMA, _MISC = 1, 2, 9
_ID = re.compile(r"[0-9]+(?:-[0-9]+|\.[0-9]+)?")
_TEXT = re.compile(r"#\s*text\s*=(.*)")
_NEW_DOCUMENT = re.compile(r"#\s*newdoc\b")
_MAX_KEYS = 10  # keys of MISC that an error lists

Lines = Callable[[], Iterator[str]]  # the lines of a file, each time from the start
Fields = tuple[list[str], list[str], str, int]  # of a sentence: tokens, tags, text, number of the document


@dataclasses.dataclass
class _Sentence:
    """A sentence as in the file.

    Attributes:
        words: FORM and the cell of the wanted column of the words that get a tag.
        surface: (FORM, MISC) of the units that the text consists of: words, and ranges in place of their words.
        text: of the comment; "" if there is none.
        document: number of its document in the file.
    """

    document: int

    words: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    surface: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    text: str = ""


class _Range(NamedTuple):
    """The words that one unit of the text stands for.

    Attributes:
        line: number of its line.
        shown: its id, such as 1-2.
        last: id of its last word.
    """

    line: int
    shown: str
    last: int


_NO_RANGE = _Range(0, "", 0)


def is_conllu(lines: Iterable[str]) -> bool:
    """Whether the first line that is no comment has the ten columns of CoNLL-U, and an id in the first one."""
    for line in lines:
        if line.strip() and not line.startswith("#"):
            cells = line.split("\t")
            return len(cells) == _NUM_COLUMNS and bool(_ID.fullmatch(cells[0]))
    return False


def read(path: Path, text: str, column: str | None) -> tuple:
    """Reads the words of a file: all of `sentences`.

    Returns:
        The fields of `TaggedSentences`.

    Raises:
        UserError: as `sentences`.
    """
    lines, dropped = text.split("\n"), {}
    fields = [list(field) for field in zip(*sentences(path, lambda: iter(lines), column, dropped), strict=True)]
    return *fields, dropped


def sentences(path: Path, lines: Lines, column: str | None, dropped: dict[str, int]) -> Iterator[Fields]:
    """Yields the sentences of a file. The words of a range such as 1-2 are words; empty nodes such as 8.1 are not.

    Args:
        path: for error messages.
        lines: returns the lines of the file, each time from the start.
        column: upos, xpos, feats or a key of the column MISC, in upper or lower case. None is upos.
        dropped: reason -> number of words and sentences; what is left out or changed is added.

    Yields:
        Words, tags, text and number of the document. A word that has no value in the column has the tag _; or O if the
        other values of a key of MISC mark spans.

    Raises:
        UserError: a line is not CoNLL-U, or no word has a value in the column.
    """
    name = (column or "upos").lower()
    index = COLUMNS.get(name, _MISC)
    values = _key_reader(path, lines, column) if index == _MISC else list
    has_sentences = has_tags = False
    for sentence in _sentences(path, lines(), index, dropped):
        if not sentence.words:
            dropped["sentences without words"] = dropped.get("sentences without words", 0) + 1
            continue
        has_sentences = True
        tags = values(_cells(sentence))
        without_tag = tags.count(NO_TAG)
        has_tags = has_tags or without_tag < len(tags)
        if without_tag and name in ("upos", "xpos"):  # a word without features, or without a key of MISC, is usual
            reason = f"words without a tag in {name.upper()}, tagged {NO_TAG}"
            dropped[reason] = dropped.get(reason, 0) + without_tag
        yield [form for form, _ in sentence.words], tags, _raw_text(sentence), sentence.document
    if not has_sentences:
        raise UserError(f"{path} has no sentences: expected lines of ten columns, with tabs between them")
    if not has_tags:
        raise _no_tags(path, lines, name)


def _sentences(path: Path, lines: Iterable[str], index: int, dropped: dict[str, int]) -> Iterator[_Sentence]:
    """Yields the sentences of a file; counts the words that it leaves out in `dropped`.

    Args:
        index: of the wanted column.
    """
    sentence, document, word, last_range, has_words = _Sentence(0), 0, 0, _NO_RANGE, False
    for number, line in enumerate(lines, 1):
        if line.startswith("#"):
            if match := _TEXT.match(line):
                sentence.text = match[1].strip()
            elif _NEW_DOCUMENT.match(line):
                document += has_words
                sentence.document = document
            continue
        cells = line.split("\t")
        if len(cells) != _NUM_COLUMNS:
            if line.strip():
                raise _wrong_columns(path, number, line, len(cells))
            if sentence.surface:
                _check_end(path, word, last_range)
                yield sentence
                has_words = has_words or bool(sentence.words)
                sentence, word, last_range = _Sentence(document), 0, _NO_RANGE
            continue
        if not _ID.fullmatch(cells[0]):
            raise UserError(f"{path}, line {number}: {_shown(cells[0])} is not an id of CoNLL-U, such as 1, 1-2 or 1.1")
        if "." in cells[0]:
            continue
        form = cells[_FORM].strip()
        if "-" in cells[0]:
            last_range = _range(path, number, cells[0], word, last_range)
            sentence.surface.append((form, cells[_MISC]))
            continue
        word = _word(path, number, cells[0], word)
        if word > last_range.last:
            sentence.surface.append((form, cells[_MISC]))
        if not form or form == "_" != cells[_LEMMA]:
            dropped["words without a form"] = dropped.get("words without a form", 0) + 1
        else:
            sentence.words.append((form, cells[index]))
    if sentence.surface:
        _check_end(path, word, last_range)
        yield sentence


def _word(path: Path, number: int, shown: str, last_word: int) -> int:
    """Returns the id of a word.

    Args:
        number: of the line.
        last_word: id of the word before it in the sentence; 0 for the first one.

    Raises:
        UserError: it is not above that id.
    """
    word = int(shown)
    if not word:
        raise UserError(
            f"{path}, line {number}: the id is 0, but the first word of a sentence has the id 1: count the words from 1"
        )
    if word <= last_word:
        raise UserError(
            f"{path}, line {number}: the id {word} comes after {last_word}: put a blank line between sentences"
        )
    return word


def _range(path: Path, number: int, shown: str, last_word: int, last_range: _Range) -> _Range:
    """Returns the range of words that an id such as 1-2 states; for the arguments see `_word`.

    Raises:
        UserError: the range does not start after the last word and the last range, or ends before it starts.
    """
    first, last = map(int, shown.split("-"))
    place = f"{path}, line {number}: the range {shown}"
    if last < first:
        raise UserError(f"{place} ends before it starts: write the lower id first")
    if first <= last_word:
        raise UserError(f"{place} comes after the word {last_word}: put it before its first word")
    if first <= last_range.last:
        raise UserError(f"{place} starts in the range before it, which ends with {last_range.last}: fix the ids")
    return _Range(number, shown, last)


def _check_end(path: Path, last_word: int, last_range: _Range) -> None:
    """Raises a UserError if a sentence ends before the last one of its ranges does."""
    if last_range.last > last_word:
        raise UserError(
            f"{path}, line {last_range.line}: the range {last_range.shown} has words up to {last_range.last}, but the "
            f"sentence ends with {last_word}: fix the ids"
        )


def _raw_text(sentence: _Sentence) -> str:
    """Returns the text of the comment if it consists of the forms, else the forms with spaces between them."""
    if "".join(sentence.text.split()) == "".join("".join(form.split()) for form, _ in sentence.surface):
        return sentence.text
    joined = (form if "SpaceAfter=No" in misc.split("|") else f"{form} " for form, misc in sentence.surface)
    return "".join(joined).strip()


def _cells(sentence: _Sentence) -> list[str]:
    """Returns the cell of the wanted column of each word."""
    return [cell.strip() or NO_TAG for _, cell in sentence.words]


def _key_reader(path: Path, lines: Lines, key: str) -> Callable[[list[str]], list[str]]:
    """Reads a file to find a key of MISC, and whether its values mark spans.

    Returns:
        A function that returns the tags which cells of MISC have under the key.
    """

    def all_cells() -> Iterator[list[str]]:
        return map(_cells, _sentences(path, lines(), _MISC, {}))

    keys = _keys(all_cells())
    same = key if key in keys else next((each for each in keys if each.lower() == key.lower()), None)
    if same is None:
        if key.isdecimal():
            reason = f"{path} is CoNLL-U, whose columns have names"
        else:
            reason = f"no word of {path} has the key {_shown(key)} in MISC{suggestion(key, [*COLUMNS, *keys])}"
        raise UserError(f"--column {key}: {reason}: give {', '.join(COLUMNS)}, or a key of MISC ({_listed(keys)})")
    start = f"{same}="

    def values(cells: list[str]) -> list[str]:
        return [next((pair[len(start) :] for pair in cell.split("|") if pair.startswith(start)), "") for cell in cells]

    detector = tag_schemes.Detector()
    detector.add([["O"]])
    detector.add([value for value in values(cells) if value] for cells in all_cells())
    without_value = "O" if detector.scheme() else NO_TAG
    return lambda cells: [value or without_value for value in values(cells)]


def _keys(cells: Iterable[list[str]]) -> list[str]:
    """Returns the keys in the cells of MISC of each sentence, the most frequent one first."""
    pairs = (pair.partition("=") for sentence in cells for cell in sentence if cell != "_" for pair in cell.split("|"))
    return [key for key, _ in collections.Counter(key for key, _, value in pairs if value).most_common()]


def _no_tags(path: Path, lines: Lines, name: str) -> UserError:
    """Returns the error for a column without tags; it names those with tags."""
    others = []
    for other, index in COLUMNS.items():
        if any(
            cell not in ("", NO_TAG) for sentence in _sentences(path, lines(), index, {}) for _, cell in sentence.words
        ):
            others.append(other)
    others += _keys([cell for _, cell in sentence.words] for sentence in _sentences(path, lines(), _MISC, {}))
    remedy = f"name another one with --column ({_listed(others)})" if others else "give a file with tags"
    return UserError(f"{path}: no word has a tag in {name.upper()}: {remedy}")


def _wrong_columns(path: Path, number: int, line: str, num_columns: int) -> UserError:
    plural = "columns" if num_columns > 1 else "column"
    return UserError(
        f"{path}, line {number}: {num_columns} {plural} ({_shown(line)}), but CoNLL-U has ten, with tabs between them: "
        "fix the line"
    )


def _listed(names: list[str]) -> str:
    return ", ".join(names[:_MAX_KEYS]) + (", ..." if len(names) > _MAX_KEYS else "") if names else "it has none"


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}...")
