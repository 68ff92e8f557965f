import typing

import pytest

from pipelines.commands import mistyped
from pipelines.predicting.labelling_flags import LabellingFlags, Tool
from pipelines.support.errors import UserError
from pipelines.task import TASKS

SORTED, WRITTEN = LabellingFlags(sort="uncertainty"), LabellingFlags(tool="doccano")


@pytest.mark.parametrize(
    ("flags", "labels", "ray", "message"),
    [
        (LabellingFlags(tool="spacy"), True, None, "--for spacy is for taggers: leave it out, or give --for doccano"),
        (LabellingFlags(tool="entities"), False, None, "--for entities is for classifiers and taggers"),
        (SORTED, False, None, "--sort uncertainty is for classifiers and taggers"),
        (WRITTEN, False, None, "--for doccano is for classifiers and taggers"),
        (LabellingFlags(limit=0), True, None, "--limit 0: it must be at least 1"),
        (LabellingFlags(limit=-5), True, None, "--limit -5: it must be at least 1"),
        (SORTED, True, "local", "--sort needs all rows in one process: leave out --ray"),
        (LabellingFlags(limit=3), True, "local", "--limit needs all rows in one process: leave out --ray"),
    ],
)
def test_flags_that_do_not_fit_are_one_line(flags, labels, ray, message):
    with pytest.raises(UserError, match=message):
        flags.check(labels, ("doccano",), ray)


def test_flags_that_fit():
    LabellingFlags(sort="uncertainty", limit=200, tool="doccano").check(True, ("doccano",), None)
    LabellingFlags(tool="spacy").check(True, ("doccano", "spacy"), None)
    LabellingFlags(limit=1).check(False, (), None)  # the first row, of any task
    WRITTEN.check(True, ("doccano",), "local")  # parts
    assert LabellingFlags(limit=0).given() == {"--sort": False, "--limit": True, "--for": False}


def test_a_tool_has_its_formats():
    assert WRITTEN.suffixes((".csv", ".jsonl")) == (".jsonl",)
    assert LabellingFlags(tool="entities").suffixes((".conllu",)) == (".csv", ".tsv", ".jsonl", ".parquet", ".xlsx")
    assert SORTED.suffixes((".csv", ".jsonl")) == (".csv", ".jsonl")


def test_which_tasks_label_texts():
    labels = {name for name, task in TASKS.items() if task.command().Predict.labels}
    assert labels == {"classification", "sentiment", "transfer", "tagging"}
    tools = {name: TASKS[name].command().Predict.tools for name in labels}
    assert tools.pop("tagging") == typing.get_args(Tool) and set(tools.values()) == {("doccano",)}


def test_the_flag_is_known_to_messages():
    assert "--for" in mistyped.flags(LabellingFlags())
