import dataclasses
import json
import os
import subprocess
import sys

import pytest

import main
from pipelines.commands import doctor, mistyped
from pipelines.support.errors import UserError
from pipelines.task import TASKS
from pipelines.task_entry import TaskEntry
from tests.command_line import ROOT, assert_one_line, lines_of
from tests.pipelines.made_sentences import sentences

WHERE = ["--runs", "runs", "--saved-models", "saved"]


@pytest.fixture
def data(tmp_path):
    rows = [f"word {i} here,{'spam' if i % 4 == 0 else 'ham'},x" for i in range(60)]
    rows += ["word 1 here,spam,x", "word 2 here,ham,x"]
    (tmp_path / "a.csv").write_text("text,label,source\n" + "\n".join(rows) + "\n")
    return tmp_path


def test_the_machine_is_described_without_data(tmp_path, run_main):
    process = run_main(tmp_path, "doctor", *WHERE)
    assert process.returncode == 0, process.stderr
    titles = [line.split()[0] for line in lines_of(process.stdout)]
    expected = ["Python", "packages", "Ray", "processor", "memory", "disk", "GPU"]
    assert [name for name in titles if name in expected] == expected
    assert not (tmp_path / "runs").exists()


def test_the_data_is_described_with_what_training_would_do(data, run_main):
    process = run_main(data, "doctor", "a.csv", *WHERE)
    assert process.returncode == 0, process.stderr
    lines = {line.strip() for line in lines_of(process.stdout)}
    for expected in (
        "columns         text in 'text', label in 'label'",
        "not used        source",
        "labels          ham: 46, spam: 16",
        "duplicates      2 texts also in an earlier row",
        "contradictions  1 text with several labels",
        "ham 1, spam 1: word 1 here",
        "would take about a minute on two processors, and 0.9 GB of memory",
    ):
        assert expected in lines, process.stdout
    assert any(line.startswith("would learn 2 labels from ") for line in lines)
    assert any("validation texts are few" in line for line in lines)


def test_json_is_one_object(data, run_main):
    document = json.loads(run_main(data, "doctor", "a.csv", *WHERE, "--json").stdout)
    assert document["data"]["labels"] == {"ham": 46, "spam": 16}
    assert 1 < document["data"]["training"]["expected"]["seconds"] < 60
    assert document["machine"]["processor"]["cores"] >= 1 and isinstance(document["machine"]["advice"], list)


def test_what_training_refuses_is_named(data, run_main):
    (data / "b.csv").write_text("text,label\na,x\nb,x\n")
    process = run_main(data, "doctor", "b.csv", *WHERE)
    assert process.returncode == 0
    assert "would be refused: b.csv: all 2 rows have the label 'x'" in process.stdout


