"""Flags of a command for all tasks, which the tasks declare: each of them once, whatever the number of its tasks."""

import dataclasses
import typing
from collections.abc import Callable, Collection, Iterator
from typing import Annotated, Any

from pipelines.command_line import join_help_lines
from pipelines.settings.fields import Help


def flags_of(declared: dict[str, type], wanted: Callable[[type], Collection[str]]) -> type:
    """Returns a dataclass with fields of other dataclasses, whose help names the tasks that have them.

    Args:
        declared: task -> dataclass, which may have others as fields.
        wanted: dataclass -> names of the fields.
    """
    fields: dict[str, tuple[Any, dataclasses.Field]] = {}
    tasks: dict[str, list[str]] = {}
    for task, each in declared.items():
        for name, annotation, field in _leaves(join_help_lines(each)):
            if name in wanted(each):
                tasks.setdefault(name, []).append(task)
                fields.setdefault(name, (annotation, field))
    made = []
    for name, (annotation, field) in fields.items():
        start = "" if len(tasks[name]) == len(declared) else f"{', '.join(tasks[name])}: "
        metadata = {**field.metadata, "help": f"{start}{field.metadata['help']}"}
        kind, *marks = typing.get_args(annotation) if typing.get_origin(annotation) is Annotated else (annotation,)
        marks = [mark for mark in marks if not isinstance(mark, Help)]  # it would come before the help with the tasks
        annotation = Annotated[(kind, *marks)] if marks else kind
        made.append((name, annotation, dataclasses.field(default=field.default, metadata=metadata)))
    flags = dataclasses.make_dataclass("DataFlags", made, frozen=True, kw_only=True)
    flags.__doc__ = "How to read the data, as in training."
    return flags


def with_flags(command: type, flags: type):
    """Returns an instance of a command with the field `flags`, which has these flags, beside its own."""
    made = dataclasses.make_dataclass(command.__name__, [("flags", flags, flags())], bases=(command,), frozen=True)
    made.__doc__ = command.__doc__
    return made()


def given(command) -> dict[str, Any]:
    """Returns field -> value of the flags that the user gave, of a command made by `with_flags`; else {}."""
    flags = getattr(command, "flags", None)
    if flags is None:
        return {}
    defaults = {field.name: field.default for field in dataclasses.fields(flags)}
    return {name: value for name, value in vars(flags).items() if value != defaults[name]}


def filled(command, values: dict[str, Any]):
    """Returns a command with these values in its fields, or in those of the dataclasses that are its fields."""
    changes: dict[str, Any] = {}
    for field in dataclasses.fields(command):
        value = getattr(command, field.name)
        if dataclasses.is_dataclass(value):
            changes[field.name] = filled(value, values)
        elif field.name in values:
            changes[field.name] = values[field.name]
    return dataclasses.replace(command, **changes)


def names(command: type) -> set[str]:
    """Returns the names of the fields of a dataclass, and of the dataclasses that are its fields."""
    return {name for name, _, _ in _leaves(command)}


def takes_several(declared: type) -> bool:
    """Whether the field `data` may have several files."""
    return tuple in {typing.get_origin(each) for each in typing.get_args(typing.get_type_hints(declared)["data"])}


def _leaves(declared: type) -> Iterator[tuple[str, Any, dataclasses.Field]]:
    """Yields (name, annotation, field)."""
    annotations = typing.get_type_hints(declared, include_extras=True)
    for field in dataclasses.fields(declared):
        if dataclasses.is_dataclass(field.default):
            yield from _leaves(type(field.default))
        else:
            yield field.name, annotations[field.name], field
