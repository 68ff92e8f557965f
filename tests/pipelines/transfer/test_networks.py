"""The network against NumPy: the outputs of the saved modules, their masked mean, and the dense layer."""

import numpy as np
import pytest
import tensorflow as tf

from pipelines.transfer.config import TransferConfig
from pipelines.transfer.modules import Modules
from pipelines.transfer.networks import ENCODER, network
from tests.layers import hub_modules

TEXTS = ["a gripping film", "the story was dull the film was not", "", "film"]
NUM_CLASSES = 3


class Stub(tf.Module):
    """An encoder of strings: `outputs(length)` of the number of bytes, float32 [batch, 1]."""

    def __init__(self, outputs):
        super().__init__()
        self.outputs = outputs
        self.__call__ = tf.function(self._encode, input_signature=[tf.TensorSpec([None], tf.string)])

    def _encode(self, text):
        return self.outputs(tf.cast(tf.strings.length(text), tf.float32)[:, None])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("modules")
    hub_modules.save_bert(folder / "bert", dropout=0.5)
    hub_modules.save_preprocessor(folder / "preprocess")
    hub_modules.save_sentences(folder / "sentences")
    return folder


def build(folder, encoder, preprocessor=None, **values):
    """The network with random weights of the dense layer, and these weights."""
    config = TransferConfig(encoder=encoder, **values)
    model = network(config, Modules(folder / encoder, preprocessor and folder / preprocessor), NUM_CLASSES)
    head = model.get_layer("logits")
    weights = [np.random.default_rng(0).normal(size=weight.shape).astype(np.float32) for weight in head.weights]
    head.set_weights(weights)
    return model, weights


def assert_logits(model, weights, features):
    kernel, bias = weights
    logits = model(tf.constant(TEXTS), training=False).numpy()
    np.testing.assert_allclose(logits, features @ kernel + bias, atol=1e-4)
    assert logits.shape == (len(TEXTS), NUM_CLASSES) and np.ptp(logits, axis=0).min() > 0.1


def bert_outputs(folder):
    """The encoder's outputs and the mask float [batch, tokens, 1], without the network."""
    inputs = tf.saved_model.load(str(folder / "preprocess"))(tf.constant(TEXTS))
    outputs = tf.saved_model.load(str(folder / "bert"))(inputs, training=False)
    return outputs, inputs["input_mask"].numpy()[..., None].astype(np.float32)


def test_the_logits_are_a_dense_layer_on_the_features_of_the_encoder(folder):
    model, weights = build(folder, "sentences")
    assert_logits(model, weights, tf.saved_model.load(str(folder / "sentences"))(tf.constant(TEXTS)).numpy())


def test_the_features_of_bert_are_its_pooled_output(folder):
    model, weights = build(folder, "bert", "preprocess")
    assert_logits(model, weights, bert_outputs(folder)[0]["pooled_output"].numpy())


def test_vectors_per_token_are_averaged_without_padding(folder):
    model, weights = build(folder, "bert", "preprocess", output_key="sequence_output")
    outputs, mask = bert_outputs(folder)
    assert 0 < mask.mean() < 1
    assert_logits(model, weights, (outputs["sequence_output"].numpy() * mask).sum(axis=1) / mask.sum(axis=1))


@pytest.mark.parametrize("drop_layers", [1, hub_modules.DEPTH - 1])
def test_without_the_top_layers_the_features_are_the_mean_of_the_layer_below(folder, drop_layers):
    model, weights = build(folder, "bert", "preprocess", drop_layers=drop_layers)
    outputs, mask = bert_outputs(folder)
    layer = outputs["encoder_outputs"][hub_modules.DEPTH - 1 - drop_layers].numpy()
    assert_logits(model, weights, (layer * mask).sum(axis=1) / mask.sum(axis=1))


def test_a_mask_among_the_outputs_chooses_the_tokens_of_the_mean(tmp_path):
    def outputs(length):  # three tokens; the second one is padding
        sequence = tf.stack([length, length * 100, length + 2], axis=1)  # [batch, 3, 1]
        return {"sequence_output": sequence, "mask": tf.ones_like(sequence[..., 0], tf.int32) * [1, 0, 1]}

    tf.saved_model.save(Stub(outputs), str(tmp_path / "masked"))
    model, weights = build(tmp_path, "masked")
    assert_logits(model, weights, np.array([[len(text) + 1.0] for text in TEXTS]))


