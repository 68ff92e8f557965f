import dataclasses
import json

import pytest

from pipelines.export.card import CARD, make_card, read_card
from pipelines.settings.config import TrainingConfig
from pipelines.support.errors import UserError
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
        assert card[name] == result.to_json()[name]
    assert card["config"]["seed"] == 1
    assert json.loads(json.dumps(card)) == card


def test_no_path_of_the_machine_is_in_the_card(config):
    card = make_card(make_result(config=dataclasses.asdict(config)), config)
    assert "/home/me" not in json.dumps(card)
    assert (card["config"]["encoder"], card["config"]["preprocessor"]) == ("bert", "https://a/b/1")
    assert not {"data", "valid"} & set(card["config"])
    assert not {"export", "report", "model", "epochs", "machine"} & set(card)


def test_the_validation_text_can_be_left_out(config):
    hidden = {"example_text": "a secret", "example_row": {"title": "another secret"}}
    result = make_result(config=dataclasses.asdict(config), classes=["a", "b"], **hidden)
    cards = [make_card(result, dataclasses.replace(config, no_example_text=without)) for without in (False, True)]
    assert cards[0] == cards[1] | hidden and "secret" not in json.dumps(cards[1])


def test_facts_that_the_task_does_not_have_are_left_out(config):
    card = make_card(make_result(config=dataclasses.asdict(config), vocabulary_size=None), config)
    assert not {"classes", "pair", "characters", "generation_defaults", "vocabulary_size"} & set(card)


def test_a_card_is_read_as_it_was_written(config, tmp_path):
    card = make_card(make_result(config=dataclasses.asdict(config), classes=["a", "b"]), config)
    (tmp_path / CARD).write_text(json.dumps(card))
    assert read_card(tmp_path) == card
    for name in ("pair", "nothing"):
        with pytest.raises(UserError, match=f"model_card.json is damaged, or .* has no '{name}'.*: train the model"):
            read_card(tmp_path)[name]
    with pytest.raises(UserError, match="has no 'nothing'"):
        read_card(tmp_path)["config"]["nothing"]


@pytest.mark.parametrize("value", [None, 3, True, "x", [], ["x"], [1], {}, {"x": 1}, {"x": {"y": []}}, 1.5])
def test_a_field_of_another_type_is_refused(config, tmp_path, value):
    card = make_card(make_result(config=dataclasses.asdict(config), classes=["a", "b"]), config)
    kinds = {"task": str, "sample": bool, "classes": list, "scores": dict, "config": dict, "data": dict}
    for name, kind in kinds.items():
        (tmp_path / CARD).write_text(json.dumps(card | {name: value}))
        if isinstance(value, kind) and value not in ([1],) and (name, value) != ("scores", {"x": 1}):
            assert read_card(tmp_path)[name] == value
        elif (name, value) == ("classes", None):  # a model without classes
            assert read_card(tmp_path)[name] is None
        else:
            with pytest.raises(UserError, match=f"'{name}' has a value of another type"):
                read_card(tmp_path)
