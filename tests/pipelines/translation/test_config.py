import dataclasses

import pytest

from pipelines.support.errors import UserError
from pipelines.translation.config import TranslationConfig
from pipelines.translation.presets import MODELS, PRESETS

# Fields without a value in the presets: data, and what `resolve` computes.
NOT_IN_PRESETS = {
    "data",
    "minutes",
    "start_weights",
    "target",
    "pair",
    "valid",
    "valid_target",
    "source_column",
    "quote",
    "target_column",
    "encoding",
    "separator",
    "preset",
    "model",
    "feedforward_size",
    "max_tokens",
}


def resolved(**flags):
    return TranslationConfig(**flags).resolve()


def test_every_preset_fills_every_open_field_and_is_valid():
    open_fields = {field.name for field in dataclasses.fields(TranslationConfig) if field.default is None}
    for (model, preset), values in PRESETS.items():
        assert set(values) == open_fields - NOT_IN_PRESETS
        config = resolved(model=model, preset=preset, data="x.tsv")
        config.check()
        assert config.vocabulary_size == values["vocabulary_size"]


def test_the_preset_is_quick_on_the_sample_and_full_on_data():
    assert resolved().preset == "quick" and resolved(data="x.tsv").preset == "full"
    assert resolved().model == "transformer"


def test_a_preset_that_a_model_does_not_have_is_an_error():
    with pytest.raises(UserError, match="--preset base: --model rnn has the presets full, quick"):
        resolved(model="rnn", preset="base")


def test_base_has_the_sizes_of_the_paper():
    config = resolved(preset="base")
    assert (config.num_layers, config.hidden_size, config.feedforward_size, config.num_heads) == (6, 512, 2048, 8)


@pytest.mark.parametrize(
    ("flags", "size"),
    [
        ({}, 128),
        ({"hidden_size": 32}, 64),
        ({"preset": "base", "hidden_size": 64}, 256),
        ({"feedforward_size": 100}, 100),
        ({"model": "rnn"}, None),
    ],
)
def test_the_feedforward_size_is_a_multiple_of_the_hidden_size_by_default(flags, size):
    config = resolved(**flags)
    config.check()
    assert config.feedforward_size == size


def test_sentences_have_at_most_100_tokens_by_default():
    assert resolved().max_tokens == 100 and resolved(max_tokens=50).max_tokens == 50


@pytest.mark.parametrize(
    "flags",
    [
        {"pair": "en"},
        {"pair": "en-en"},
        {"vocabulary_size": 5},
        {"subword_alpha": -1.0},
        {"max_tokens": 0},
        {"max_tokens": 2},
        {"max_tokens": 1001},
        {"num_layers": 0},
        {"feedforward_size": 0},
        {"num_heads": 5},
        {"model": "rnn", "hidden_size": 33},
        {"dropout": 1.0},
        {"label_smoothing": 1.0},
        {"batch_tokens": 50},
        {"learning_rate": 0.0},
        {"ema_momentum": 1.0},
        {"beam_width": 17},
        {"beam_width": 0},
        {"length_penalty": -0.1},
        {"warmup_steps": 0},
        {"patience": 0},
        {"seed": -1},
    ],
    ids=str,
)
def test_a_value_that_no_training_can_use_is_an_error_that_names_the_flag(flags):
    with pytest.raises(UserError, match=f"^--{list(flags)[-1].replace('_', '-')} .*must be"):
        resolved(**flags).check()


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        ({"model": "rnn", "input_feeding": True}, "--model attention --attention-style luong"),
        ({"model": "single-rnn", "input_feeding": True}, "--model attention --attention-style luong"),
        ({"input_feeding": True}, "--model attention --attention-style luong"),
        ({"model": "attention", "input_feeding": True}, "--model attention --attention-style luong"),
        ({"attention_score": "dot"}, "--model attention"),
        ({"model": "rnn", "attention_style": "luong"}, "--model attention"),
        ({"model": "rnn", "num_heads": 2}, "--model transformer"),
        ({"model": "attention", "feedforward_size": 512}, "--model transformer"),
        ({"model": "single-rnn", "norm": "post"}, "--model transformer"),
        ({"cell": "lstm"}, "single-rnn, rnn or attention"),
        ({"embedding_size": 32}, "single-rnn, rnn or attention"),
        ({"model": "attention", "reverse_source": True}, "--model rnn --no-bidirectional"),
        ({"model": "rnn", "reverse_source": True}, "--model rnn --no-bidirectional"),
        ({"reverse_source": True}, "--model single-rnn"),
        ({"model": "attention", "context": "first-step"}, "--model rnn"),
    ],
    ids=str,
)
def test_a_flag_that_changes_nothing_is_an_error_with_the_reason(flags, reason):
    name = list(flags)[-1].replace("_", "-")
    with pytest.raises(UserError, match=f"^--{name} has no effect here: it needs .*{reason}"):
        resolved(**flags).check()