def test_hidden_layers_of_the_head(folder):
    model, weights = build(folder, "sentences", head_layers=2, head_size=5)
    features = tf.saved_model.load(str(folder / "sentences"))(tf.constant(TEXTS)).numpy()
    for i in (1, 2):
        layer = model.get_layer(f"hidden_{i}")
        assert layer.units == 5
        layer.set_weights([layer.kernel.numpy(), np.full(5, 0.5, np.float32)])  # so that few units are 0
        features = np.maximum(features @ layer.kernel.numpy() + layer.bias.numpy(), 0)
    assert_logits(model, weights, features)


def test_dropout_is_only_active_in_training(folder):
    model, _ = build(folder, "sentences", dropout=0.5)
    text = tf.constant(TEXTS)
    outputs = [model(text, training=training).numpy() for training in (False, False, True, True)]
    np.testing.assert_array_equal(outputs[0], outputs[1])
    assert not np.allclose(outputs[0], outputs[2]) and not np.allclose(outputs[2], outputs[3])


def test_a_new_network_trains_only_the_head(folder):
    model, _ = build(folder, "sentences")
    assert [weight.path for weight in model.trainable_weights] == ["logits/kernel", "logits/bias"]
    assert len(model.get_layer(ENCODER).weights) == 1


@pytest.mark.parametrize(
    ("encoder", "values", "message"),
    [
        ("sentences", {"drop_layers": 1}, "^sentences has only one output: leave out --drop-layers"),
        ("sentences", {"output_key": "x"}, "^sentences has only one output: leave out --output-key"),
        ("bert", {"drop_layers": hub_modules.DEPTH}, "^bert: --drop-layers 3: at most 2 layers can be left out"),
        ("bert", {"output_key": "x"}, "^bert has no output 'x' with features, only pooled_output, sequence_output:"),
        ("preprocess", {}, "^preprocess is no encoder: its outputs .*input_mask.* are no features"),
    ],
)
def test_an_output_that_the_encoder_does_not_have_is_an_error(folder, encoder, values, message):
    with pytest.raises(ValueError, match=message):
        build(folder, encoder, "preprocess" if encoder == "bert" else None, **values)


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        (lambda length: length[:, 0], r"its output has the shape .*not \[batch, features\]"),
        (lambda length: {"vector": length}, "no output with a usual name, only vector: choose one with --output-key"),
        (
            lambda length: {"sequence_output": length, "encoder_outputs": length},
            "has no output encoder_outputs, a list: leave out --drop-layers",
        ),
    ],
    ids=["numbers", "unusual name", "one layer"],
)
def test_unusual_outputs_are_an_error_with_a_remedy(tmp_path, outputs, message):
    tf.saved_model.save(Stub(outputs), str(tmp_path / "stub"))
    values = {"drop_layers": 1} if "drop-layers" in message else {}
    with pytest.raises(ValueError, match=message):
        build(tmp_path, "stub", **values)


def test_an_unusual_output_can_be_chosen_by_its_name(tmp_path):
    tf.saved_model.save(Stub(lambda length: {"vector": length, "other": -length}), str(tmp_path / "stub"))
    model, weights = build(tmp_path, "stub", output_key="vector")
    assert_logits(model, weights, np.array([[float(len(text))] for text in TEXTS]))


def test_an_only_output_of_vectors_per_token_is_averaged(tmp_path):
    tf.saved_model.save(Stub(lambda length: tf.stack([length, 3 * length], axis=1)), str(tmp_path / "stub"))
    model, (kernel, bias) = build(tmp_path, "stub")
    mean_vectors = np.array([[2 * len(text)] for text in TEXTS], np.float32)  # of the vectors [n] and [3 n]
    np.testing.assert_allclose(model(tf.constant(TEXTS)), mean_vectors @ kernel + bias, rtol=1e-5)
