"""Reads sentences and their translations from a corpus, a folder of parallel files, two files, or a table."""

import collections
import dataclasses
import functools
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from pipelines.data import corpora, encodings, pair_tables, sample_pairs, texts
from pipelines.data.pair_options import DEFAULTS, FIELDS, TABLE_FIELDS, PairOptions
from pipelines.support.errors import UserError
from pipelines.text.invisible import is_blank

SAMPLE_SIZE = 6000
_SPLITS = {"train": ("train",), "valid": ("val", "valid", "dev"), "test": ("test_2016_flickr", "test")}
_COMPRESSED = ("", *encodings.COMPRESSIONS)
_DEFAULT_PAIRS = {"multi30k": "en-de", "tatoeba-spa-eng": "en-es"}
_CORPUS_COLUMNS = {"tatoeba-spa-eng": ("en", "es")}
_TATOEBA_FILE = "spa.txt"
_CHUNK_PAIRS = 20_000


@dataclasses.dataclass
class Pairs:
    """Sentences and their translations.

    Attributes:
        source, target: object [n] of str.
        dropped: what was left out, and why: reason -> number of pairs.
    """

    source: np.ndarray
    target: np.ndarray
    dropped: dict[str, int] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, rows: Sequence[tuple[str, str]], dropped: dict[str, int] | None = None) -> "Pairs":
        """Returns the pairs of (sentence, translation)."""
        return cls(*(np.array([row[i] for row in rows], object) for i in (0, 1)), dropped or {})

    def __len__(self) -> int:
        return len(self.source)

    def take(self, rows: np.ndarray) -> "Pairs":
        """Returns the pairs of `rows`, indices or bool [n]."""
        return Pairs(self.source[rows], self.target[rows], self.dropped)


def language_pair(
    data: str | None, target: str | None, pair: str | None, options: PairOptions = DEFAULTS
) -> str | None:
    """Returns the languages, such as "en-de".

    They are `pair` if given, else those of the corpus, of the files' endings, or of the names of a table's columns.
    """
    if pair:
        return pair
    if data is None:
        return sample_pairs.PAIR
    if target:
        languages = [_ending(data), _ending(target)]
        return "-".join(languages) if all(languages) and languages[0] != languages[1] else None
    if data in _DEFAULT_PAIRS:
        return _DEFAULT_PAIRS[data]
    path = Path(os.path.expanduser(data))
    return pair_tables.read(path, None, options)[0].pair if _is_table(path) else None


def usable_options(data: str | None, target: str | None, options: PairOptions) -> PairOptions:
    """Returns those of the options for other data that `data` and `target` have a use for."""
    if data is None or corpora.named(data, "pairs"):
        return DEFAULTS
    is_table = not target and _is_table(Path(os.path.expanduser(data)))
    return options if is_table else PairOptions(encoding=options.encoding)


def _is_table(path: Path) -> bool:
    """Whether a path is that of a table of pairs: a file, or a folder that is a table itself."""
    from pipelines.data import tables  # takes half a second that files do not need

    return path.is_file() or (path.is_dir() and tables.is_table(path))


def joined(chunks: Iterable[Pairs]) -> Pairs:
    """Returns the pairs of all chunks together. There must be at least one chunk."""
    parts = list(chunks)
    dropped: collections.Counter = collections.Counter()
    for part in parts:
        dropped.update(part.dropped)
    sides = (np.concatenate([getattr(part, side) for part in parts]) for side in ("source", "target"))
    return Pairs(*sides, dict(dropped))


Chunks = Callable[[], Iterator[Pairs]]  # reads pairs from the first one on, in chunks of limited size


def read(
    data: str | None,
    target: str | None,
    pair: str | None,
    split: str | None = None,
    options: PairOptions = DEFAULTS,
) -> dict[str, Pairs]:
    """Reads all of the pairs that `find` finds."""
    return {name: joined(chunks()) for name, chunks in find(data, target, pair, split, options).items()}


def find(
    data: str | None,
    target: str | None,
    pair: str | None,
    split: str | None = None,
    options: PairOptions = DEFAULTS,
) -> dict[str, Chunks]:
    """Finds pairs, which may be larger than memory. Those with an empty side are left out when they are read.

    Args:
        data: corpus, folder, table, or file of source sentences; None for the embedded sample.
        target: file with the translations of `data`, line by line.
        pair: languages such as "en-de"; None for those of the data.
        split: files of a folder to read, such as test_2016_flickr.
        options: how to read the user's own files.

    Returns:
        Those of "train", "valid" and "test" that a folder or corpus has. Data without splits, and a given `split`, are
        returned as "train".

    Raises:
        UserError: the data cannot be read; or, after the last chunk, two files differ in length, or there are no pairs.
    """
    pair = language_pair(data, target, pair, options)
    if data is None:
        options.reject(FIELDS, "the embedded sample is no file")
        if pair != sample_pairs.PAIR:
            raise UserError(
                f"--pair {pair}: the embedded sample is {sample_pairs.PAIR}; give your own pairs with --data"
            )
        return {"train": lambda: iter([Pairs(*sample_pairs.generate(SAMPLE_SIZE))])}
    if target:
        if split:
            raise UserError(f"--split {split}: {data} and {target} are two files, which have no splits")
        options.reject(TABLE_FIELDS, f"{data} and {target} are two files of sentences, and not a table")
        _check_endings(data, target, pair)
        return {"train": functools.partial(_parallel_chunks, _file(data), _file(target), options.encoding)}
    is_corpus = corpora.named(data, "pairs")
    if is_corpus:
        options.reject(FIELDS, f"{data} is a corpus whose files are known")
    path = corpora.fetch(data) if is_corpus else corpora.existing(data, "pairs")
    columns = _CORPUS_COLUMNS.get(data)
    if columns:
        path = path / _TATOEBA_FILE
    if not _is_table(path):
        options.reject(TABLE_FIELDS, f"{data} is a folder, and not a table")
        return _find_in_folder(path, pair, split, options.encoding)
    if split:
        raise UserError(f"--split {split}: {data} is one file, which has no splits")
    return {"train": functools.partial(_table_chunks, path, pair, options, columns)}


