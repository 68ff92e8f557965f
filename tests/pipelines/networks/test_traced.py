import keras
import numpy as np
import pytest

from pipelines.classification import networks as classification
from pipelines.classification.config import ClassificationConfig
from pipelines.language_model import networks as language_model
from pipelines.language_model.config import LanguageModelConfig
from pipelines.networks.recurrent import RECURRENT_LAYERS
from pipelines.networks.traced import FEATURES, OUTPUT, is_traceable, next_tokens, traced, without_padding
from pipelines.translation import networks as translation
from pipelines.translation.config import TranslationConfig

IDS = np.random.default_rng(0).integers(4, 20, (2, 7))
PAIRS = {"source": IDS, "target": np.random.default_rng(1).integers(4, 25, (2, 5))}


def make_language_model(model, **options):
    config = LanguageModelConfig(model=model, tokenizer="character", hidden_size=8, num_heads=2, **options).resolve()
    return randomized(language_model.build(config, 20))


def make_classifier(model, **options):
    config = ClassificationConfig(model=model, hidden_size=8, embedding_size=8, num_heads=2, **options).resolve()
    return randomized(classification.network(config, 20, 2))


def make_translator(model, **options):
    sizes = {"hidden_size": 8, "num_heads": 2, "feedforward_size": 8}
    sizes |= {} if model == "transformer" else {"embedding_size": 8}
    return randomized(translation.build(TranslationConfig(model=model, **sizes, **options).resolve(), 20, 25))


def randomized(model):
    for i, weight in enumerate(model.trainable_variables):
        weight.assign(np.random.default_rng(i).normal(scale=0.5, size=weight.shape))
    return model


def values_of(model, inputs):
    return {name: np.array(value) for name, value in traced(model)(inputs, training=False).items()}


@pytest.mark.parametrize("kind", [*RECURRENT_LAYERS, "transformer"])
def test_a_language_model_returns_its_output_and_every_layer(kind):
    model = make_language_model(kind, num_layers=2)
    values = values_of(model, IDS)
    np.testing.assert_array_equal(values[OUTPUT], model(IDS, training=False))
    if kind == "transformer":
        assert values["layer_2_attention"].shape == (2, 2, 7, 7)
        np.testing.assert_allclose(values["layer_1_attention"].sum(-1), 1, atol=1e-6)
        assert not np.triu(values["layer_1_attention"], 1).any(), "causal"
    else:
        np.testing.assert_allclose(values["layer_2_hidden"], values[FEATURES], atol=1e-6)
        assert values["layer_1_hidden"].shape == (2, 7, 8)


def test_the_traced_model_has_the_weights_of_the_model_and_leaves_it_as_it_is():
    model = make_language_model("lstm")
    model.compile("sgd", loss=lambda y, z: z)  # a compiled model cannot always be copied
    before = np.array(model(IDS, training=False))
    copy = traced(model)
    assert {id(weight) for weight in copy.weights} == {id(weight) for weight in model.weights}
    np.testing.assert_array_equal(model(IDS, training=False), before)


def test_a_classifier_has_a_trace_for_each_direction():
    model = make_classifier("gru", learned_state=True)
    ids = np.where(np.arange(7) < [[7], [4]], IDS, 0)
    values = values_of(model, ids)
    np.testing.assert_array_equal(values[OUTPUT], model(ids, training=False))
    assert values["layer_1_backward_update_gate"].shape == (2, 7, 8)
    assert not values["layer_1_forward_reset_gate"][1, 4:].any(), "padding"
    forward, backward = values["layer_1_forward_hidden"], values["layer_1_backward_hidden"]
    assert abs(forward - backward).max() > 0.1


@pytest.mark.parametrize(
    ("model", "options", "expected"),
    [
        ("transformer", {}, {"encoder_1_attention": (2, 2, 7, 7), "decoder_1_self_attention": (2, 2, 5, 5)}),
        ("attention", {"decoder_layers": 2}, {"decoder_2_hidden": (2, 5, 8), "encoder_1_backward_hidden": (2, 7, 4)}),
        ("attention", {"attention_style": "luong"}, {"decoder_1_hidden": (2, 5, 8)}),
        ("rnn", {"cell": "lstm"}, {"decoder_1_forget_gate": (2, 5, 8), "encoder_1_forward_cell": (2, 7, 4)}),
    ],
)
def test_a_translator_has_a_trace_of_both_sides(model, options, expected):
    network = make_translator(model, **options)
    values = values_of(network, PAIRS)
    np.testing.assert_array_equal(values[OUTPUT], network(PAIRS, training=False))
    assert expected.items() <= {name: value.shape for name, value in values.items()}.items()
    if model != "rnn":
        assert values["decoder_1_attention"].shape == (2, 2 if model == "transformer" else 1, 5, 7)
        np.testing.assert_allclose(values["decoder_1_attention"].sum(-1), 1, atol=1e-6)


@pytest.mark.parametrize("model", ["bag", "cnn"])
def test_a_network_without_recurrent_layers_and_blocks_has_no_trace(model):
    assert not is_traceable(make_classifier(model))


def test_padding_is_zero():
    values = {"layer_1_hidden": keras.ops.ones((2, 3, 4)), "layer_1_attention": keras.ops.ones((2, 2, 3, 3))}
    masked = without_padding(values, keras.ops.convert_to_tensor([3, 1]))
    np.testing.assert_array_equal(np.array(masked["layer_1_hidden"])[:, :, 0], [[1, 1, 1], [1, 0, 0]])
    np.testing.assert_array_equal(np.array(masked["layer_1_attention"])[:, 1, :, 2], [[1, 1, 1], [1, 0, 0]])


def test_the_next_tokens_are_the_most_likely_ones():
    logits = np.log([[[0.1, 0.6, 0.3], [0.5, 0.2, 0.3]]]).astype("float32")
    answer = next_tokens(keras.ops.convert_to_tensor(logits), np.array([[True, False]]), np.array(["a", "b", "c"]))
    assert answer["next_tokens"].numpy().tolist() == [[[b"b", b"c", b"a"], [b"", b"", b""]]]
    np.testing.assert_allclose(answer["next_probabilities"], [[[0.6, 0.3, 0.1], [0, 0, 0]]], atol=1e-6)
