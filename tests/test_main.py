"""The command line as users meet it: help, mistyped commands and mistakes, for every command in TASKS."""

import os
import re
import shlex
import signal
import subprocess
import sys
import textwrap

import pytest

import main as main_module
from pipelines.inspect.command import VIEWS
from pipelines.learn.command import TOPICS
from pipelines.support.version import VERSION
from pipelines.task import TASKS
from tests.command_line import ROOT, assert_one_line

HELP = [
    "--help",
    "train --help",
    "evaluate --help",
    "predict --help",
    "prepare --help",
    "serve --help",
    "check --help",
    "list --help",
    "compare --help",
    "remove --help",
    "doctor --help",
    "learn --help",
    *(f"learn {topic} --help" for topic in TOPICS),
    "inspect --help",
    *(f"inspect {view} --help" for view in VIEWS),
    *(f"train {name} --help" for name in TASKS),
    "tune --help",
    *(f"tune {name} --help" for name in TASKS),
    *(
        f"{command} {name} --help"
        for name, entry in TASKS.items()
        for command in ("evaluate", "predict", "prepare")
        if hasattr(entry.command(), command.title())
    ),
    "--help-all",
    "doctor --help-all",
    *(f"{command} {name} --help-all" for name in TASKS for command in ("train", "tune", "predict")),
]

HEAVY = {"tensorflow", "keras", "pandas", "sklearn", "matplotlib", "numpy", "altair", "optuna", "ray"}


def test_help_imports_nothing_heavy(tmp_path):
    script = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); import main\n"
        f"for arguments in {HELP!r}:\n"
        "    print(f'help of {arguments}')\n"
        "    try:\n        main.main(arguments.split())\n"
        "    except SystemExit as end:\n        assert not end.code, arguments\n"
        f"    heavy = {HEAVY} & set(sys.modules)\n"
        "    assert not heavy, (arguments, heavy)"
    )
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path)
    assert process.returncode == 0, process.stderr
    _, *texts = process.stdout.split("help of ")
    assert len(texts) == len(HELP)
    for arguments, text in zip(HELP, texts, strict=True):
        assert text.startswith(arguments) and "usage: main.py" in text
        if not arguments.endswith("--help-all"):
            first, *lines = text.splitlines()[1:]
            assert first in ("example:", "examples:") and lines[0].startswith("  python main.py ")
            assert sum(len(textwrap.wrap(line, 80)) or 1 for line in lines) < 60, arguments


@pytest.mark.parametrize("arguments", HELP)
def test_every_example_of_the_help_is_understood(arguments, capsys):
    if arguments.endswith("--help-all"):
        return
    with pytest.raises(SystemExit):
        main_module.parse(arguments.split())
    examples, _, _ = capsys.readouterr().out.partition("\n\n")
    for example in examples.splitlines()[1:]:
        program, entry_point, *words = shlex.split(example)
        assert (program, entry_point) == ("python", "main.py") and main_module.parse(words)


def test_without_a_command_there_are_three_first_steps(tmp_path, run_main):
    process = run_main(tmp_path)
    assert process.returncode == 2 and process.stdout == ""
    steps = re.findall(r"^  python main.py (.*)", process.stderr, re.MULTILINE)
    assert [step.split()[0] for step in steps] == ["doctor", "train", "predict"]
    for step in steps:
        assert main_module.parse(shlex.split(step))


def test_help_all_has_the_flags_that_help_leaves_out(run_main, tmp_path):
    short, whole = (run_main(tmp_path, "train", "sentiment", flag).stdout for flag in ("--help", "--help-all"))
    assert "--data" in short and "--checkpoint-every" not in short
    assert "--data" in whole and "--checkpoint-every" in whole
    number = int(re.search(r"--help-all` has all (\d+) flags", short)[1])
    assert number == len(set(re.findall(r"--[a-z][\w-]+(?= )", re.sub(r"(?m)^│ {10,}.*$", "", whole))) - {"--help"})


def test_a_text_after_two_dashes_is_no_flag():
    assert main_module.parse(["predict", "sentiment", "--", "--help"]).texts == ("--help",)


def test_the_help_of_a_mistyped_command_is_a_mistake(tmp_path, run_main):
    assert_one_line(run_main(tmp_path, "trian", "--help"), "no command 'trian'", "train")


def test_the_version_is_printed(capsys):
    with pytest.raises(SystemExit) as end:
        main_module.parse(["--version"])
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
        ("predict transfer --explain text", "no flag --explain"),
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
        (f"train sentiment --data {'x' * 5000}.csv", ["error: xxx", "xxx... is too long for the name of a file"]),
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


@pytest.mark.parametrize("arguments", ["train sentiment", "train nmt", "train char-lm", "train encoder"])
def test_data_that_is_a_pipe_or_of_an_unknown_user_is_one_line(arguments, tmp_path, run_main):
    os.mkfifo(tmp_path / "pipe")
    for data in ("pipe", "/dev/zero", "~nobody-has-this-name"):
        process = run_main(tmp_path, *arguments.split(), "--data", data, "--runs", "runs")
        assert_one_line(process, data)
        assert not (tmp_path / "runs").exists()


TERMINATED = """
import os, signal, sys
import main
from pipelines.runs import run_folder
from pipelines.support import console

def terminate(text):
    os.write(2, text.encode() + b"\\n")
    if text.startswith(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGTERM)

console.say = terminate
sys.exit(main.main(sys.argv[2:]))
"""


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("moment", ["run", "measuring", "exporting"])
def test_sigterm_outside_of_training_ends_with_one_line_and_removes_temporary_files(moment, tmp_path):
    command = [sys.executable, "-c", TERMINATED, moment, "train", "sentiment", "--model", "bag", "--epochs", "1"]
    command += ["--runs", tmp_path / "runs", "--saved-models", tmp_path / "saved"]
    process = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert process.returncode == 130, process.stderr
    last = "interrupted. The same command continues from the last checkpoint."
    assert process.stderr.splitlines()[-1] == last, process.stderr
    assert "Traceback" not in process.stderr
    assert not list(tmp_path.rglob(".tmp-*"))


def test_sigterm_interrupts_and_the_handler_is_restored(monkeypatch, capsys):
    monkeypatch.setattr(main_module, "parse", lambda arguments: lambda: os.kill(os.getpid(), signal.SIGTERM))
    handler = signal.getsignal(signal.SIGTERM)
    assert main_module.main([]) == 130
    assert capsys.readouterr().err == "interrupted.\n"
    assert signal.getsignal(signal.SIGTERM) is handler