@pytest.mark.parametrize(
    ("flags", "task", "guessed"),
    [
        ("a.tsv", "translation", True),
        ("a.tsv --task nmt", "nmt", False),
        ("a.conll", "tagging", True),
        ("a.conll --task ner", "tagging", False),
        ("a.txt", "language-model", True),
        ("a.txt --task char-lm --documents line", "char-lm", False),
        ("a.txt --task encoder", "encoder", False),
        ("a.csv", "classification", True),
        ("a.csv --polarity", "sentiment", False),
        ("a.csv --task transfer", "transfer", False),
    ],
)
def test_each_task_describes_its_data(data, capsys, monkeypatch, flags, task, guessed):
    monkeypatch.chdir(data)
    texts = sentences(300)
    (data / "a.tsv").write_text("".join(f"{text}\t{text.replace('e', 'o')}\n" for text in texts))
    (data / "a.conll").write_text("".join(f"Anna\tB-PER\nin\tO\n{text.split()[0]}\tO\n\n" for text in texts))
    (data / "a.txt").write_text("".join(f"{text}.\n" for text in texts))
    assert main.main(["doctor", *flags.split(), *WHERE, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)["data"]
    assert (document["task"], document["guessed"]) == (task, guessed) and document["training"]["train"] > 0
    for finding in document["findings"]:
        assert set(finding) == {"name", "text", "remedy", "examples"} and len(finding["examples"]) <= 3
    assert main.main(["doctor", *flags.split(), *WHERE]) == 0
    printed = capsys.readouterr().out
    (line,) = [line for line in printed.splitlines() if line.startswith("  task ")]
    assert task in line and ("--task chooses another one" in line) == guessed
    assert all(finding["text"] in printed for finding in document["findings"])


def test_a_task_without_examine_is_one_line(monkeypatch, data):
    monkeypatch.setitem(TASKS, "word-count", TaskEntry("word-count", "a counter", "learn", "text", "sample_text"))
    with pytest.raises(UserError, match="--task word-count: doctor does not examine its data; it does that of classif"):
        dataclasses.replace(doctor.with_flags(), data=("a.csv",), task="word-count")()


def test_the_flags_are_those_of_the_configs():
    flags = set(mistyped.flags(doctor.with_flags()))
    for entry in TASKS.values():
        for name in entry.config_class().DATA_FIELDS[1:]:
            assert f"--{name.replace('_', '-')}" in flags, (entry.name, name)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("doctor nowhere.csv", "no such file or folder: nowhere.csv"),
        ("doctor a.csv --label-column lable", "has no column 'lable'"),
        ("doctor --valid a.csv", "need DATA"),
        ("doctor --no-header", "need DATA"),
        ("doctor --task nmt", "need DATA"),
        ("doctor a.csv --task taging", "--task taging: no such task; did you mean tagging?"),
        ("doctor a.csv --task nmt --column x", "--column has no effect: `train nmt` does not have it"),
        ("doctor a.csv --column x --target y", "no task has all of these flags"),
        ("doctor a.csv --task nmt --polarity", "--polarity is for --task sentiment"),
        ("doctor a.csv a.csv --task nmt", "reads one --data, and 2 are given"),
        ("doctor a.csv --task language-model --text-column text", "--documents row"),
        ("doctor a.csv --separator xx", "--separator 'xx': it must be one character"),
    ],
)
def test_a_mistake_is_one_line(data, run_main, arguments, message):
    assert_one_line(run_main(data, *arguments.split(), *WHERE), message)


def test_data_that_is_a_pipe_is_one_line(tmp_path, run_main):
    os.mkfifo(tmp_path / "pipe")
    assert_one_line(run_main(tmp_path, "doctor", "pipe", *WHERE), "pipe is a pipe or a device")


@pytest.mark.long
@pytest.mark.slow
def test_tensorflow_is_not_imported(data):
    script = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); import main\n"
        "for arguments in ('doctor a.csv', 'list', 'remove x --yes', 'compare x y', 'train x --dta y',\n"
        "                  'doctor a.csv --task char-lm', 'doctor a.csv --task ner', 'doctor a.csv --task encoder'):\n"
        "    main.main([*arguments.split(), '--runs', 'runs'])\n"
        "assert not {'tensorflow', 'keras'} & set(sys.modules)"
    )
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=data)
    assert process.returncode == 0, process.stderr


@pytest.mark.parametrize(
    ("installed", "required", "text"),
    [
        ("2.60.0", "2.60.0", "2.60.0, as in requirements-ray.txt"),
        ("2.59.0", "2.60.0", "2.59.0 (requirements-ray.txt has 2.60.0)"),
        ("2.60.0", None, "2.60.0"),
        (None, "2.60.0", "not installed; `pip install -r requirements-ray.txt` adds what --ray needs"),
    ],
)
def test_ray_is_there_or_what_adds_it(installed, required, text):
    assert doctor._ray_text(installed, required) == text


def test_without_a_checkout_the_extra_adds_ray(monkeypatch):
    monkeypatch.setattr("pipelines.support.installation.is_checkout", lambda: False)
    assert "`pip install '.[ray]'`" in doctor._ray_text(None, None)
