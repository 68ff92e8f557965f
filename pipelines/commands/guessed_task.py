"""Which task data is for, by its content: what `doctor` assumes without --task."""

import itertools
import re
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from pipelines.data import corpora, encodings, prepared
from pipelines.settings.fields import flag
from pipelines.support import paths
from pipelines.support.errors import UserError
from pipelines.support.files import with_home
from pipelines.support.numbers import listed
from pipelines.support.paths import Data
from pipelines.task import TASKS
from pipelines.task_entry import TaskEntry

_OF_KIND = {entry.data_kind: entry.name for entry in reversed(TASKS.values())}  # the first task of each kind
_JUDGED = 200  # lines or sentences
_MOSTLY = 0.9  # of the judged lines have a tab in a file of pairs
_OF_TAGGED = (".conllu", ".conll", ".iob", ".iob2", ".bio")  # files that have nothing else
_SIDE = re.compile(r"train\.([a-z]{2,3})(?:\.(?:gz|xz|bz2|zip))?")  # such as train.en.gz


class Guess(NamedTuple):
    """A task, and why."""

    task: str
    reason: str


def examiners() -> list[TaskEntry]:
    """Returns the tasks whose data `doctor` can examine."""
    return [entry for entry in TASKS.values() if entry.has("examine")]


def guess(data: Data, given: Collection[str]) -> Guess:
    """Returns the task of data that exists: by its content, or the first one that has all `given` fields of a config.

    Raises:
        UserError: no task has all of them, the data is prepared, or a pattern matches no file.
    """
    fitting = [entry.name for entry in examiners() if set(given) <= set(entry.config_class().DATA_FIELDS)]
    flags = listed([flag(name) for name in given])
    if not fitting:
        raise UserError(f"{flags}: no task has all of these flags: leave out those of other tasks")
    found = of_content(paths.expanded(data))
    if found.task in fitting:
        return found
    own = [name for name in given if name not in TASKS[found.task].config_class().DATA_FIELDS]
    return Guess(fitting[0], f"{listed([flag(name) for name in own])} is a flag of it")


def of_content(data: Data) -> Guess:
    """Returns the task that the content of data is for.

    Raises:
        UserError: it is prepared already.
    """
    if prepared.is_prepared(data):
        raise UserError(f"{data} is prepared data, which has no texts any more: give the data that it was made from")
    first = paths.each(data)[0]
    if first in corpora.CORPORA:
        kind = corpora.CORPORA[first].kind
        return Guess(_OF_KIND[kind], f"the corpus has {kind}")
    path = corpora.existing(first, "") if paths.is_address(first) else with_home(first)
    if not path.is_file() and not path.is_dir():
        return Guess("classification", "there is no such file")  # its reader says so
    try:
        return _of_folder(path) if path.is_dir() else _of_file(path)
    except UserError:
        return Guess("classification", "it cannot be read")  # its reader says why


def _of_folder(folder: Path) -> Guess:
    from pipelines.data import tables, tagged_files

    try:
        files = tagged_files.of(str(folder))
        if _is_tagged(next(iter(files.values()))[0]):
            return Guess("tagging", "it has a tag for each token")
    except UserError:
        pass
    names = [path.name for path in folder.iterdir()]
    if len({match[1] for match in map(_SIDE.fullmatch, names) if match}) > 1:
        return Guess("translation", "it has a file for each language")
    if tables.is_table(folder):
        return _of_table(folder)
    if any(name.lower().endswith(".txt") for name in names):
        return Guess("encoder", "it has files without labels")
    return Guess("classification", "it may have a folder for each label")


def _of_file(path: Path) -> Guess:
    from pipelines.data import tables

    if _is_tagged(path):
        return Guess("tagging", "it has a tag for each token")
    if tables.is_table(path):
        return _of_table(path)
    lines = [line for line in itertools.islice(encodings.read_lines(path), _JUDGED) if line.strip()]
    if lines and sum("\t" in line for line in lines) >= _MOSTLY * len(lines):
        return Guess("translation", "its lines have tabs between two sides")
    return Guess("language-model", "it is a text without labels")


def _of_table(path: Path) -> Guess:
    from pipelines.data import column_guess, pair_tables, tables

    frame = tables.columns(path).drop(columns=tables.GROUP_NAME, errors="ignore")
    names = [name.strip().lower() for name in frame.columns]
    text, labels = column_guess.text_column(frame), set(names) & set(tables.LABEL_NAMES)
    if pair_tables.state_sides(list(frame.columns)):
        return Guess("translation", "it has columns of two languages")
    if labels or (text is not None and column_guess.label_column(frame, text) is not None):
        return Guess("classification", "it is a table with a column of labels")
    if len(names) > 1 and encodings.suffix(path) in (".tsv", ".csv") and not set(names) & set(tables.TEXT_NAMES):
        return Guess("translation", "it is a table with several columns of text")
    return Guess("encoder", "it is a table of texts without labels")


def _is_tagged(path: Path) -> bool:
    """Whether the reader of tagged sentences finds several of them in a file, and fewer tags than half of the tokens.

    Lines of a text that have equally many words are one sentence for it. Of annotated JSON, the reader says what is
    wrong with it.
    """
    from pipelines.data import annotations, tagged_files, token_options

    is_annotated = False
    try:
        sentences = tagged_files.sentences(path, token_options.DEFAULTS, {})
        is_annotated = encodings.suffix(path) in annotations.SUFFIXES  # else the line above has raised
        found = list(itertools.islice(sentences, _JUDGED))
    except UserError:
        return is_annotated or encodings.suffix(path) in _OF_TAGGED
    tags = [tag for _, of_tokens, _, _ in found for tag in of_tokens]
    return is_annotated or encodings.suffix(path) in _OF_TAGGED or (len(found) > 1 and 2 * len(set(tags)) < len(tags))
