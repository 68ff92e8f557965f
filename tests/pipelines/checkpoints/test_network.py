import json
import shutil

import keras
import numpy as np
import pytest

from layers.hub import HubEncoder
from pipelines.checkpoints.network import AddedBias, load
from pipelines.networks.traced import is_traceable, traced
from pipelines.support.errors import UserError
from tests.pipelines.checkpoints.conftest import KINDS
from tests.pipelines.pretrained.checkpoints import minilm

pytestmark = pytest.mark.slow  # transformers takes seconds to import
LENGTHS = (7, 3, 1)


def make_ids(pad, lengths=LENGTHS, vocabulary=40):
    rng = np.random.default_rng(0)
    ids = np.full((len(lengths), max(lengths)), pad, np.int32)
    for row, length in zip(ids, lengths):
        row[:length] = rng.integers(4, vocabulary, length)
    return ids


def transformers_outputs(model, ids, pad):
    import torch

    with torch.no_grad():
        inputs = torch.tensor(ids.astype(np.int64))
        outputs = model(input_ids=inputs, attention_mask=(inputs != pad).long(), output_hidden_states=True)
    return [state.numpy() for state in outputs.hidden_states], outputs[0].numpy()


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_outputs_and_logits_are_those_of_transformers(make_checkpoint, kind):
    folder, model = make_checkpoint(kind)

    checkpoint = load(folder)

    ids = make_ids(checkpoint.pad)
    states, logits = transformers_outputs(model, ids, checkpoint.pad)
    mask = ids != checkpoint.pad
    outputs = checkpoint.network(ids)
    assert len(outputs["encoder_outputs"]) == 2
    for ours, theirs in zip(outputs["encoder_outputs"], states[1:]):
        np.testing.assert_allclose(np.asarray(ours)[mask], theirs[mask], atol=1e-5)
    np.testing.assert_array_equal(outputs["sequence_output"], outputs["encoder_outputs"][-1])
    np.testing.assert_array_equal(outputs["mask"], mask)
    expected = np.stack([state[:n].mean(axis=0) for state, n in zip(states[-1], LENGTHS)])
    np.testing.assert_allclose(outputs["pooled_output"], expected, atol=1e-5)

    positions = np.array([[0, 5, 6], [2, 0, 1], [0, 0, 0]], np.int32)
    ours = checkpoint.masked({"ids": ids, "positions": positions})
    np.testing.assert_allclose(ours, np.take_along_axis(logits, positions[..., None], axis=1), atol=1e-5)
    assert checkpoint.vocabulary_size == 40
    assert checkpoint.model_type == kind.removesuffix("-one-size")


@pytest.mark.long
@pytest.mark.parametrize("kind", ["bert", "xlm-roberta"])
def test_padding_changes_nothing(make_checkpoint, kind):
    checkpoint = load(make_checkpoint(kind, with_head=False)[0])
    ids = make_ids(checkpoint.pad)

    padded = np.pad(ids, [(0, 0), (0, 5)], constant_values=checkpoint.pad)
    alone = checkpoint.network(ids[1:2, :3])

    for batch in (ids, padded):
        outputs = checkpoint.network(batch)
        np.testing.assert_allclose(outputs["sequence_output"][1, :3], alone["sequence_output"][0], atol=1e-6)
        np.testing.assert_allclose(outputs["pooled_output"][1], alone["pooled_output"][0], atol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_halves_are_read_exactly(make_checkpoint, dtype):
    folder, model = make_checkpoint(with_head=False, dtype=dtype)
    checkpoint = load(folder)
    ids = make_ids(0)

    states, _ = transformers_outputs(model, ids, 0)

    ours = np.asarray(checkpoint.network(ids)["sequence_output"])
    np.testing.assert_allclose(ours[ids != 0], states[-1][ids != 0], atol=1e-5)
    assert checkpoint.masked is None


def test_relu_and_a_decoder_of_its_own(make_checkpoint):
    folder, model = make_checkpoint(hidden_act="relu", tie_word_embeddings=False)
    checkpoint = load(folder)
    ids = make_ids(0)

    _, logits = transformers_outputs(model, ids, 0)

    positions = np.tile(np.arange(3, dtype=np.int32), (3, 1))
    ours = np.asarray(checkpoint.masked({"ids": ids, "positions": positions}))
    np.testing.assert_allclose(ours[:2], logits[:2, :3], atol=1e-5)


def test_layers_are_traceable_and_grouped(bert):
    checkpoint = load(bert)
    reading = checkpoint.network.get_layer("layers")
    ids = make_ids(0)

    values = traced(reading)(ids)

    assert is_traceable(reading)
    assert values["layer_2_attention"].shape == (3, 4, 7, 7)
    np.testing.assert_allclose(np.sum(values["layer_1_attention"], axis=-1), 1, atol=1e-6)
    np.testing.assert_allclose(values["output"][-1], checkpoint.network(ids)["sequence_output"], atol=1e-6)
    groups = [HubEncoder._group(type("", (), {"group_patterns": None}), v.path)[1] for v in reading.variables]
    assert list(dict.fromkeys(groups)) == ["embeddings", "layer_1", "layer_2"]
    embedding = next(layer for layer in reading.layers if isinstance(layer, keras.layers.Embedding))
    assert embedding.name == "token_embeddings"


def test_there_is_no_random_operation(bert):
    network = load(bert).network
    ids = make_ids(0)

    np.testing.assert_array_equal(
        network(ids, training=True)["pooled_output"], network(ids, training=True)["pooled_output"]
    )


def test_max_tokens(bert, make_checkpoint, tmp_path):
    assert load(bert).max_tokens == 20
    assert load(make_checkpoint("xlm-roberta")[0]).max_tokens == 18
    shutil.copytree(bert, tmp_path, dirs_exist_ok=True)
    for length, expected in ((8, 8), (512, 20), (None, 20)):
        (tmp_path / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": length}))
        assert load(tmp_path).max_tokens == expected
    (tmp_path / "sentence_bert_config.json").write_text('{"max_seq_length": "8"}')
    with pytest.raises(UserError, match=r'sentence_bert_config.json: max_seq_length is "8"'):
        load(tmp_path)


def test_added_bias():
    layer = AddedBias()
    layer.build((None, 2))
    layer.bias.assign([1.0, 2.0])

    np.testing.assert_array_equal(layer(np.ones((1, 3, 2), np.float32)), [[[2.0, 3.0]] * 3])


@pytest.mark.long
def test_minilm_is_that_of_sentence_transformers():
    folder, reference = minilm()
    checkpoint = load(folder)
    rows = np.split(reference["ids"], reference["offsets"][1:-1])
    ids = np.zeros((len(rows), max(map(len, rows))), np.int32)
    for row, tokens in zip(ids, rows):
        row[: len(tokens)] = tokens

    ours = checkpoint.network.predict(ids, verbose=0)["pooled_output"]

    np.testing.assert_allclose(ours, reference["vectors"], atol=1e-5)
    assert checkpoint.max_tokens == 256
