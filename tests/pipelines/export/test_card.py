import dataclasses
import json

import pytest

from pipelines.config import TrainingConfig
from pipelines.export.card import make_card
from tests.pipelines.results import make_result


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(TrainingConfig):
    """A config with a validation file and two modules."""

    valid: str | None = None
    encoder: str = ""
    preprocessor: str = ""

    def data_files(self):
        return {"valid": self.valid}

    def module_handles(self):
        return {"encoder": self.encoder, "preprocessor": self.preprocessor}


@pytest.fixture
def config():
    return Config(
        data="/home/me/reviews.csv", valid="/home/me/valid.csv", encoder="/home/me/bert", preprocessor="https://a/b/1"
    )


def test_the_card_has_the_facts_that_users_of_the_export_need(config):
    result = make_result(config=dataclasses.asdict(config), classes=["negative", "positive"], window={"max_bytes": 40})
    card = make_card(result, config)
    for name in (
        "schema",
        "run",
        "task",
        "sample",
        "classes",
        "window",
        "scores",
        "versions",
        "precision",
        "parameters",
    ):
        assert card[name] == getattr(result, name)
    assert card["config"]["seed"] == 1
    assert json.loads(json.dumps(card)) == card


def test_no_path_of_the_machine_is_in_the_card(config):
    card = make_card(make_result(config=dataclasses.asdict(config)), config)
    assert "/home/me" not in json.dumps(card)
    assert (card["config"]["encoder"], card["config"]["preprocessor"]) == ("bert", "https://a/b/1")
    assert not {"data", "valid"} & set(card["config"])
    assert not {"export", "report", "model", "epochs", "machine"} & set(card)


def test_facts_that_the_task_does_not_have_are_left_out(config):
    card = make_card(make_result(config=dataclasses.asdict(config), vocabulary_size=None), config)
    assert not {"classes", "pair", "characters", "generation_defaults", "vocabulary_size"} & set(card)
