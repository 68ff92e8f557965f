"""A checkpoint that transformers writes, as a SavedModel: strings in, the vectors of transformers out."""

import json

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from layers.hub import HubEncoder
from pipelines.pretrained import checkpoint, handles
from pipelines.support.errors import UserError
from tests.pipelines.pretrained.checkpoints import TEXTS, minilm, minilm_texts, write_bert

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_bert(tmp_path_factory.mktemp("checkpoint"))


@pytest.fixture(scope="module")
def exported(folder, tmp_path_factory):
    return checkpoint.export(folder, "hf://org/tiny", tmp_path_factory.mktemp("saved"), "tiny")


def reference(folder):
    """Mean over the tokens of the last layer, and the probabilities of the blank, by transformers."""
    import torch
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForMaskedLM.from_pretrained(folder).eval()
    with torch.inference_mode():
        batch = tokenizer(TEXTS, return_tensors="pt", padding=True)
        states = model(**batch, output_hidden_states=True).hidden_states[-1]
        mask = batch["attention_mask"][..., None]
        means = ((states * mask).sum(1) / mask.sum(1)).numpy()
        blank = tokenizer("the cat [MASK] .", return_tensors="pt")
        place = blank["input_ids"][0].tolist().index(tokenizer.mask_token_id)
        logits = model(**blank).logits[0, place].numpy()
    return means, logits, tokenizer


def test_the_export_has_the_vectors_and_the_blanks_of_transformers(folder, exported):
    means, logits, tokenizer = reference(folder)
    loaded = tf.saved_model.load(str(exported.path))
    found = loaded.signatures["serving_default"](text=tf.constant(TEXTS))["embedding"]
    np.testing.assert_allclose(found, means, atol=1e-5)
    answer = loaded.signatures["fill"](text=tf.constant(["the cat [MASK] ."]))
    logits[tokenizer.all_special_ids] = -np.inf
    expected = tokenizer.convert_ids_to_tokens(np.argsort(-logits)[:3].tolist())
    assert [token.decode() for token in answer["tokens"].numpy()[0][:3]] == expected
    trace = loaded.signatures["trace"](text=tf.constant(TEXTS[:1]))
    assert trace["layer_2_attention"].shape[1:2] == [2]
    card = exported.card()
    assert card["task"] == "encoder" and card["checkpoint"] == "hf://org/tiny" and card["size"] == 8


def test_tf_hub_reads_the_export_and_can_train_it(exported):
    layer = HubEncoder(str(exported.path), trainable=True)
    assert list(layer.groups()) == ["embeddings", "layer_1", "layer_2"]
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(tf.constant(TEXTS))["pooled_output"] ** 2)
    gradients = tape.gradient(loss, layer.trainable_weights)
    assert all(gradient is not None for gradient in gradients)


def test_the_export_has_the_tokenizer_and_the_network_once(exported):
    saved = saved_model_pb2.SavedModel()
    saved.ParseFromString((exported.path / "saved_model.pb").read_bytes())
    nodes = [node for function in saved.meta_graphs[0].graph_def.library.function for node in function.node_def]
    # The signature trace has its own: it returns the tokens, and all layers' attention weights.
    assert sum(node.op.startswith("FastWordpiece") for node in nodes) == 2
    # The signature fill has the head and the network below it.
    assert sum(node.op == "Softmax" for node in nodes) == 3 * 2 + 1


def test_a_folder_of_a_checkpoint_is_a_handle(folder):
    module = handles.module_folder(str(folder))
    assert (module / "saved_model.pb").is_file()
    assert handles.module_folder(str(folder)) == module, "it is converted once"


def test_texts_are_cut_at_their_end(folder):
    encoder = checkpoint.load(folder, max_tokens=4)
    long, short = (encoder.embed(tf.constant([text]))["embedding"] for text in ("the cat sat on the mat", "the cat"))
    np.testing.assert_allclose(long, short, atol=1e-6)
    with pytest.raises(UserError, match="--max-tokens 99: .* reads 32 at most"):
        checkpoint.load(folder, max_tokens=99)


def test_a_tokenizer_of_another_checkpoint_is_refused(tmp_path):
    folder = write_bert(tmp_path)
    path = folder / "tokenizer.json"
    described = json.loads(path.read_text())
    described["model"]["vocab"]["zebra"] = len(described["model"]["vocab"])
    path.write_text(json.dumps(described))
    with pytest.raises(UserError, match="its tokenizer has .* tokens and its network"):
        checkpoint.load(folder)


def test_minilm_has_the_vectors_of_sentence_transformers(imdb_file):
    folder, reference = minilm()
    found = checkpoint.load(folder).embed(tf.constant(minilm_texts(reference, imdb_file)))["embedding"]
    np.testing.assert_allclose(found, reference["vectors"], atol=1e-5)
