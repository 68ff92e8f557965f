"""Reads the numbers that a reader changes on the command line. It imports neither NumPy nor TensorFlow."""

import re

from pipelines.support.errors import UserError, suggestion

LARGEST = 10.0  # of a number that a reader gives; larger ones leave no probability to see

WORDS = ("and", "for", "long", "so", "thanks")
# The worked example "so long and": embeddings E (a row for each word), input weights W, recurrent weights U, and output
# weights V (a row for each word).
WORKED_EXAMPLE = {
    "E": [[0.087, 0.940], [0.698, 0.711], [0.474, 0.897], [0.698, 0.978], [0.122, 0.175]],
    "W": [[0.375, 0.951], [0.732, 0.599]],
    "U": [[0.156, 0.156], [0.058, 0.866]],
    "V": [[0.601, 0.683], [0.021, 0.970], [0.832, 0.212], [0.182, 0.183], [0.304, 0.525]],
}
NETWORKS = ("simple", "lstm", "gru", "attention", "transformer")  # of `learn memory`
EVERY = 25  # steps of training between two checks of `learn memory`
_DISTANCES = (2, 500)  # two numbers are needed for a sum of two
_SETTING = re.compile(r"\s*(\w+)\s*\[\s*(\w+)\s*,\s*(\w+)\s*\]\s*=(.*)", re.DOTALL)

Changes = dict[tuple[str, int, int], float]  # (matrix, row, column) -> number


def parse_changes(settings: tuple[str, ...]) -> Changes:
    """Reads settings such as "W[0,1]=0.5" or "E[so,0]=0.1" for the matrices of the worked example.

    Raises:
        UserError: a setting has another form, names what does not exist or was named before, or has no number.
    """
    changes = {}
    for setting in settings:
        parts = _SETTING.fullmatch(setting)
        if not parts:
            raise UserError(f"--set {setting}: write it as MATRIX[ROW,COLUMN]=NUMBER, such as W[0,1]=0.5")
        name, row, column, number = parts.groups()
        if name not in WORKED_EXAMPLE:
            raise UserError(f"--set {setting}: no matrix {name!r}: choose {', '.join(WORKED_EXAMPLE)}")
        place = (name, _row(setting, name, row), _index(setting, f"column of {name}", column, 2))
        if place in changes:
            raise UserError(f"--set {setting}: this number was set before")
        try:
            changes[place] = float(number)
        except ValueError:
            raise UserError(f"--set {setting}: {number.strip()!r} is no number") from None
        check_number(f"--set {setting}", changes[place])
    return changes


def changed(changes: Changes) -> dict[str, list[list[float]]]:
    """Returns the matrices of the worked example with the changes."""
    matrices = {name: [list(row) for row in rows] for name, rows in WORKED_EXAMPLE.items()}
    for (name, row, column), number in changes.items():
        matrices[name][row][column] = number
    return matrices


def check_number(flag: str, number: float) -> None:
    """Checks a number of the reader.

    Raises:
        UserError: it is not between -10 and 10.
    """
    if not abs(number) <= LARGEST:  # also for NaN
        raise UserError(f"{flag}: each number must be between {-LARGEST:g} and {LARGEST:g}")


def _row(setting: str, name: str, row: str) -> int:
    count = len(WORKED_EXAMPLE[name])
    if count != len(WORDS) or row.isdecimal():
        return _index(setting, f"row of {name}", row, count)
    if row not in WORDS:
        hint = suggestion(row, WORDS) or f": choose {', '.join(WORDS)}"
        raise UserError(f"--set {setting}: no word {row!r}{hint}")
    return WORDS.index(row)


def _index(setting: str, what: str, text: str, count: int) -> int:
    if not re.fullmatch(r"[0-9]{1,3}", text) or int(text) >= count:
        raise UserError(f"--set {setting}: no {what} {text!r}: choose a number from 0 to {count - 1}")
    return int(text)


def parse_distances(text: str) -> tuple[int, ...]:
    """Reads distances such as "5,10,20" and returns them from small to large.

    Raises:
        UserError: one is no integer, out of range, or given twice.
    """
    distances, (low, high) = _parts(text), _DISTANCES
    for each in distances:
        if not (each.isdecimal() and low <= int(each) <= high):
            raise UserError(f"--distances {text}: {each!r} is no integer from {low} to {high}")
    numbers = tuple(map(int, distances))
    _refuse_twice("--distances", text, numbers)
    return tuple(sorted(numbers))


def parse_networks(text: str) -> tuple[str, ...]:
    """Reads names of networks such as "simple,lstm".

    Raises:
        UserError: one does not exist, or is given twice.
    """
    networks = _parts(text)
    for each in networks:
        if each not in NETWORKS:
            raise UserError(f"--networks {text}: no network {each!r}: choose {', '.join(NETWORKS)}")
    _refuse_twice("--networks", text, networks)
    return networks


def _parts(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.split(","))


def _refuse_twice(flag: str, text: str, values: tuple) -> None:
    for each in values:
        if values.count(each) > 1:
            raise UserError(f"{flag} {text}: {each} is there twice")
