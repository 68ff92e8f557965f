"""The options of generation, as keyword arguments."""

from typing import Any

import numpy as np

from pipelines.decoding.options import Option
from pipelines.python.errors import UserError

_TYPES = {"int32": int, "float32": int | float, "string": str}


def checked(method: str, options: tuple[Option, ...], given: dict[str, Any]) -> dict[str, Any]:
    """Returns the given options, with NumPy's numbers as Python's.

    Raises:
        TypeError: there is no such option.
        UserError: an option has a value of another type.
    """
    declared = {option.name: option for option in options}
    given = {name: value.item() if isinstance(value, np.generic) else value for name, value in given.items()}
    for name, value in given.items():
        if name not in declared:
            raise TypeError(f"{method}() has no option {name!r}; it has {', '.join(declared)}")
        expected = _TYPES[declared[name].dtype]
        if value is not None and (isinstance(value, bool) or not isinstance(value, expected)):
            raise UserError(f"{name} {value!r}: it must be of the type {getattr(expected, '__name__', 'float')}")
    return given
