import pytest

from pipelines.command_line import ServedModelFlags
from pipelines.labelled.command import Evaluate, Predict, TableFlags
from pipelines.support.errors import UserError

SERVER = ServedModelFlags(server="localhost:1")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({}, "in quotes.*--input"),
        ({"texts": ("a",), "input": "b.csv"}, "either"),
        ({"texts": ("a",), "output": "b.csv"}, "--output needs --input"),
        ({"texts": ("a",), "table": TableFlags(text_column="b")}, "--text-column needs --input"),
        ({"texts": ("a",), "table": TableFlags(no_header=True)}, "--no-header needs --input"),
        ({"input": "b.csv", "json": True}, "--output"),
        ({"input": "b.csv", "model": SERVER}, "leave out --input"),
    ],
)
def test_flags_that_do_not_fit_together_are_one_line(flags, message):
    with pytest.raises(UserError, match=message):
        Predict(task="sentiment", **flags)()


def test_a_model_that_does_not_exist_is_named_with_its_remedy(tmp_path):
    flags = ServedModelFlags(saved_models=tmp_path)
    with pytest.raises(UserError, match="no model 'transfer'.*train transfer"):
        Predict(task="transfer", texts=("a",), model=flags)()
    with pytest.raises(UserError, match="no model 'transfer'.*train transfer"):
        Evaluate(task="transfer", model=flags)()
