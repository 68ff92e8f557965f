"""The values that `tune` tries: the ranges of a config's fields, and the values that a user gives. No heavy imports."""

import dataclasses
import itertools
import types
import typing
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from pipelines.settings.config import SGD_FACTOR, TrainingConfig
from pipelines.settings.fields import Range, Values, flag, ranges
from pipelines.support.errors import UserError, suggestion

Settings = dict[str, Any]  # field -> value

# Other values of these fields read, split or score other data, so that the scores could not be compared; or they do
# not change the training.
_NOT_COMPARABLE = {
    "data", "valid", "valid_fraction", "valid_target", "target", "pair", "column", "token_column", "documents", "folds",
    "polarity", "source_column", "target_column", "text_column", "label_column", "labels_separator", "label_columns",
    "encoding", "separator", "quote", "no_header", "positive", "threshold", "label_type", "python_type", "no_baseline",
    "no_example_text", "start_weights", "default_tokenizer", "vectors", "recipe", "precision", "checkpoint_every",
    "checkpoint", "keep_checkpoints", "minutes", "refit", "tag_names", "min_label_count", "rare_labels",
}  # fmt: skip


def searched(config: TrainingConfig, fields: Sequence[str] = ()) -> dict[str, Values]:
    """Returns what a search tries: field -> values.

    Args:
        config: not resolved. A field whose flag was given has another value than the class's default: it is fixed.
        fields: those to search; by default all that have a range for the model.

    Raises:
        UserError: a field has no range, or its value was given, or no field is left.
    """
    resolved = config.resolve()
    values_of = ranges(type(config), resolved.model)
    defaults = {field.name: field.default for field in dataclasses.fields(config)}
    for field in fields:
        if field not in values_of:
            raise UserError(
                f"--fields {field}: {resolved.model} has no range for it{suggestion(field, values_of)}; the ranges are "
                f"of {', '.join(values_of)}"
            )
        if getattr(config, field) != defaults[field]:
            raise UserError(f"--fields {field}: {flag(field)} gives its value: leave out one of them")
    chosen = fields or [field for field in values_of if getattr(config, field) == defaults[field]]
    if not chosen:
        raise UserError(f"every field that has a range is given: leave out one of {', '.join(map(flag, values_of))}")
    found = {field: values_of[field] for field in chosen}
    if config.optimizer == "sgd" and "learning_rate" in found:
        low, high, *rest = found["learning_rate"]
        found["learning_rate"] = Range(low * SGD_FACTOR, high * SGD_FACTOR, *rest)
    return found


def suggest(trial, field: str, values: Values) -> Any:
    """Returns the value of an Optuna trial for a field: rounded, so that a command line can repeat it exactly."""
    if not isinstance(values, Range):
        return trial.suggest_categorical(field, values)
    if isinstance(values.low, int) and isinstance(values.high, int):
        return trial.suggest_int(field, values.low, values.high, step=values.step or 1, log=values.log)
    value = trial.suggest_float(field, values.low, values.high, step=values.step, log=values.log)
    return float(f"{value:.3g}")


def shown_values(values: Values) -> str:
    """Returns the values for people: "0.001 to 0.1, log scale", "0.0 to 0.7 in steps of 0.05", "16, 32, 64"."""
    if not isinstance(values, Range):
        return ", ".join(map(str, values))
    step = f" in steps of {values.step}" if values.step else ""
    return f"{values.low} to {values.high}{step}{', log scale' if values.log else ''}"


