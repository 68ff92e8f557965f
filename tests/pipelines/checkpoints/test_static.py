import json

import numpy as np
import pytest

from pipelines.checkpoints.network import load
from pipelines.checkpoints.static import is_static
from pipelines.support.errors import UserError

save_file = pytest.importorskip("safetensors.numpy").save_file
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b", "c", "d"]
IDS = np.array([[2, 4, 5, 1, 6, 3], [2, 7, 3, 0, 0, 0], [2, 1, 3, 0, 0, 0]], np.int32)
TEXTS = ["a b zzz c", "d", "zzz"]


def write(folder, vectors, config, names=VOCABULARY, **tensors):
    special = [{"id": i, "content": n, "special": True} for i, n in enumerate(names) if n[0] == "["]
    fields = ("single_word", "lstrip", "rstrip", "normalized")
    special = [{**token, **dict.fromkeys(fields, False)} for token in special]
    model = {"type": "WordLevel", "vocab": {n: i for i, n in enumerate(names)}, "unk_token": "[UNK]"}
    settings = {"version": "1.0", "added_tokens": special, "pre_tokenizer": {"type": "Whitespace"}, "model": model}
    (folder / "tokenizer.json").write_text(json.dumps(settings))
    (folder / "config.json").write_text(json.dumps({"model_type": "model2vec", **config}))
    save_file({"embeddings": vectors, **tensors}, folder / "model.safetensors")


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("is_quantized", [False, True])
def test_vectors_are_those_of_model2vec(tmp_path, normalize, is_quantized):
    model2vec = pytest.importorskip("model2vec")
    rng = np.random.default_rng(0)
    more = {"mapping": np.array([0, 1, 1, 1, 2, 3, 2, 4]), "weights": rng.random(8).astype(np.float32)}
    vectors = rng.normal(size=(5 if is_quantized else 8, 3)).astype(np.float32)
    write(tmp_path, vectors, {"normalize": normalize}, **(more if is_quantized else {}))

    checkpoint = load(tmp_path)

    expected = model2vec.StaticModel.from_pretrained(tmp_path).encode(TEXTS)
    np.testing.assert_allclose(checkpoint.network(IDS)["pooled_output"], expected, atol=1e-5)
    np.testing.assert_array_equal(checkpoint.network(IDS)["mask"], IDS != 0)
    assert checkpoint.network(IDS)["sequence_output"].shape == (3, 6, 3)
    assert (checkpoint.masked, checkpoint.max_tokens, checkpoint.vocabulary_size, checkpoint.pad) == (None, 512, 8, 0)


@pytest.mark.parametrize(
    ("tensors", "config", "message"),
    [
        ({"mapping": np.array([0, 8])}, {}, "the mapping names rows that the embeddings do not have"),
        ({"weights": np.ones(3, np.float32)}, {}, r"8 ids have weights of shape \[3\]"),
        ({"bias": np.ones(3, np.float32)}, {}, "has bias, which static embeddings do not have"),
        ({"embeddings": np.ones(3, np.float32)}, {}, "has no matrix of embeddings"),
        ({}, {"max_length": 0}, "max_length is 0, it must be a whole number of 1 or more"),
        ({}, {"max_length": "x"}, "max_length is 'x'"),
    ],
)
def test_refusals(tmp_path, tensors, config, message):
    write(tmp_path, tensors.pop("embeddings", np.ones((8, 3), np.float32)), config, **tensors)
    with pytest.raises(UserError, match=message):
        load(tmp_path)


def test_padding_needs_an_id(tmp_path):
    write(tmp_path, np.ones((2, 3), np.float32), {}, names=["a", "b"])
    with pytest.raises(UserError, match="tokenizer.json has neither a token for padding nor one for unknown words"):
        load(tmp_path)
    write(tmp_path, np.ones((2, 3), np.float32), {}, names=["a", "[UNK]"])
    assert load(tmp_path).pad == 1


def test_is_static():
    assert is_static({"model_type": "model2vec"})
    assert is_static({"model_type": "any", "architectures": ["StaticModel"]})
    assert not is_static({"model_type": "bert", "architectures": ["BertModel"]})
