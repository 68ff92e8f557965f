import os
import sys

import pytest
from rich.cells import cell_len

from pipelines.support import terminal

SUMMARY = "\n".join(
    [
        "classification, linear, twenty.csv",
        "  validation       80 texts   accuracy 63 of 80 (68.6 to 86.3 %)   macro-F1 0.780   ROC AUC 0.87   loss 1.456",
        "  baseline    accuracy 78.8 % (68.6 to 86.3)   words, pairs and characters; this model +0.0 (-2.4 to +2.4)",
        "  report      " + "/very/long/path" * 10,
    ]
)


@pytest.fixture
def columns(monkeypatch):
    def set_columns(number):
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
        monkeypatch.setenv("COLUMNS", str(number))

    return set_columns


@pytest.mark.parametrize("number", [40, 80, 100])
def test_no_line_is_wider_than_the_terminal_but_paths(columns, number):
    columns(number)
    lines = terminal.fitted(SUMMARY).splitlines()
    assert all(cell_len(line) <= number for line in lines[:-1])
    assert lines[-1] == SUMMARY.splitlines()[-1]
    assert " ".join(" ".join(lines).split()) == " ".join(SUMMARY.split())


def test_what_does_not_fit_stands_below_its_value(columns):
    columns(80)
    lines = terminal.fitted(SUMMARY).splitlines()
    assert lines[2].startswith(" " * 14) and lines[2].strip()
    columns(200)
    assert terminal.fitted(SUMMARY) == SUMMARY


def test_a_file_has_the_lines_as_they_are(monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False, raising=False)
    monkeypatch.setenv("COLUMNS", "20")
    assert terminal.fitted(SUMMARY) == SUMMARY


@pytest.mark.parametrize("text", ["short", "x" * 10_000, "\N{CJK UNIFIED IDEOGRAPH-4E2D}" * 50, "a\x1b[31mb\nc"])
def test_names_are_cut_to_columns(text):
    assert cell_len(terminal.padded(text, 12)) == 12
    assert cell_len(terminal.cut(text, 12)) <= 12
    assert "\x1b" not in terminal.cut(text, 12) and os.linesep not in terminal.cut(text, 12)
