import dataclasses

import pytest

from pipelines.configs import base
from pipelines.configs.sentiment import DEFAULT_MODELS, PRESETS, SentimentConfig
from pipelines.configs.transfer import TransferConfig
from pipelines.errors import UserError


def test_every_preset_fills_every_open_field():
    open_fields = {f.name for f in dataclasses.fields(SentimentConfig) if f.default is None}
    open_fields -= {"data", "valid", "text_column", "label_column", "preset", "model"}
    for (model, preset), values in PRESETS.items():
        assert set(values) == open_fields
        base.resolved(SentimentConfig(model=model, preset=preset), PRESETS, DEFAULT_MODELS).check()


def test_the_preset_is_quick_on_the_sample_and_full_on_data():
    assert base.resolved(SentimentConfig(), PRESETS, DEFAULT_MODELS).preset == "quick"
    assert base.resolved(SentimentConfig(data="x.csv"), PRESETS, DEFAULT_MODELS).preset == "full"
    assert base.resolved(SentimentConfig(data="x.csv", preset="quick"), PRESETS, DEFAULT_MODELS).preset == "quick"


def test_full_trains_the_best_model_and_quick_the_quickest():
    assert base.resolved(SentimentConfig(), PRESETS, DEFAULT_MODELS).model == "bag"
    assert base.resolved(SentimentConfig(preset="full"), PRESETS, DEFAULT_MODELS).model == "best"
    assert base.resolved(SentimentConfig(preset="full", model="lstm"), PRESETS, DEFAULT_MODELS).model == "lstm"


def test_a_flag_wins_over_the_preset():
    assert base.resolved(SentimentConfig(epochs=7), PRESETS, DEFAULT_MODELS).epochs == 7
    assert base.resolved(SentimentConfig(ngram_buckets=0), PRESETS, DEFAULT_MODELS).ngram_buckets == 0


def test_there_and_back_again():
    config = base.resolved(SentimentConfig(model="lstm"), PRESETS, DEFAULT_MODELS)
    assert base.from_dict(SentimentConfig, dataclasses.asdict(config)) == config


def test_unknown_keys_are_refused():
    with pytest.raises(UserError, match="unknown setting 'epoch' .*epochs"):
        base.from_dict(SentimentConfig, {"epoch": 3})


@pytest.mark.parametrize(
    "flag",
    [
        {"epochs": 0}, {"learning_rate": 0.0}, {"dropout": 1.0}, {"valid_fraction": 0.0}, {"ngram_buckets": 1},
        {"max_tokens": 3}, {"batch_size": 0}, {"seed": -1}, {"patience": 0}, {"vocabulary_size": 4}, {"max_bytes": 10},
        {"span_rate": 1.5}, {"encoder_tokens": 2}, {"ngrams": -1}, {"model": "transformer", "heads": 5}, {"layers": 0},
        {"word_dropout": 1.0}, {"clip_norm": 0.0}, {"model": "lstm", "hidden_size": 0}, {"checkpoint_every": 0}, {"embedding_size": 0},
    ],
)  # fmt: skip
def test_a_useless_setting_is_named(flag):
    name = list(flag)[-1]
    with pytest.raises(UserError, match=f"^--{name.replace('_', '-')}[ :].*must be"):
        base.resolved(SentimentConfig(**flag), PRESETS, DEFAULT_MODELS).check()


def test_the_hash_changes_with_any_setting():
    hashes = {base.short_hash(dataclasses.asdict(SentimentConfig(**flag))) for flag in ({}, {"seed": 2}, {"epochs": 3})}
    assert len(hashes) == 3


def test_transfer_reads_few_texts_more_often_and_takes_small_steps_with_a_deep_encoder():
    shallow, deep = ["embeddings", "layer_1"], ["embeddings", *(f"layer_{i}" for i in range(12)), "pooler"]
    few, many = TransferConfig().settled(500, shallow), TransferConfig().settled(20_000, deep)
    assert few.batch_size < many.batch_size and few.head_epochs > many.head_epochs and few.top_epochs > many.top_epochs
    small_bert = ["embeddings", *(f"layer_{i}" for i in range(4)), "pooler"]
    assert few.learning_rate > TransferConfig().settled(500, small_bert).learning_rate > many.learning_rate
    assert None not in (few.top, few.epochs, many.top, many.epochs)
    asked = TransferConfig(batch_size=5, head_epochs=0, top_epochs=9, top=3, learning_rate=0.5)
    assert asked.settled(500, deep) == asked


def test_transfer_unfreezes_what_there_is():
    assert TransferConfig().settled(500, ["embeddings"]).top == 1
    assert TransferConfig().settled(500, []).top_epochs == 0
