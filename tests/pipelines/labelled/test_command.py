import pytest

from pipelines.command_line import ServedModelFlags
from pipelines.labelled.command import Evaluate, Predict
from pipelines.support.errors import UserError


def test_a_model_that_does_not_exist_is_named_with_its_remedy(tmp_path):
    flags = ServedModelFlags(saved_models=tmp_path)
    with pytest.raises(UserError, match="no model 'transfer'.*train transfer"):
        Predict(task="transfer", texts=("a",), model=flags)()
    with pytest.raises(UserError, match="no model 'transfer'.*train transfer"):
        Evaluate(task="transfer", model=flags)()
