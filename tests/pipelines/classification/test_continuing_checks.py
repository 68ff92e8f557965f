"""What `train --from` refuses, without a training."""

import dataclasses
import json

import numpy as np
import pytest

from pipelines.classification import continuing
from pipelines.classification.config import ClassificationConfig
from pipelines.support.errors import UserError
from pipelines.text.special_tokens import END, START, UNKNOWN
from tests.pipelines.small_runs import write_run

FIRST = ClassificationConfig(data="a.csv", preset="quick", model="gru", vocabulary_size=800).resolve()


@pytest.fixture
def weights(tmp_path):
    """best.npz of a run with the settings FIRST."""
    folder = write_run(tmp_path, "first", config=json.loads(json.dumps(dataclasses.asdict(FIRST))))
    return str(folder / "checkpoints" / "best.npz")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vocabulary_size": 500}, "--vocabulary-size 500 has no effect with --from"),
        ({"max_bytes": 999}, "--max-bytes 999 has no effect with --from"),
        ({"word_vectors": "cooccurrence"}, "--word-vectors cooccurrence has no effect with --from"),
        ({"residual": True, "num_layers": 1}, "--residual True: the model to continue from has False"),
        ({"learned_state": True}, "--learned-state True: the model to continue from has False"),
        ({}, None),
        ({"vocabulary_size": None}, None),  # of the preset: no flag was given
    ],
)
def test_a_setting_that_the_model_to_continue_from_has_fixed_is_refused(weights, changes, message, monkeypatch):
    monkeypatch.setattr(
        continuing, "_result", lambda config: {"classes": ["a", "b"], "config": dataclasses.asdict(FIRST)}
    )
    config = dataclasses.replace(FIRST, start_weights=weights, **changes).resolve()
    if message is None:
        continuing.check(config, ("a", "b"))
    else:
        with pytest.raises(UserError, match=message):
            continuing.check(config, ("a", "b"))


def test_texts_of_unknown_tokens_are_refused_and_few_known_ones_are_said(capsys):
    ids = np.array([START, *[UNKNOWN] * 300, END], np.int32)
    with pytest.raises(UserError, match="new.csv: the model to continue from knows 0 of the 300 tokens of these texts"):
        continuing.check_known(ClassificationConfig(data="new.csv"), ids)
    ids[1:101] = 7
    continuing.check_known(ClassificationConfig(data="new.csv"), ids)
    assert "knows 33% of the tokens" in capsys.readouterr().err
    ids[1:201] = 7
    continuing.check_known(ClassificationConfig(data="new.csv"), ids)
    assert capsys.readouterr().err == ""
