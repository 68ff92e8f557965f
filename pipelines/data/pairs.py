"""Reads sentences and their translations from a corpus, a folder of parallel files, two files, or a TSV file."""

import dataclasses
from pathlib import Path

import numpy as np

from pipelines.data import corpora, sample_pairs, texts
from pipelines.support.errors import UserError

SAMPLE_SIZE = 6000
_SPLITS = {"train": ("train",), "valid": ("val", "valid", "dev"), "test": ("test_2016_flickr", "test")}
_COMPRESSED = ("", ".gz", ".xz", ".bz2")
_DEFAULT_PAIRS = {"multi30k": "en-de", "tatoeba-spa-eng": "en-es"}
_CORPUS_COLUMNS = {"tatoeba-spa-eng": ("en", "es")}
_TATOEBA_FILE = "spa.txt"


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

    def __len__(self) -> int:
        return len(self.source)

    def take(self, rows: np.ndarray) -> "Pairs":
        """Returns the pairs of `rows`, indices or bool [n]."""
        return Pairs(self.source[rows], self.target[rows], self.dropped)


def language_pair(data: str | None, target: str | None, pair: str | None) -> str | None:
    """Returns the languages, such as "en-de": `pair` if given, else those of the corpus or of the files' endings."""
    if pair:
        return pair
    if data is None:
        return sample_pairs.PAIR
    if target:
        languages = [_ending(data), _ending(target)]
        return "-".join(languages) if all(languages) and languages[0] != languages[1] else None
    return _DEFAULT_PAIRS.get(data)


def read(data: str | None, target: str | None, pair: str | None, split: str | None = None) -> dict[str, Pairs]:
    """Reads pairs; leaves out those with an empty side.

    Args:
        data: corpus, folder, TSV file, or file of source sentences; None for the embedded sample.
        target: file with the translations of `data`, line by line.
        pair: languages such as "en-de"; None for those of the data.
        split: files of a folder to read, such as test_2016_flickr.

    Returns:
        Those of "train", "valid" and "test" that a folder or corpus has. Data without splits, and a given `split`, are
        returned as "train".

    Raises:
        UserError: the data cannot be read, two files differ in length, or the data does not have the languages.
    """
    pair = language_pair(data, target, pair)
    if data is None:
        if pair != sample_pairs.PAIR:
            raise UserError(
                f"--pair {pair}: the embedded sample is {sample_pairs.PAIR}; give your own pairs with --data"
            )
        return {"train": Pairs(*sample_pairs.generate(SAMPLE_SIZE))}
    if target:
        if split:
            raise UserError(f"--split {split}: {data} and {target} are two files, which have no splits")
        _check_endings(data, target, pair)
        return {"train": _non_empty(_read_lines(_file(data)), _read_lines(_file(target)), f"{data} and {target}")}
    path = corpora.fetch(data) if corpora.named(data, "pairs") else corpora.existing(data, "pairs")
    columns = _CORPUS_COLUMNS.get(data)
    if columns:
        path = path / _TATOEBA_FILE
    if path.is_dir():
        return _read_folder(path, pair, split)
    if split:
        raise UserError(f"--split {split}: {data} is one file, which has no splits")
    return {"train": _read_table(path, pair, columns)}


def _read_folder(path: Path, pair: str | None, split: str | None) -> dict[str, Pairs]:
    if pair is None:
        endings = ", ".join(sorted({_ending(file.name) for file in path.iterdir()} - {""}))
        raise UserError(f"{path}: give source and target language with --pair, such as en-de (it has {endings})")
    names = {"train": (split,)} if split else _SPLITS
    parts = {}
    for part, candidates in names.items():
        for name in candidates:
            sides = [_find_file(path, f"{name}.{language}") for language in pair.split("-")]
            if all(sides):
                parts[part] = _non_empty(*map(_read_lines, sides), f"{sides[0]} and {sides[1]}")
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


def _read_table(path: Path, pair: str | None, columns: tuple[str, str] | None) -> Pairs:
    """Reads a TSV file.

    Args:
        columns: names of its columns. If not given, they are in its first line if that has the languages of `pair`;
            else the first two columns are source and target.
    """
    lines = _read_lines(path)
    languages = tuple(pair.split("-")) if pair else None
    header = columns
    if languages and header is None:
        names = tuple(cell.strip().lower() for cell in lines[0].split("\t"))
        if set(languages) & set(names):
            header, lines = names, lines[1:]
    if header and not set(languages) <= set(header):
        raise UserError(f"--pair {pair}: {path} has the columns {', '.join(header)}")
    first, second = (header.index(language) for language in languages) if header else (0, 1)
    rows = [line.split("\t") for line in lines]
    complete = [row for row in rows if len(row) > max(first, second)]
    if not complete:
        raise UserError(f"{path} has no tabs: each line needs a sentence, a tab and its translation (or give --target)")
    pairs = _non_empty([row[first] for row in complete], [row[second] for row in complete], str(path))
    if len(complete) < len(rows):
        pairs.dropped["no tab"] = len(rows) - len(complete)
    return pairs


def _non_empty(source: list[str], target: list[str], files: str) -> Pairs:
    """The pairs that have text on both sides.

    Args:
        files: names of the files, for errors.
    """
    if len(source) != len(target):
        raise UserError(
            f"{files} have {len(source):,} and {len(target):,} lines: they must be translations line by line"
        )
    source, target = (np.array([line.strip() for line in side] + [None], object)[:-1] for side in (source, target))
    is_empty = np.array([not (s and t) for s, t in zip(source, target, strict=True)], bool)
    if is_empty.all():
        raise UserError(f"{files}: no line has text on both sides")
    dropped = {"one side is empty": int(is_empty.sum())} if is_empty.any() else {}
    return Pairs(source[~is_empty], target[~is_empty], dropped)


def _read_lines(path: Path) -> list[str]:
    lines = list(texts.lines(str(path)))
    if not lines:
        raise UserError(f"{path} is empty")
    return lines


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
