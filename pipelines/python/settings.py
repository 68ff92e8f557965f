"""The parameters of an estimator, which are the fields of its task's config."""

import dataclasses
import inspect
import types
import typing
from typing import Any

import numpy as np

from pipelines.python.errors import UserError
from pipelines.settings.config import TrainingConfig
from pipelines.settings.fields import help_of
from pipelines.support.errors import suggestion

# Parameters that every estimator has besides the fields of its config.
COMMON = {"random_state": TrainingConfig.seed, "verbose": True}
_HELP = {
    "random_state": "The seed of the training: an int, or a RandomState that draws one. None draws another one each "
    "time, from NumPy's global generator.",
    "seed": "Another name of `random_state`, that of the command line; if it is given, it counts.",
    "verbose": "Whether `fit` prints messages and progress bars, on stderr.",
}
_FIRST = ("preset", "model")


def estimator_of(
    config_class: type[TrainingConfig], leave_out: tuple[str, ...], further: dict[str, tuple[Any, str]] | None = None
):
    """Returns a decorator for estimator classes: `__init__` gets the fields of the config as keyword arguments.

    Args:
        leave_out: fields that are no parameters, such as those with the paths of data.
        further: parameters that are no fields -> (default, help); the estimator's `_settings` makes fields of them.
    """
    further = further or {}
    leave_out = (*leave_out, "start_weights")  # of `train --from`
    fields = {field.name: field.default for field in dataclasses.fields(config_class) if field.name not in leave_out}
    fields["seed"] = None  # `random_state` has the default
    others = {name: default for name, (default, _) in further.items()}
    defaults = {name: fields.pop(name) for name in _FIRST} | fields | others | COMMON
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter(name, kind, default=default) for name, default in defaults.items()]
    self_parameter = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)

    def decorate(estimator: type) -> type:
        def __init__(self, **settings):
            _require_known(estimator.__name__, settings, defaults)
            for name, default in defaults.items():
                setattr(self, name, settings.get(name, default))

        __init__.__signature__ = inspect.Signature([self_parameter, *parameters])  # read by scikit-learn and help()
        __init__.__doc__ = "Takes the parameters of the class, all of them by name."
        estimator.__init__ = __init__
        estimator.config_class = config_class
        helps = help_of(config_class) | {name: text for name, (_, text) in further.items()} | _HELP
        estimator.__doc__ += _documentation(helps, defaults)
        return estimator

    return decorate


def config_fields(config_class: type[TrainingConfig], parameters: dict[str, Any]) -> dict[str, Any]:
    """Returns the parameters of an estimator as fields of its config, with NumPy's numbers as Python's.

    Raises:
        UserError: a value has the wrong type, or is none of those that its field takes.
    """
    values = {name: value for name, value in parameters.items() if name not in COMMON}
    values["seed"] = _seed(parameters["random_state"], parameters["seed"])
    values = {name: value.item() if isinstance(value, np.generic) else value for name, value in values.items()}
    hints = typing.get_type_hints(config_class)
    for name, value in values.items():
        _require_type(name, value, hints[name])
    return {
        name: float(value) if float in _members(hints[name]) and isinstance(value, int) else value
        for name, value in values.items()
    }


def _seed(random_state, seed):
    """Returns the seed of the training."""
    if seed is not None:
        return seed
    if random_state is None:
        return np.random.randint(2**31 - 1)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return random_state


def _require_known(name: str, settings: dict, known: dict) -> None:
    for setting in settings:
        if setting not in known:
            hint = suggestion(setting, known) or f": help(unroll.{name}) lists them"
            raise TypeError(f"{name} has no parameter {setting!r}{hint}")


def _require_type(name: str, value, hint) -> None:
    """Raises a UserError if `value` does not fit the type of its field."""
    members = _members(hint)
    accepted = [each for each in members if isinstance(each, type)]
    choices = [choice for each in members if typing.get_origin(each) is typing.Literal for choice in each.__args__]
    if value is None and type(None) in members:
        return
    if choices and value not in choices:
        raise UserError(f"{name} {value!r}: it must be one of {', '.join(map(repr, choices))}")
    if choices:
        return
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if type(value) in accepted or (float in accepted and is_number):
        return
    expected = " or ".join(each.__name__ for each in accepted if each is not type(None))
    raise UserError(f"{name} {value!r}: it must be of the type {expected}, and is of the type {type(value).__name__}")


def _members(hint) -> tuple:
    """The alternatives of a union; a type that is none is its only one."""
    return typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)


def _documentation(helps: dict[str, str], defaults: dict[str, Any]) -> str:
    """Returns the part of a docstring that lists the parameters."""
    lines = [f"    {name} (default {default!r}): {helps.get(name, '')}".rstrip() for name, default in defaults.items()]
    return "\n\nParameters:\n" + "\n".join(lines) + "\n"
