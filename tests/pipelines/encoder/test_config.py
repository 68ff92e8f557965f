import dataclasses

import pytest

from pipelines.encoder.config import SIZES, EncoderConfig
from pipelines.settings.config import from_dict
from pipelines.support.errors import UserError


def resolve(**flags):
    return EncoderConfig(**flags).resolve()


@pytest.mark.parametrize("size", SIZES)
def test_every_preset_and_size_fills_every_field_and_is_valid(size):
    for model, preset in EncoderConfig.PRESETS:
        config = resolve(model=model, preset=preset, size=size)
        config.check()
        empty = {name for name, value in vars(config).items() if value is None}
        assert empty == {"data", "vectors", "checkpoint", "text_column", "encoding", "minutes", "start_weights"}, (
            model,
            preset,
        )
        assert from_dict(EncoderConfig, dataclasses.asdict(config)) == config


def test_the_size_depends_on_the_preset_and_a_flag_wins_over_the_size():
    assert resolve().size == "tiny" and resolve(preset="full").size == "small"
    config = resolve(size="bert-base", num_layers=2)
    assert (config.num_layers, config.hidden_size) == (2, 768)


def test_another_size_is_another_run():
    assert resolve(size="small").defaults() != resolve(size="small")


@pytest.mark.parametrize(
    "flags",
    [
        {"num_layers": 0},
        {"vocabulary_size": 39},
        {"window": 7},
        {"num_sampled": -1},
        {"dropout": 1.0},
        {"mask_rate": 0.0},
        {"max_tokens": 3},
        {"max_bytes": 99},
        {"learning_rate": 0.0},
        {"weight_decay": -1.0},
        {"patience": 0},
        {"model": "transformer", "num_heads": 3},
        {"direction": "bidirectional", "hidden_size": 15},
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
        ({"size": "small", "num_heads": 2}, "num-heads"),
        ({"model": "transformer", "embedding_size": 5}, "embedding-size"),
        ({"mask_rate": 0.3}, "mask-rate"),
        ({"direction": "bidirectional", "num_sampled": 50}, "num-sampled"),
        ({"vectors": "glove.txt", "data": "a.txt"}, "data"),
        ({"vectors": "glove.txt", "epochs": 9}, "epochs"),
    ],
)
def test_a_flag_without_effect_is_refused(flags, name):
    with pytest.raises(UserError, match=f"--{name} has no effect here: "):
        resolve(**flags).check()


def test_word_vectors_use_the_limits_of_a_text():
    resolve(vectors="glove.txt", max_tokens=50, max_bytes=1000).check()