def parse_grid(texts: Iterable[str], config: TrainingConfig) -> dict[str, tuple]:
    """Reads the values of --grid: field -> its values.

    Args:
        texts: each FIELD=A,B, or FIELD+FIELD=A+B,C+D for fields that change together.
        config: not resolved.

    Raises:
        UserError: a field does not exist, is given twice, or cannot be compared; or a value has the wrong type.
    """
    found: dict[str, tuple] = {}
    for text in texts:
        names, separator, listed = text.partition("=")
        if not separator or not listed.strip():
            raise UserError(f"--grid {text}: give a field and its values, such as --grid num_layers=1,2,4")
        fields = [name.strip().removeprefix("--").replace("-", "_") for name in names.split("+")]
        for i, field in enumerate(fields):
            _check_field(text, field, config)
            if field in [*fields_of(found), *fields[:i]]:
                raise UserError(f"--grid {text}: {field} is given twice")
        rows = [each.split("+") if len(fields) > 1 else [each] for each in listed.split(",")]
        if any(len(row) != len(fields) for row in rows):
            raise UserError(f"--grid {text}: {names} needs {len(fields)} values joined by + at each point")
        parsed = [
            tuple(parse_value(type(config), field, value.strip()) for field, value in zip(fields, row, strict=True))
            for row in rows
        ]
        if len(set(parsed)) < len(parsed):
            raise UserError(f"--grid {text}: a value is given twice")
        found["+".join(fields)] = tuple(parsed) if len(fields) > 1 else tuple(row[0] for row in parsed)
    return found


def _check_field(text: str, field: str, config: TrainingConfig) -> None:
    defaults = {each.name: each.default for each in dataclasses.fields(config)}
    if field not in defaults:
        comparable = [each for each in defaults if each not in _NOT_COMPARABLE]
        raise UserError(f"--grid {text}: there is no field {field}{suggestion(field, comparable)}")
    if field == "seed":
        raise UserError(f"--grid {text}: --seeds N trains every point with N seeds")
    if field in _NOT_COMPARABLE:
        raise UserError(f"--grid {text}: scores with different {flag(field)} cannot be compared")
    if getattr(config, field) != defaults[field]:
        raise UserError(f"--grid {text}: {flag(field)} gives its value: leave out one of them")


def parse_value(config_class: type, field: str, text: str) -> Any:
    """Returns the value of a field that a text states.

    Raises:
        UserError: the field has no such value.
    """
    kinds = list(_kinds(typing.get_type_hints(config_class)[field]))
    choices = [choice for kind in kinds if isinstance(kind, tuple) for choice in kind]
    if bool in kinds:
        choices += [True, False]
    for choice in choices:
        if str(choice) == text or (isinstance(choice, bool) and str(choice).lower() == text.lower()):
            return choice
    for kind in (int, float, str):
        if kind in kinds:
            try:
                return kind(text)
            except ValueError:
                continue
    expected = f"the values of {field} are {', '.join(map(str, choices))}" if choices else f"{text} is no number"
    raise UserError(f"--grid {field}={text}: {expected}")


def _kinds(hint) -> Iterable:
    """Yields the types of a type hint; the values of a Literal as a tuple."""
    if typing.get_origin(hint) is typing.Annotated:
        yield from _kinds(typing.get_args(hint)[0])
    elif typing.get_origin(hint) is Literal:
        yield typing.get_args(hint)
    elif typing.get_origin(hint) in (typing.Union, types.UnionType):
        for each in typing.get_args(hint):
            yield from _kinds(each)
    else:
        yield hint


def points(grid: dict[str, tuple]) -> list[Settings]:
    """Returns the points of a grid: the product of its values, the last field varying fastest."""
    listed = [[values if "+" in names else (values,) for values in grid[names]] for names in grid]
    fields = fields_of(grid)
    return [dict(zip(fields, itertools.chain(*values), strict=True)) for values in itertools.product(*listed)]


def fields_of(grid: dict[str, tuple]) -> list[str]:
    """Returns the fields of a grid, each by itself; those that change together are one key, joined by +."""
    return [field for names in grid for field in names.split("+")]


def shown(settings: Settings) -> str:
    """Returns settings for people: `num_layers 2, dropout 0.1`."""
    return ", ".join(f"{field} {value}" for field, value in settings.items()) or "the preset"


def with_settings(config: TrainingConfig, settings: Settings) -> TrainingConfig:
    """Returns the resolved and checked config with the settings.

    Args:
        config: not resolved, so that settings such as the model change the defaults of the other fields.

    Raises:
        UserError: the config refuses the settings.
    """
    resolved = dataclasses.replace(config, **settings).resolve()
    resolved.check()
    return resolved
