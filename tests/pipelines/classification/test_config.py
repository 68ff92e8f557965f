import dataclasses

import pytest

from pipelines.classification.config import PRESETS, ClassificationConfig
from pipelines.labelled.config import TABLE_FIELDS
from pipelines.settings.config import from_dict
from pipelines.settings.fields import flag
from pipelines.support.errors import UserError
from pipelines.task import TASKS


def sentiment(**values) -> ClassificationConfig:
    return ClassificationConfig(**TASKS["sentiment"].defaults, **values)


def test_every_preset_has_a_value_for_every_field_without_a_default():
    open_fields = {field.name for field in dataclasses.fields(ClassificationConfig) if field.default is None}
    open_fields -= {"data", "valid", *TABLE_FIELDS, "positive", "threshold", "preset", "model", "start_weights"}
    open_fields -= {
        "weight_column",
        "encoder",
        "rare_labels",
        "field_mark",
        "minutes",
        "epochs",
        "patience",
    }  # the latter two follow from the number of texts
    for values in PRESETS.values():
        assert set(values) - {"epochs"} == open_fields


@pytest.mark.parametrize(
    ("options", "num_texts", "epochs"),
    [
        ({"preset": "full", "model": "gru"}, 22_400, 4),  # 350 steps each
        ({"preset": "full", "model": "gru"}, 10_000, 9),  # 1,413 steps
        ({"preset": "full", "model": "gru"}, 100, 40),
        ({"preset": "full", "model": "gru"}, 10**6, 4),
        ({"preset": "quick", "model": "lstm"}, 2000, 7),
        ({"preset": "quick", "model": "lstm", "epochs": 2}, 2000, 2),
        ({"preset": "full", "model": "linear"}, 2000, 1),
    ],
)
def test_the_epochs_follow_from_the_number_of_texts(options, num_texts, epochs):
    assert ClassificationConfig(**options).resolve().complete(num_texts).epochs == epochs


@pytest.mark.parametrize(("num_texts", "model"), [(999, "linear"), (1000, "best")])
def test_best_is_the_linear_model_alone_on_few_texts(num_texts, model):
    complete = ClassificationConfig(data="spam.csv").resolve().complete(num_texts)
    assert complete.model == model and (complete.epochs == 1) == (model == "linear")
    assert None not in (complete.batch_size, complete.learning_rate, complete.patience)


def test_full_trains_the_best_model_and_quick_the_fastest():
    assert ClassificationConfig().resolve().model == "linear"
    assert ClassificationConfig(preset="full").resolve().model == "best"
    assert ClassificationConfig(preset="full", model="lstm").resolve().model == "lstm"


def test_only_sentiment_generates_negations_by_default():
    assert sentiment(data="x.csv").resolve().num_negations == 6000
    assert ClassificationConfig(data="x.csv").resolve().num_negations == 0
    with pytest.raises(UserError, match="--num-negations has no effect.*train sentiment"):
        ClassificationConfig(model="best", num_negations=10).resolve().check()


def test_the_defaults_of_sentiment_are_those_of_sentiment():
    config = sentiment(data="x.csv", epochs=2).resolve()
    assert config.defaults() == sentiment(preset="full", model="best").resolve()


def test_a_config_read_from_its_dict_is_equal():
    config = ClassificationConfig(model="lstm").resolve()
    assert from_dict(ClassificationConfig, dataclasses.asdict(config)) == config


@pytest.mark.parametrize(
    "values",
    [
        {"epochs": 0},
        {"learning_rate": 0.0},
        {"dropout": 1.0},
        {"valid_fraction": 0.0},
        {"ngram_buckets": 1},
        {"max_tokens": 3},
        {"batch_size": 0},
        {"seed": -1},
        {"patience": 0},
        {"vocabulary_size": 4},
        {"max_bytes": 10},
        {"span_rate": 1.5},
        {"max_encoder_tokens": 2},
        {"max_ngrams": -1},
        {"max_characters": -1},
        {"model": "transformer", "num_heads": 5},
        {"num_layers": 0},
        {"word_dropout": 1.0},
        {"clip_norm": 0.0},
        {"model": "lstm", "hidden_size": 0},
        {"checkpoint_every": 0},
        {"embedding_size": 0},
        {"num_negations": -1},
    ],
)
def test_a_value_that_cannot_be_used_is_named(values):
    name = list(values)[-1]
    with pytest.raises(UserError, match=f"^{flag(name)} .*must be"):
        sentiment(**values).resolve().check()


def test_options_of_two_directions_and_of_several_layers_need_them():
    for flags, message in (
        ({"bidirectional": False, "merge": "sum"}, "--merge has no effect here: it needs two directions"),
        ({"residual": True}, "--residual has no effect here: it needs at least two --num-layers"),
    ):
        with pytest.raises(UserError, match=message):
            sentiment(model="gru", preset="full", **flags).resolve().check()


def test_sgd_has_a_higher_default_learning_rate():
    adam, sgd, given = (
        sentiment(model="gru", preset="full", **flags).resolve()
        for flags in ({}, {"optimizer": "sgd"}, {"optimizer": "sgd", "learning_rate": 0.3})
    )
    assert sgd.learning_rate == 100 * adam.learning_rate and given.learning_rate == 0.3


def test_characters_are_counted_only_beside_other_ngrams():
    ClassificationConfig(model="lstm", max_ngrams=100, max_characters=50).resolve().check()
    with pytest.raises(UserError, match="--max-characters has no effect here: it needs --max-ngrams"):
        ClassificationConfig(model="lstm", max_characters=50).resolve().check()
    with pytest.raises(UserError, match="--max-ngrams 0: it must be above 0 for --model linear"):
        ClassificationConfig(model="linear", max_ngrams=0).resolve().check()
