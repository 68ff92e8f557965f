"""The flags of `predict` of all tasks, with a command that writes nothing but what it was given."""

import dataclasses
import json
from pathlib import Path

import pytest

from pipelines.command_line import ServedModelFlags, TableFlags
from pipelines.export.exported import Exported
from pipelines.predicting import batch_prediction, engine
from pipelines.predicting.command import PLAIN, PredictCommand, PredictRowsCommand, RayFlags, RowTableFlags
from pipelines.predicting.labelling_flags import LabellingFlags
from pipelines.support.errors import UserError
from pipelines.task import TASKS


class Model(ServedModelFlags):
    def find(self, task):
        return Exported("m", 1, Path())


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rows(PredictRowsCommand):
    model: ServedModelFlags = dataclasses.field(default_factory=Model)

    def file_steps(self, exported, suffix):
        return suffix


class Labels(Rows):
    labels = True


class Lines(Rows):
    suffixes = (PLAIN, *PredictRowsCommand.suffixes)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({}, "in quotes.*--input"),
        ({"texts": ("a",), "input": "b.csv"}, "either"),
        ({"texts": ("a",), "output": Path("b.csv")}, "--output needs --input"),
        ({"texts": ("a",), "prefix": ""}, "--prefix needs --input"),
        ({"texts": ("a",), "table": TableFlags(text_column="b")}, "--text-column needs --input"),
        ({"texts": ("a",), "table": TableFlags(no_header=True)}, "--no-header needs --input"),
        ({"texts": ("a",), "labelling": LabellingFlags(sort="uncertainty")}, "--sort needs --input"),
        ({"texts": ("a",), "labelling": LabellingFlags(limit=0)}, "--limit needs --input"),
        ({"input": "b.csv", "labelling": LabellingFlags(limit=0)}, "--limit 0: it must be at least 1"),
        ({"input": "b.csv", "labelling": LabellingFlags(tool="doccano")}, "--for doccano is for classifiers and tag"),
        ({"input": "b.csv", "json": True}, "--output"),
        ({"input": "b.csv", "model": ServedModelFlags(server="localhost:1")}, "leave out --input"),
    ],
)
def test_flags_that_do_not_fit_together_are_one_line(flags, message):
    with pytest.raises(UserError, match=message):
        Rows(**flags).check()


@pytest.mark.parametrize("task", TASKS)
def test_every_task_predicts_files(task):
    command = TASKS[task].command().Predict
    assert issubclass(command, PredictCommand) and command.suffixes
    assert command.file_steps is not PredictCommand.file_steps


@pytest.mark.parametrize(
    ("command", "output", "expected"),
    [
        (Rows, None, ".csv"),
        (Rows, "x.jsonl", ".jsonl"),
        (Rows, "x.txt", "must end in .csv, .tsv, .jsonl, .parquet or .xlsx"),
        (Rows, "here.csv", "exists already"),
        (Rows, "nowhere/x.csv", "there is no folder nowhere"),
        (Lines, None, PLAIN),
        (Lines, "x.en", PLAIN),
        (Lines, "x.tsv", ".tsv"),
        (Lines, "x.npy", "plain lines are written, no .npy"),
        (Lines, "here.csv", "exists already"),
    ],
)
def test_the_name_of_the_output_states_the_format(tmp_path, monkeypatch, command, output, expected):
    monkeypatch.chdir(tmp_path)
    Path("here.csv").touch()
    monkeypatch.setattr(engine, "predict_files", lambda *given: {"rows": 0})
    called = command(input="in.txt", output=output and Path(output))
    if expected.startswith("."):
        assert called._suffix() == expected
        called.predict_files()
    else:
        with pytest.raises(UserError, match=expected):
            called.predict_files()


def test_a_tool_for_labelling_reads_one_format(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flags = {"input": "in.txt", "labelling": LabellingFlags(tool="doccano")}
    assert Labels(**flags)._suffix() == ".jsonl"
    with pytest.raises(UserError, match="--output next.csv: the name must end in .jsonl"):
        Labels(**flags, output=Path("next.csv"))._suffix()
    with pytest.raises(UserError, match="--part-format csv: it must be jsonl"):
        ray = RayFlags(ray="local", part_format="csv")
        Labels(**flags, output=Path("parts"), distributed=ray).check()
    with pytest.raises(UserError, match="--prefix has no effect with --for doccano"):
        Labels(**flags, prefix="x").check()


def test_flags_on_what_is_written_are_for_tables():
    for output in (Path("x.csv"), Path("x.tsv"), None):
        Rows(input="in.txt", output=output, table=RowTableFlags(output_encoding="utf-8-sig")).check()
    for output in (Path("x.jsonl"), Path("x.xlsx")):
        with pytest.raises(UserError, match="--output-separator has no effect: it is for .csv and .tsv files"):
            Rows(input="in.txt", output=output, table=RowTableFlags(output_separator=";")).check()
    with pytest.raises(UserError, match="--output-encoding needs --input"):
        Rows(texts=("a",), table=RowTableFlags(output_encoding="utf-8")).check()
    with pytest.raises(UserError, match="--encoding utf-99 is unknown"):
        RowTableFlags(output_encoding="utf-99").options()


def test_the_limit_is_that_of_the_engine(tmp_path, monkeypatch):
    given = []
    monkeypatch.setattr(engine, "predict_files", lambda *arguments: given.append(arguments) or {"rows": 0})
    Labels(input="in.txt", labelling=LabellingFlags(sort="uncertainty", limit=7)).predict_files()
    assert given == [(Exported("m", 1, Path()), "in.txt", None, ".csv", 7)]


@pytest.mark.parametrize("ray", [None, "local"])
def test_the_counts_are_one_line_or_one_object(tmp_path, monkeypatch, capsys, ray):
    monkeypatch.chdir(tmp_path)
    counts = {"rows": 1200, "labels": {"x": 1, "y": 0}, "skipped": 0, "poisoned": 2}
    monkeypatch.setattr(engine, "predict_files", lambda *given: counts)
    monkeypatch.setattr(batch_prediction, "predict", lambda *given: {"counts": counts, "parts": [{}] * 3})
    flags = {"input": "in.txt", "output": Path("out.csv"), "distributed": RayFlags(ray=ray)}
    Rows(**flags).predict_files()
    parts = " in 3 parts" if ray else ""
    assert capsys.readouterr().err == f"1,200 texts{parts} (x 1, y 0, poisoned 2): out.csv\n"
    Rows(**flags, json=True).predict_files()
    assert json.loads(capsys.readouterr().out) == {"model": "m/1", **counts} | ({"parts": 3} if ray else {})


def test_a_file_that_is_given_as_a_text_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mails.csv").write_text("text\na\n")
    with pytest.raises(UserError, match="mails.csv is a file, and was given as a text: give it with --input"):
        Rows(texts=("mails.csv",)).check()
    Rows(texts=("mails", "other.csv", "a" * 5000 + ".csv", "a\0.csv")).check()
