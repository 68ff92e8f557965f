"""The paths that a user gives: one, several, or patterns such as 'reviews/*.csv'. Configs use it: no heavy imports."""

import glob
import itertools
import os
from pathlib import Path

from pipelines.support import object_storage
from pipelines.support.errors import UserError, most_similar

_MAX_ENTRIES = 10_000  # of a folder, that a wrong name is compared with

Data = str | tuple[str, ...]  # one path or name of a corpus, or several paths


def expanded(data: Data | None) -> Data | None:
    """Returns `data` with the files that match in place of its patterns, in alphabetical order and each file once.

    Returns:
        A str if it is one path, a tuple if there are several.

    Raises:
        UserError: there is no path, or no file matches a pattern.
    """
    if data is None:
        return None
    given = (data,) if isinstance(data, str) else data
    if not given:
        raise UserError("a flag of files, such as --data, has no value: give a path, or leave the flag out")
    found = tuple(dict.fromkeys(path for each in given for path in _matches(each)))
    return found[0] if len(found) == 1 else found


def each(data: Data) -> tuple[str, ...]:
    """Returns the paths of `data`."""
    return (data,) if isinstance(data, str) else data


def is_address(path: str) -> bool:
    """Whether the path is an address, such as https://host/reviews.csv or s3://bucket/reviews.csv."""
    return "://" in path


def shown(data: Data | None) -> str:
    """Returns a name of `data` for messages."""
    if data is None:
        return "the embedded sample"
    first, *others = ("stdin" if name == "-" else name for name in each(data))
    return f"{first} and {len(others)} more" if others else first


def suggested(path: str) -> str:
    """Returns "; did you mean ...?" with what is in the same folder and has a similar name; "" if nothing is."""
    folder = Path(path).parent
    try:
        with os.scandir(os.path.expanduser(folder)) as entries:
            found = most_similar(Path(path).name, [entry.name for entry in itertools.islice(entries, _MAX_ENTRIES)])
    except (OSError, ValueError):  # no folder; a name with a zero
        return ""
    return "" if found is None else f"; did you mean {folder / found}?"


def _matches(path: str) -> list[str]:
    """Returns the files that match a pattern; a path without wildcards, or that exists, is itself."""
    if is_address(path):  # a "?" of https starts its parameters
        is_pattern = path.startswith(object_storage.SCHEMES) and glob.has_magic(path)
        return [each.address for each in object_storage.find(path).objects] if is_pattern else [path]
    if not glob.has_magic(path) or Path(path).exists():
        return [path]
    found = [match for match in glob.glob(os.path.expanduser(path), recursive=True) if Path(match).is_file()]
    if not found:
        raise UserError(f"no file matches {path}: give a file, or a pattern such as 'reviews/*.csv'")
    return sorted(found)
