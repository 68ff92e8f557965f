"""README.md is short, and its first example runs as it stands and prints what it says."""

import re
import shlex
import shutil

import pytest

from tests.command_line import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLE = README.partition("## First steps")[2].partition("\n## ")[0]


def test_it_is_short_and_its_lines_are():
    lines = README.splitlines()
    assert len(lines) <= 120
    assert [line for line in lines if len(line) > 130 and not line.startswith("|")] == []


@pytest.mark.long
def test_the_first_example_prints_what_it_says(tmp_path, run_main):
    commands, answers, *_ = re.findall(r"^```\n(.*?)^```", EXAMPLE, re.DOTALL | re.MULTILINE)
    activate, *commands = commands.splitlines()
    assert activate == ". .venv/bin/activate"
    shutil.copytree(ROOT / "docs" / "examples", tmp_path / "docs" / "examples")
    folders = ["--saved-models", tmp_path / "saved_models", "--runs", tmp_path / "runs"]
    for command in commands:
        program, entry_point, *arguments = shlex.split(command)
        assert (program, entry_point) == ("python", "main.py")
        done = run_main(tmp_path, *arguments, *folders[: 2 if arguments[0] == "predict" else 4])
        assert done.returncode == 0, done.stderr
        if arguments[0] == "train":
            assert "20 of 24 (64.1 to 93.3 %)" in done.stdout and "66.7 %" in done.stdout
    # Another processor may round otherwise.
    number = re.compile(r"\d\.\d{3}")
    assert number.sub("", done.stdout).splitlines() == number.sub("", answers).splitlines()
    printed, wanted = (list(map(float, number.findall(text))) for text in (done.stdout, answers))
    assert printed == pytest.approx(wanted, abs=0.01)
