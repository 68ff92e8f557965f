"""What the configs of all tasks share. The configs of the tasks have their own tests."""

import dataclasses
import json
from typing import ClassVar

import pytest

from pipelines.settings.config import TrainingConfig, by_preset, from_dict
from pipelines.settings.fields import flag
from pipelines.support.errors import UserError
from pipelines.task import TASKS


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(TrainingConfig):
    """A config with two models."""

    PRESETS: ClassVar = {
        ("bag", "quick"): {"epochs": 1, "hidden_size": 8},
        ("bag", "full"): {"epochs": 5, "hidden_size": 8},
        ("lstm", "full"): {"epochs": 9, "hidden_size": 64},
        ("gru", "full"): {"epochs": 9, "hidden_size": 64},
    }
    DEFAULT_MODELS: ClassVar = {"quick": "bag", "full": "lstm"}

    epochs: int | None = None
    hidden_size: int | None = None
    num_heads: int = 2
    dropout: float = 0.5


def test_the_preset_is_quick_on_the_sample_and_full_on_data():
    assert Config().resolve().preset == "quick"
    assert Config(data="x.csv").resolve().preset == "full"
    assert Config(data="x.csv", preset="quick").resolve().preset == "quick"


def test_the_preset_chooses_the_model_and_fills_the_open_fields():
    config = Config(preset="full").resolve()
    assert (config.model, config.epochs, config.hidden_size) == ("lstm", 9, 64)
    assert Config(preset="full", model="bag").resolve().hidden_size == 8


def test_a_given_value_has_priority_over_the_preset():
    assert Config(epochs=7).resolve().epochs == 7
    assert Config(epochs=0).resolve().epochs == 0


def test_a_preset_that_a_model_does_not_have_is_refused_with_those_that_it_has():
    with pytest.raises(UserError, match=r"--preset quick: --model lstm has the presets full$"):
        Config(model="lstm", preset="quick").resolve()


def test_the_defaults_have_the_same_preset_and_model():
    config = Config(preset="full", model="gru", epochs=3, seed=7, data="x.csv").resolve()
    assert config.defaults() == Config(preset="full", model="gru").resolve()


@pytest.mark.parametrize(
    "field",
    [
        {"valid_fraction": 0.0},
        {"valid_fraction": 1.0},
        {"clip_norm": 0.0},
        {"patience": 0},
        {"checkpoint_every": 0},
        {"seed": -1},
        {"seed": 2**31},
    ],
)
def test_a_value_that_no_training_can_use_is_refused_by_its_flag(field):
    Config().resolve().check()
    ((name, value),) = field.items()
    with pytest.raises(UserError, match=f"^{flag(name)} {value}: it must be "):
        Config(**field).resolve().check()


def test_a_config_is_read_back_from_json():
    config = Config(model="lstm", preset="full").resolve()
    assert from_dict(Config, json.loads(json.dumps(dataclasses.asdict(config)))) == config


def test_a_setting_that_does_not_exist_is_refused():
    with pytest.raises(UserError, match="unknown setting 'epoch' for Config; known: .*epochs"):
        from_dict(Config, {"epoch": 3})


def test_a_config_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Config().seed = 2


def test_the_help_shows_the_defaults_of_all_presets():
    text = repr(by_preset(Config.PRESETS, "hidden_size"))
    assert "(default: quick 8; full 64, bag 8)" in text and "N" in text


ENTRIES = pytest.mark.parametrize("entry", TASKS.values(), ids=TASKS)


def presets_of(entry):
    config = entry.command().Train(task=entry.name).config
    required = {"encoder": "https://tfhub.dev/a/b/1"} if entry.package == "transfer" else {}
    config = dataclasses.replace(config, **entry.defaults | required)
    return [dataclasses.replace(config, model=model, preset=preset) for model, preset in config.PRESETS]


@ENTRIES
def test_every_preset_of_every_task_fills_its_fields_and_passes_the_checks(entry):
    configs = presets_of(entry)
    assert configs
    for config in configs:
        resolved = config.resolve()
        resolved.check()
        preset = config.PRESETS[config.model, config.preset]  # None: it follows from the data
        assert not [name for name, value in preset.items() if value is not None and getattr(resolved, name) is None]


@ENTRIES
def test_every_default_model_has_its_preset(entry):
    config = presets_of(entry)[0]
    assert {"quick", "full"} <= set(config.DEFAULT_MODELS)
    for preset, model in config.DEFAULT_MODELS.items():
        assert (model, preset) in config.PRESETS


@ENTRIES
def test_the_configs_of_every_task_are_read_back_from_json(entry):
    for config in presets_of(entry):
        resolved = config.resolve()
        assert from_dict(type(resolved), json.loads(json.dumps(dataclasses.asdict(resolved)))) == resolved


@pytest.mark.parametrize(("switch", "name"), [(False, "own"), (True, "auto")])
def test_a_recipe_that_was_a_switch_has_the_name_of_what_it_did(switch, name):
    from pipelines.transfer.config import TransferConfig

    assert from_dict(TransferConfig, {"encoder": "bert", "recipe": switch}).recipe == name