def _find_in_folder(path: Path, pair: str | None, split: str | None, encoding: str | None) -> dict[str, Chunks]:
    if pair is None:
        endings = ", ".join(sorted({_ending(file.name) for file in path.iterdir()} - {""}))
        raise UserError(f"{path}: give source and target language with --pair, such as en-de (it has {endings})")
    names = {"train": (split,)} if split else _SPLITS
    parts = {}
    for part, candidates in names.items():
        for name in candidates:
            sides = [_find_file(path, f"{name}.{language}") for language in pair.split("-")]
            if all(sides):
                parts[part] = functools.partial(_parallel_chunks, *sides, encoding)
                break
    if not parts:
        name = split or "train"
        raise UserError(f"{path} has no {' and '.join(f'{name}.{language}' for language in pair.split('-'))}")
    return parts


def _check_endings(data: str, target: str, pair: str | None) -> None:
    """Checks that the endings of two files do not contradict `pair`: the files are read in the order of the flags."""
    languages = pair.split("-") if pair else ()
    for file, language, name in zip((data, target), languages, ("--data", "--target"), strict=False):
        ending = _ending(file)
        if ending != language and (ending in languages or len(ending) == 2):
            raise UserError(f"--pair {pair}: {name} {file} is {ending} by its name, but {language} is expected")


def _parallel_chunks(source: Path, target: Path, encoding: str | None) -> Iterator[Pairs]:
    """Yields the pairs of two files of sentences, line by line."""
    return _chunks(_parallel_rows(source, target, encoding), f"{source} and {target}")


def _parallel_rows(source: Path, target: Path, encoding: str | None) -> Iterator[tuple[str, str]]:
    paths, rows, missing = (source, target), 0, [0, 0]
    for row in itertools.zip_longest(*(texts.lines(str(path), encoding) for path in paths)):
        rows += 1
        if None in row:
            missing[row.index(None)] += 1
        else:
            yield row
    counts = [rows - each for each in missing]
    for path, count in zip(paths, counts, strict=True):
        if not count:
            raise UserError(f"{path} is empty")
    if counts[0] != counts[1]:
        raise UserError(
            f"{source} and {target} have {counts[0]:,} and {counts[1]:,} lines: they must be translations line by line"
        )


def _table_chunks(
    path: Path, pair: str | None, options: PairOptions, columns: tuple[str, str] | None
) -> Iterator[Pairs]:
    """Yields the pairs of a table.

    Args:
        columns: names of its columns, if they are known.
    """
    return _chunks(_table_rows(path, pair, options, columns), str(path))


def _table_rows(
    path: Path, pair: str | None, options: PairOptions, columns: tuple[str, str] | None
) -> Iterator[tuple[str, str] | str]:
    """Yields the two sides of each row, or why it has no two sides."""
    (source, target, *_), rows = pair_tables.read(path, pair, options, columns)
    for row in rows:
        if isinstance(row, str):
            yield row
        else:
            yield (row[source], row[target]) if len(row) > max(source, target) else pair_tables.NO_TAB


def _chunks(rows: Iterator[tuple[str, str] | str], files: str) -> Iterator[Pairs]:
    """Yields the rows that have text on both sides, and counts the others.

    Args:
        rows: both sides of each pair; a str is why there are no two sides.
        files: names of the files, for errors.
    """
    has_pairs = False
    while chunk := list(itertools.islice(rows, _CHUNK_PAIRS)):
        complete = [(row[0].strip(), row[1].strip()) for row in chunk if not isinstance(row, str)]
        kept = [row for row in complete if not any(map(is_blank, row))]
        has_pairs |= bool(kept)
        dropped = collections.Counter(row for row in chunk if isinstance(row, str))
        dropped["one side is empty"] += len(complete) - len(kept)
        yield Pairs.of(kept, {reason: count for reason, count in dropped.items() if count})
    if not has_pairs:
        raise UserError(f"{files}: no line has text on both sides")


def _file(data: str) -> Path:
    path = corpora.existing(data, "pairs")
    if path.is_dir():
        raise UserError(f"{data} is a folder: with --target, give two files")
    return path


def _find_file(folder: Path, name: str) -> Path | None:
    """The file `name` in `folder`, compressed or not; None if there is none."""
    candidates = (folder / (name + ending) for ending in _COMPRESSED)
    return next((path for path in candidates if path.is_file()), None)


def _ending(name: str) -> str:
    """The language that a file's name ends with: de for train.de and train.de.gz; empty if there is none."""
    parts = Path(name).name.split(".")
    parts = parts[:-1] if f".{parts[-1]}" in _COMPRESSED else parts
    return parts[-1] if len(parts) > 1 and parts[-1].isalpha() else ""
