"""Lines for a terminal that are not wider than it is."""

import re
import shutil
import sys

from rich.cells import cell_len, set_cell_size

from pipelines.support.markdown import shorter

# Of a summary: its lines start with a name, and the value is in a column of its own.
_NAME = re.compile(r"\s*\S+(?: \S+)*\s{2,}")
_COPIED = ("try it", "command", "report", "model", "encoder", "search")  # what users copy stays one line


def width() -> int:
    """Returns the columns of the terminal; 80 if stdout is none and COLUMNS is not set."""
    return shutil.get_terminal_size().columns


def padded(text: str, columns: int) -> str:
    """Returns a text in exactly so many columns: a longer one is cut. East Asian characters take two columns."""
    return set_cell_size(cut(text, columns), columns)


def cut(text: str, columns: int) -> str:
    """Returns a text on one line in at most so many columns, without its middle if it is longer."""
    most = columns
    while cell_len(shown := shorter(text, max(1, most))) > columns and most > 1:
        most -= 1
    return shown


def fitted(text: str) -> str:
    """Returns lines for stdout. If that is a terminal, those that are wider are broken."""
    if not sys.stdout.isatty():
        return text
    return "\n".join(line for each in text.splitlines() for line in _broken(each, width()))


def _broken(line: str, columns: int) -> list[str]:
    if cell_len(line) <= columns or line.strip().startswith(_COPIED):
        return [line]
    named = _NAME.match(line)
    indent = len(named[0]) if named and len(named[0]) <= columns // 3 else 4
    lines, current = [], ""
    parts = re.findall(r"\s*\S+(?: \S+)*", line)  # columns, or measures with their values
    if indent + max(cell_len(part.strip()) for part in parts) > columns:
        parts = re.findall(r"\s*\S+", line)
    for part in parts:
        if current.strip() and cell_len(current + part) > columns:
            lines.append(current)
            current = " " * indent + part.lstrip()
        else:
            current += part
    return [*lines, current]
