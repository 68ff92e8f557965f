from pathlib import Path

import pytest

from pipelines.checkpoints import families
from pipelines.support.errors import UserError
from tests.pipelines.checkpoints.conftest import CONFIG as SIZES

CONFIG = {"model_type": "bert", **SIZES}


def sizes_of(**settings):
    return families.sizes_of(Path("folder"), {**CONFIG, **settings})


def test_defaults_of_a_family():
    sizes = sizes_of()
    assert (sizes.pad, sizes.offset, sizes.types, sizes.epsilon) == (0, 0, 2, 1e-12)
    assert (sizes.activation, sizes.head_activation, sizes.is_tied) == ("gelu", "gelu", True)
    assert (sizes.embedding, sizes.hidden) == (16, 16)
    roberta = sizes_of(model_type="xlm-roberta", hidden_act="relu", layer_norm_eps=1e-5, pad_token_id=None)
    assert (roberta.pad, roberta.offset, roberta.epsilon) == (1, 2, 1e-5)
    assert (roberta.activation, roberta.head_activation) == ("relu", "gelu")
    assert sizes_of(model_type="electra", embedding_size=8).embedding == 8


def test_distilbert_has_other_keys():
    config = {
        "model_type": "distilbert",
        "vocab_size": 40,
        "dim": 16,
        "n_layers": 3,
        "n_heads": 2,
        "hidden_dim": 24,
        "max_position_embeddings": 20,
        "activation": "relu",
    }
    sizes = families.sizes_of(Path("folder"), config)
    assert (sizes.hidden, sizes.layers, sizes.heads, sizes.intermediate) == (16, 3, 2, 24)
    assert (sizes.activation, sizes.types) == ("relu", 0)
    del config["dim"]
    with pytest.raises(UserError, match="folder/config.json has no dim: get the checkpoint again"):
        families.sizes_of(Path("folder"), config)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"model_type": "mpnet"},
            r"model_type mpnet is not supported \(it has relative positions\): give one of bert,",
        ),
        ({"model_type": "bertt"}, r"model_type bertt is not supported; did you mean bert\?"),
        ({"model_type": "gpt2"}, "gpt2 is not supported .it is a decoder"),
        ({"model_type": "mpt"}, "mpt is not supported .it has ALiBi in place of positions"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type is relative_key, but only absolute"),
        ({"position_embedding_type": "alibi"}, "position_embedding_type is alibi, but only absolute"),
        ({"is_decoder": True}, "is_decoder is true, but only encoders are supported"),
        ({"add_cross_attention": True}, "add_cross_attention is true, but only encoders"),
        ({"hidden_act": "gelu_new"}, "the activation is gelu_new, but only gelu and relu are supported"),
        ({"num_attention_heads": 3}, "3 heads do not divide the hidden size 16"),
        ({"hidden_size": "16"}, "hidden_size is '16', it must be a whole number of 1 or more"),
        ({"num_hidden_layers": 0}, "num_hidden_layers is 0, it must be a whole number of 1 or more"),
        ({"vocab_size": True}, "vocab_size is True, it must be a whole number"),
        ({"vocab_size": None}, "has no vocab_size"),
        ({"pad_token_id": 40}, "pad_token_id is 40, but vocab_size is 40"),
        ({"pad_token_id": -1}, "pad_token_id is -1, it must be a whole number of 0 or more"),
        ({"layer_norm_eps": 0}, "layer_norm_eps is 0, it must be between 0 and 1"),
        ({"model_type": "roberta", "max_position_embeddings": 2}, "2 positions are too few, the first is 2"),
    ],
)
def test_refusals(settings, message):
    with pytest.raises(UserError, match=message) as error:
        sizes_of(**settings)
    assert str(error.value).startswith("folder/config.json: ") or "has no" in str(error.value)
    assert "\n" not in str(error.value)


def test_parts_have_names_and_shapes():
    parts = families.parts(sizes_of())
    assert parts["token_embeddings"] == ("embeddings.word_embeddings", (40, 16))
    assert parts["block_2/feed_forward/hidden"] == ("encoder.layer.1.intermediate.dense", (24, 16))
    assert parts["block_1/attention_norm"] == ("encoder.layer.0.attention.output.LayerNorm", (16,))
    assert "embeddings_projection" not in parts
    assert len(parts) == 4 + 2 * 8
    electra = families.parts(sizes_of(model_type="electra", embedding_size=8))
    assert electra["embeddings_projection"] == ("embeddings_project", (16, 8))
    assert electra["embeddings_norm"][1] == (8,)


def test_head_parts():
    head = families.head_parts(sizes_of(model_type="electra", embedding_size=8))
    assert head["head_transform"] == ("generator_predictions.dense", (8, 16))
    assert head["head_decoder"] == ("generator_lm_head", (40, 8))
