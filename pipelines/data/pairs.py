"""Sentences and their translations, wherever they come from: a corpus, a folder of parallel files, two files, a TSV file."""

import dataclasses
from pathlib import Path

import numpy as np

from pipelines.data import corpora, sample_pairs, texts
from pipelines.errors import UserError

SAMPLE_SIZE = 6000
_SPLITS = {"train": ("train",), "valid": ("val", "valid", "dev"), "test": ("test_2016_flickr", "test")}
_COMPRESSED = ("", ".gz", ".xz", ".bz2")
_OWN_PAIR = {"multi30k": "en-de", "tatoeba-spa-eng": "en-es"}
_COLUMNS = {"tatoeba-spa-eng": ("en", "es")}


@dataclasses.dataclass
class Pairs:
    """Sentences (object [n] of str) with their translations, and why others are not here: reason -> pairs."""

    source: np.ndarray
    target: np.ndarray
    dropped: dict[str, int] = dataclasses.field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.source)

    def take(self, rows: np.ndarray) -> "Pairs":
        return Pairs(self.source[rows], self.target[rows], self.dropped)


def language_pair(data: str | None, target: str | None, pair: str | None) -> str | None:
    """The two languages, such as "en-de": what was asked for, else what the corpus or the endings of the files say."""
    if pair:
        return pair
    if data is None:
        return sample_pairs.PAIR
    if target:
        ends = [_ending(data), _ending(target)]
        return "-".join(ends) if all(ends) and ends[0] != ends[1] else None
    return _OWN_PAIR.get(data)


def read(data: str | None, target: str | None, pair: str | None, split: str | None = None) -> dict[str, Pairs]:
    """"train", "valid" and "test", those that a folder or corpus has; what has no parts, and a named `split`, is given as "train". Pairs
    of which one side is empty are left out.

    Args:
        data, target, pair: as in the config.
        split: the files of a folder to read, such as test_2016_flickr.

    Raises:
        UserError: nothing to read, files of unequal length, a language that is not there, or files that say they are of another.
    """
    pair = language_pair(data, target, pair)
    if data is None:
        if pair != sample_pairs.PAIR:
            raise UserError(f"--pair {pair}: the sample has {sample_pairs.PAIR}; give pairs of your own with --data")
        return {"train": Pairs(*sample_pairs.generate(SAMPLE_SIZE))}
    if target:
        if split:
            raise UserError(f"--split {split}: {data} and {target} are two files, and have no parts")
        _check_endings(data, target, pair)
        return {"train": _kept(_lines(_file(data)), _lines(_file(target)), f"{data} and {target}")}
    path = corpora.fetch(data) if corpora.named(data, "pairs") else corpora.existing(data, "pairs")
    columns = _COLUMNS.get(data)
    if columns:
        path = path / "spa.txt"
    if path.is_dir():
        return _folder(path, pair, split)
    if split:
        raise UserError(f"--split {split}: {data} is one file, and has no parts")
    return {"train": _table(path, pair, columns)}


def _folder(path: Path, pair: str | None, split: str | None) -> dict[str, Pairs]:
    if pair is None:
        there = ", ".join(sorted({_ending(file.name) for file in path.iterdir()} - {""}))
        raise UserError(f"{path}: say from which language to which with --pair, such as en-de (there is {there})")
    wanted = {"train": (split,)} if split else _SPLITS
    found = {}
    for part, names in wanted.items():
        for name in names:
            sides = [_beside(path, f"{name}.{language}") for language in pair.split("-")]
            if all(sides):
                found[part] = _kept(*map(_lines, sides), f"{sides[0]} and {sides[1]}")
                break
    if not found:
        name = split or "train"
        raise UserError(f"{path} has no {' and '.join(f'{name}.{language}' for language in pair.split('-'))}")
    return found


def _check_endings(data: str, target: str, pair: str | None) -> None:
    """Two files are read in the order in which they are given: a `pair` that says another is a mistake."""
    languages = pair.split("-") if pair else ()
    for file, language, flag in zip((data, target), languages, ("--data", "--target"), strict=False):
        ending = _ending(file)
        if ending != language and (ending in languages or len(ending) == 2):
            raise UserError(f"--pair {pair}: {flag} {file} is of {ending} by its name, where {language} is expected")


def _table(path: Path, pair: str | None, columns: tuple[str, str] | None) -> Pairs:
    """A TSV file. Its columns are named by `columns`, else by its first line if the languages stand there, else they are the first two."""
    lines = _lines(path)
    languages = tuple(pair.split("-")) if pair else None
    head = columns
    if languages and head is None:
        names = tuple(cell.strip().lower() for cell in lines[0].split("\t"))
        if set(languages) & set(names):
            head, lines = names, lines[1:]
    if head and not set(languages) <= set(head):
        raise UserError(f"--pair {pair}: {path} has the columns {', '.join(head)}")
    first, second = (head.index(language) for language in languages) if head else (0, 1)
    cells = [line.split("\t") for line in lines]
    whole = [row for row in cells if len(row) > max(first, second)]
    if not whole:
        raise UserError(f"{path} has no tabs: a sentence, a tab and its translation are needed in each line (or give --target)")
    pairs = _kept([row[first] for row in whole], [row[second] for row in whole], str(path))
    if len(whole) < len(cells):
        pairs.dropped["no tab"] = len(cells) - len(whole)
    return pairs


def _kept(source: list[str], target: list[str], where: str) -> Pairs:
    if len(source) != len(target):
        raise UserError(f"{where} have {len(source):,} and {len(target):,} lines: line for line they must be translations")
    source, target = (np.array([line.strip() for line in side] + [None], object)[:-1] for side in (source, target))
    empty = np.array([not (s and t) for s, t in zip(source, target, strict=True)], bool)
    if empty.all():
        raise UserError(f"{where}: no line has text on both sides")
    return Pairs(source[~empty], target[~empty], {"one side is empty": int(empty.sum())} if empty.any() else {})


def _lines(path: Path) -> list[str]:
    text = "".join(texts.pieces(str(path)))
    if not text:
        raise UserError(f"{path} is empty")
    return text.removesuffix("\n").split("\n")


def _file(data: str) -> Path:
    path = corpora.existing(data, "pairs")
    if path.is_dir():
        raise UserError(f"{data} is a folder: with --target, give two files")
    return path


def _beside(folder: Path, name: str) -> Path | None:
    return next((folder / (name + ending) for ending in _COMPRESSED if (folder / (name + ending)).is_file()), None)


def _ending(name: str) -> str:
    """The language that a file's name ends in: de in train.de and in train.de.gz."""
    parts = Path(name).name.split(".")
    parts = parts[:-1] if f".{parts[-1]}" in _COMPRESSED else parts
    return parts[-1] if len(parts) > 1 and parts[-1].isalpha() else ""
