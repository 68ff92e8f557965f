import dataclasses
from pathlib import Path
from typing import Annotated, Literal

import pytest
import tyro

import main
from pipelines.commands import short_help
from pipelines.commands.short_help import NEEDS, brief, flags_of, help_of_command
from pipelines.settings.fields import PATHS, Resolved
from pipelines.task import TASKS


@dataclasses.dataclass
class Inner:
    rate: Annotated[Resolved[float], tyro.conf.arg(help_behavior_hint="(default: by size)")] = None
    header: bool = True
    hidden: tyro.conf.Suppress[int] = 3


@dataclasses.dataclass
class Outer:
    texts: tyro.conf.Positional[tuple[str, ...]] = ()
    data: Annotated[str | None, PATHS] = None
    size: int = 8
    kind: Literal["a", "b"] | None = "a"
    tool: Annotated[Path | None, tyro.conf.arg(name="for", metavar="TOOL")] = None
    inner: Inner = dataclasses.field(default_factory=Inner)


def test_the_flags_of_a_command_are_written_as_the_parser_reads_them():
    assert [(each.usage, each.default) for each in flags_of(Outer())] == [
        ("TEXT ...", ""),
        ("--data PATH ...", ""),
        ("--size N", "(default: 8)"),
        ("--kind {a,b}", "(default: a)"),
        ("--for TOOL", ""),
        ("--rate X", "(default: by size)"),
        ("--no-header", ""),
    ]


def test_the_brief_help_says_what_happens_without_the_flag():
    text = "Column with the text, such as no. 1. It may be empty. By default the first one. Without it: none."
    assert brief(text) == "Column with the text, such as no. 1. By default the first one. Without it: none."


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_the_lines_are_as_wide_as_the_terminal(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    command = main.join_help_lines(type(TASKS["sentiment"].command().Train()))(task="sentiment")
    text = help_of_command(command, "x.py train sentiment", "It trains.", ["train sentiment"])
    assert max(map(len, text.splitlines())) <= min(columns, 100)
    assert text.startswith("example:\n  ") and "\nData\n  --data" in text and "\nTraining\n  --minutes" in text


def test_a_command_with_few_flags_has_them_all():
    text = help_of_command(Outer(), "x.py", "It runs.", [""])
    assert "Arguments\n  TEXT ..." in text and "Other flags" in text and "--help-all" not in text
    for each in flags_of(Outer()):
        assert f"  {each.usage}" in text


def test_every_need_has_flags_that_exist():
    fields = set()
    for entry in TASKS.values():
        for name in ("Train", "Predict", "Evaluate"):
            made = getattr(entry.command(), name, None)
            fields |= {each.field for each in flags_of(made())} if made else set()
        fields |= {each.field for each in flags_of(main.tune.command_of(entry)())}
    fields |= {each.field for each in flags_of(main.Serve())} | {each.field for each in flags_of(main.doctor.Doctor())}
    assert [name for names in NEEDS.values() for name in names if name not in fields] == []


def test_the_first_steps_name_the_data_of_a_checkout(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert "messages.csv" in short_help.first_steps()
    (tmp_path / "docs" / "examples").mkdir(parents=True)
    (tmp_path / "docs" / "examples" / "support.csv").touch()
    assert "doctor docs/examples/support.csv" in short_help.first_steps()