@pytest.mark.parametrize("model", ["single-rnn", "transformer"])
def test_no_bidirectional_needs_a_model_with_an_encoder_of_its_own(model):
    with pytest.raises(UserError, match="^--no-bidirectional has no effect here: it needs --model rnn or attention"):
        resolved(model=model, bidirectional=False).check()


@pytest.mark.parametrize(
    "flags",
    [
        {"model": "attention", "attention_style": "luong", "input_feeding": True, "attention_score": "general"},
        {"model": "rnn", "bidirectional": False, "reverse_source": True, "cell": "lstm", "embedding_size": 16},
        {"model": "single-rnn", "reverse_source": True, "hidden_size": 33},
        {"num_heads": 2, "hidden_size": 32, "feedforward_size": 100, "norm": "post"},
        {"model": "rnn", "hidden_size": 64},
    ],
    ids=str,
)
def test_flags_with_an_effect_are_accepted(flags):
    config = resolved(**flags)
    config.check()
    assert all(getattr(config, name) == value for name, value in flags.items())


@pytest.mark.parametrize(("target", "source"), [("target", "data"), ("valid_target", "valid")])
def test_translations_without_their_sources_are_an_error(target, source):
    with pytest.raises(
        UserError, match=f"--{target.replace('_', '-')} x.de: give the source sentences with --{source}"
    ):
        resolved(**{target: "x.de"}).check()


def test_the_record_has_the_fingerprints_of_all_data_files():
    assert resolved(data="a.en", target="a.de").data_files() == {"target": "a.de"}
    files = {"target": "a.de", "valid": "v.en", "valid_target": "v.de"}
    assert resolved(data="a.en", **files).data_files() == files


def test_split_batches_run_two_operations_in_parallel():
    assert resolved().parallel_ops() == 2 and resolved(split_batches=False).parallel_ops() is None


def test_few_minutes_are_for_the_quick_preset():
    assert resolved(data="x.tsv", minutes=5).model == "attention"
    assert resolved(data="x.tsv", minutes=5, model="transformer").preset == "quick"
    assert resolved(data="x.tsv", minutes=20).model == resolved(data="x.tsv").model == "transformer"
    assert resolved(data="x.tsv", minutes=5, preset="full").model == "transformer"
    assert resolved(minutes=5) == dataclasses.replace(resolved(), minutes=5)


def test_quick_with_data_has_attention_and_what_follows_from_the_number_of_pairs():
    config = resolved(data="x.tsv", preset="quick")
    assert config.model == "attention" and config.hidden_size == 256
    sizes = [(config.complete(n).vocabulary_size, config.complete(n).epochs) for n in (100, 10_000, 20_000, 10**6)]
    assert sizes == [(400, 40), (2000, 40), (4000, 28), (4000, 4)]
    given = resolved(data="x.tsv", preset="quick", model="rnn", epochs=3, vocabulary_size=99).complete(50_000)
    assert (given.model, given.epochs, given.vocabulary_size) == ("rnn", 3, 99)
    assert resolved(data="x.tsv").complete(29_000).vocabulary_size == 4000
    assert resolved(data="x.tsv", preset="base").vocabulary_size == 37_000


def test_the_sample_has_a_small_network():
    config = resolved()
    assert (config.model, config.hidden_size, config.vocabulary_size, config.epochs) == ("transformer", 64, 400, 8)
    assert resolved(model="attention", optimizer="sgd").learning_rate == pytest.approx(0.5)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("data", [None, "x.tsv"])
def test_the_defaults_are_those_of_the_same_data(model, data):
    config = resolved(data=data, model=model, preset="quick")
    assert config.defaults() == dataclasses.replace(config, data=None)
    config.check()
