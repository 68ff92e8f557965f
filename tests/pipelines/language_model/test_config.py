import dataclasses

import pytest

from pipelines.language_model.config import PRESETS, LanguageModelConfig
from pipelines.settings.config import from_dict
from pipelines.support.errors import UserError
from pipelines.task import TASKS


def resolve(**flags):
    return LanguageModelConfig(**flags).resolve()


def test_every_preset_fills_every_field():
    for model, preset in PRESETS:
        config = resolve(model=model, preset=preset)
        empty = {name for name, value in vars(config).items() if value is None}
        assert empty == {"data", "valid", "documents", "text_column", "encoding", "minutes", "start_weights"}, (
            model,
            preset,
        )
        assert from_dict(LanguageModelConfig, dataclasses.asdict(config)) == config


def test_the_default_tokenizer_depends_on_the_name_of_the_task_and_on_the_preset():
    def tokenizer(task, **flags):
        return resolve(**TASKS[task].defaults, **flags).tokenizer

    assert tokenizer("language-model") == "subword" and tokenizer("char-lm") == "character"
    assert tokenizer("char-lm", preset="words") == tokenizer("language-model", preset="words") == "word"
    assert tokenizer("char-lm", tokenizer="subword") == "subword"
    assert tokenizer("char-lm", tokenizer="character", preset="words") == "character"


def test_the_defaults_keep_the_default_tokenizer():
    config = resolve(default_tokenizer="character", epochs=9)
    assert config.defaults() == dataclasses.replace(config, epochs=config.defaults().epochs)


@pytest.mark.parametrize(
    "flags",
    [
        {"num_layers": 0},
        {"hidden_size": 0},
        {"embedding_size": 0},
        {"window": 1},
        {"batch_size": 0},
        {"epochs": 0},
        {"learning_rate": 0.0},
        {"dropout": 1.0},
        {"weight_decay": -1.0},
        {"vocabulary_size": 9},
        {"num_sampled": 5},
        {"teacher_forcing": 1.5},
        {"clip_norm": 0.0},
        {"seed": -1},
        {"valid_fraction": 1.0},
        {"model": "transformer", "num_heads": 3},
        {"model": "transformer", "hidden_size": 12, "num_heads": 4},
    ],
)
def test_a_value_that_no_training_can_use_is_named(flags):
    name = list(flags)[-1].replace("_", "-")
    with pytest.raises(UserError, match=f"^--{name} .*must be"):
        resolve(**flags).check()


@pytest.mark.parametrize(
    ("flags", "name"),
    [
        ({"num_heads": 8}, "num-heads"),
        ({"positions": "learned"}, "positions"),
        ({"model": "transformer", "embedding_size": 5}, "embedding-size"),
        ({"model": "transformer", "sequence_dropout": True, "dropout": 0.1}, "sequence-dropout"),
        ({"sequence_dropout": True}, "sequence-dropout"),
        ({"model": "transformer", "teacher_forcing": 0.5}, "teacher-forcing"),
        ({"tie_weights": True, "num_sampled": 5, "teacher_forcing": 0.5}, "teacher-forcing"),
        ({"tokenizer": "character", "vocabulary_size": 500}, "vocabulary-size"),
        ({"valid": "v.txt", "valid_fraction": 0.2}, "valid-fraction"),
    ],
)
def test_a_flag_without_effect_is_refused(flags, name):
    with pytest.raises(UserError, match=f"--{name} has no effect here: "):
        resolve(**flags).check()


def test_the_same_flags_are_accepted_where_they_have_an_effect():
    resolve(teacher_forcing=0.5).check()
    resolve(model="transformer", num_heads=8, positions="learned", window=32).check()
    resolve(sequence_dropout=True, dropout=0.1, vocabulary_size=500, tokenizer="word", valid="v.txt").check()


def test_the_validation_text_is_part_of_the_record():
    assert resolve(valid="v.txt").data_files() == {"valid": "v.txt"} and resolve().data_files() == {}


def test_a_training_that_continues_a_run_has_fewer_epochs_unless_they_are_given():
    first = resolve(data="a.txt")
    assert (first.epochs, resolve(data="a.txt", start_weights="best.npz").epochs) == (8, 6)
    assert resolve(data="a.txt", start_weights="best.npz", epochs=8).epochs == 8
