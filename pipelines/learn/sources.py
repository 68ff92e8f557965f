"""Where the code is that a lesson runs."""

import functools
import importlib
import inspect
from pathlib import Path

from pipelines.support.installation import IMPORT_FOLDER


def located(source: str) -> str:
    """Returns file and lines of `module:function`, `module:Class` or `module:Class.method`.

    Example:
        "layers/attention.py, lines 78 to 212: Attention"
    """
    module, _, name = source.partition(":")
    found = functools.reduce(getattr, name.split("."), importlib.import_module(module))
    lines, first = inspect.getsourcelines(inspect.unwrap(found))
    path = Path(inspect.getfile(inspect.unwrap(found))).resolve().relative_to(IMPORT_FOLDER)
    return f"{path.as_posix()}, lines {first} to {first + len(lines) - 1}: {name}"
