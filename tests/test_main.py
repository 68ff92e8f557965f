"""The command line as users meet it: help, mistyped commands and mistakes, for every command in TASKS."""

import subprocess
import sys

import pytest

from main import parse
from pipelines.task import TASKS
from pipelines.version import VERSION
from tests.command_line import ROOT, assert_one_line

HELP = [
    "--help",
    "train --help",
    "evaluate --help",
    "predict --help",
    "serve --help",
    "check --help",
    *(f"train {name} --help" for name in TASKS),
    *(
        f"{command} {name} --help"
        for name, entry in TASKS.items()
        if entry.has_predictions
        for command in ("evaluate", "predict")
    ),
]


def test_help_imports_nothing_heavy(tmp_path):
    script = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); import main\n"
        f"for arguments in {HELP!r}:\n"
        "    print(f'help of {arguments}')\n"
        "    try:\n        main.main(arguments.split())\n"
        "    except SystemExit as end:\n        assert not end.code, arguments\n"
        "    heavy = {'tensorflow', 'keras', 'pandas', 'sklearn', 'matplotlib', 'numpy'} & set(sys.modules)\n"
        "    assert not heavy, (arguments, heavy)"
    )
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path)
    assert process.returncode == 0, process.stderr
    _, *texts = process.stdout.split("help of ")
    assert len(texts) == len(HELP)
    for arguments, text in zip(HELP, texts, strict=True):
        assert text.startswith(arguments) and "usage: main.py" in text


def test_the_version_is_printed(capsys):
    with pytest.raises(SystemExit) as end:
        parse(["--version"])
    assert not end.value.code
    assert capsys.readouterr().out == f"Unroll {VERSION}\n"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("train sentiment --modle lstm", "--model"),
        ("train sentimant", "sentiment"),
        ("trian sentiment", "train"),
        ("train sentiment --model transformer-xl", "lstm"),
        ("train sentiment --epochs many", "--epochs"),
        ("predict transfer --explain text", "predict classification"),
        ("", "train"),
    ],
)
def test_a_mistyped_command_lists_the_right_ones(arguments, expected, tmp_path, run_main):
    process = run_main(tmp_path, *arguments.split())
    assert process.returncode == 2
    assert expected in process.stderr and process.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ("train sentiment --data nowhere.csv", ["no such file or folder: nowhere.csv"]),
        ("train sentiment --epochs 0", ["--epochs 0", "at least 1"]),
        ("train sentiment --run ../up", ["--run '../up'", "letters"]),
        ("train sentiment --model lstm --num-heads 2", ["--num-heads has no effect", "--model transformer"]),
        ("predict sentiment", ["in quotes", "--input"]),
        ("predict sentiment text --input file", ["either"]),
        ("predict sentiment --input reviews.csv --json", ["--output"]),
        ("predict sentiment text --saved-models empty", ["no model 'sentiment'", "train sentiment"]),
        ("evaluate sentiment --name nothing", ["no model 'nothing'"]),
    ],
)
def test_a_mistake_is_one_line(arguments, parts, tmp_path, run_main):
    process = run_main(tmp_path, *arguments.split())
    assert_one_line(process, *parts)
    assert not list(tmp_path.rglob("*.npz"))
