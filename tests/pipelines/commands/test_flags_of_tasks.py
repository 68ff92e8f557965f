import dataclasses

from pipelines.commands import compare, flags_of_tasks, mistyped
from pipelines.task import TASKS


@dataclasses.dataclass(frozen=True, kw_only=True)
class Inner:
    """Flags."""

    encoding: str | None = None
    """Of files."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outer:
    """A command."""

    data: str | tuple[str, ...] | None = None
    """Files."""
    table: Inner = Inner()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Other:
    """A command."""

    data: str | None = None
    """A file."""
    encoding: str | None = None
    """Of a file."""
    column: str | None = None
    """The column."""


def test_the_flags_of_several_tasks_name_them_unless_all_have_them():
    flags = flags_of_tasks.flags_of({"a": Outer, "b": Other}, lambda each: ["encoding", "column"])
    helps = {field.name: field.metadata["help"] for field in dataclasses.fields(flags)}
    assert helps == {"encoding": "Of files.", "column": "b: The column."}


def test_given_flags_are_those_with_other_values():
    flags = flags_of_tasks.flags_of({"a": Outer, "b": Other}, lambda each: ["encoding", "column"])
    command = flags_of_tasks.with_flags(Other, flags)
    assert flags_of_tasks.given(command) == {} == flags_of_tasks.given(Other())
    command = dataclasses.replace(command, flags=flags(encoding="cp1252"))
    assert flags_of_tasks.given(command) == {"encoding": "cp1252"}


def test_values_are_filled_in_at_any_depth():
    assert flags_of_tasks.filled(Outer(), {"data": "x", "encoding": "y"}) == Outer(data="x", table=Inner(encoding="y"))
    assert flags_of_tasks.names(Outer) == {"data", "encoding"}
    assert flags_of_tasks.takes_several(Outer) and not flags_of_tasks.takes_several(Other)


def test_compare_has_the_flags_of_each_evaluate():
    flags = set(mistyped.flags(compare.with_flags()))
    for entry in TASKS.values():
        if entry.answers:
            own = flags_of_tasks.names(entry.command().Evaluate) & set(compare._DATA_FLAGS)
            assert "encoding" in own and {f"--{name.replace('_', '-')}" for name in own} <= flags
