import json
import shutil

import numpy as np
import pytest

from pipelines.checkpoints.families import sizes_of
from pipelines.checkpoints.files import read_config, weights_of
from pipelines.checkpoints.network import load
from pipelines.checkpoints.weights import matched, position_table
from pipelines.support.errors import UserError

pytestmark = pytest.mark.slow  # transformers takes seconds to import
safetensors = pytest.importorskip("safetensors.numpy")


@pytest.fixture
def copy(bert, tmp_path):
    """Returns a function that writes the checkpoint with other tensors or settings and returns its folder."""
    shutil.copytree(bert, tmp_path, dirs_exist_ok=True)
    tensors = safetensors.load_file(tmp_path / "model.safetensors")

    def write(change=None, **settings):
        changed = dict(tensors)
        if change:
            change(changed)
        safetensors.save_file(changed, tmp_path / "model.safetensors")
        config = json.loads((bert / "config.json").read_text())
        (tmp_path / "config.json").write_text(json.dumps({**config, **settings}))
        return tmp_path

    return write


def match(folder):
    sizes = sizes_of(folder, read_config(folder))
    return *matched(folder, weights_of(folder), sizes), sizes


QUERY = "bert.encoder.layer.1.attention.self.query.weight"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (QUERY, None, "has no encoder.layer.1.attention.self.query.weight, which config.json promises"),
        (
            QUERY,
            np.zeros((16, 8), np.float32),
            r"query.weight has the shape \[16, 8\], but config.json says \[16, 16\]",
        ),
        ("bert.embeddings.LayerNorm.bias", None, "has no embeddings.LayerNorm.bias"),
        ("bert.encoder.relative_attention_bias.weight", np.zeros(2, np.float32), "which is no part of a bert"),
        ("bert.encoder.layer.2.output.dense.bias", np.zeros(16, np.float32), "has bert.encoder.layer.2.output.dense.b"),
        ("cls.predictions.transform.LayerNorm.weight", None, "has no cls.predictions.transform.LayerNorm.weight"),
        ("cls.predictions.bias", np.zeros(3, np.float32), r"has the shape \[3\], but config.json says \[40\]"),
    ],
)
def test_tensors_that_do_not_fit(copy, name, value, message):
    def change(tensors):
        tensors.pop(name, None)
        if value is not None:
            tensors[name] = value

    with pytest.raises(UserError, match=message) as error:
        match(copy(change))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hidden_size": 32}, r"has the shape \[40, 16\], but config.json says \[40, 32\]"),
        ({"vocab_size": 41}, r"has the shape \[40, 16\], but config.json says \[41, 16\]"),
        ({"num_hidden_layers": 3}, "has no encoder.layer.2."),
        ({"num_hidden_layers": 10**12}, "num_hidden_layers is 1,000,000,000,000, but the weights have fewer layers"),
        ({"num_hidden_layers": 1}, "which is no part of a bert"),
        ({"type_vocab_size": 3}, r"has the shape \[2, 16\], but config.json says \[3, 16\]"),
        ({"intermediate_size": 25}, r"config.json says \[25, 16\]"),
    ],
)
def test_a_config_that_does_not_fit(copy, settings, message):
    with pytest.raises(UserError, match=message):
        match(copy(**settings))


@pytest.mark.parametrize("name", [QUERY, "bert.embeddings.position_embeddings.weight", "cls.predictions.bias"])
def test_values_that_are_not_finite(copy, name):
    def change(tensors):
        tensors[name] = tensors[name].copy()
        tensors[name].flat[-1] = np.nan

    with pytest.raises(UserError, match=f"{name} has values that are not finite"):
        load(copy(change))


def test_heads_buffers_and_old_names_are_known(copy):
    def change(tensors):
        for name in list(tensors):
            if "LayerNorm" in name:
                old = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
                tensors[old] = tensors.pop(name)
        for name in ("bert.pooler.dense.weight", "classifier.bias", "qa_outputs.weight", "cls.seq_relationship.bias"):
            tensors[name] = np.zeros(2, np.float32)
        tensors["bert.embeddings.position_ids"] = np.arange(20)[None]

    network, head, _ = match(copy(change))

    assert network["block_1/attention_norm"]["bias"].name == "bert.encoder.layer.0.attention.output.LayerNorm.beta"
    assert set(head) == {"head_transform", "head_norm", "head_bias"}


def test_names_need_no_prefix_and_no_head(copy):
    def change(tensors):
        for name in list(tensors):
            value = tensors.pop(name)
            if name.startswith("bert."):
                tensors[name.removeprefix("bert.")] = value

    network, head, _ = match(copy(change))

    assert network["token_embeddings"]["weight"].name == "embeddings.word_embeddings.weight"
    assert head is None


def test_positions_have_the_type_of_all_tokens_in_them(copy):
    folder = copy()
    network, _, sizes = match(folder)
    tensors = safetensors.load_file(folder / "model.safetensors")

    expected = tensors["bert.embeddings.position_embeddings.weight"]
    expected = expected + tensors["bert.embeddings.token_type_embeddings.weight"][0]

    np.testing.assert_array_equal(position_table(network, sizes), expected)
