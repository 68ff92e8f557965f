import json

import keras
import numpy as np
import pytest

from pipelines.checkpoints.pooling import Pooling, pooled, read_pooling, transformer_folder
from pipelines.support.errors import UserError

save_file = pytest.importorskip("safetensors.numpy").save_file
KIND = "sentence_transformers.models."
OLD = {f"pooling_mode_{mode}": False for mode in ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens")}


def write(folder, settings, *kinds, first="Transformer"):
    """Writes modules.json with a pooling and what follows it, and the settings of the pooling."""
    names = [first, "Pooling", *kinds]
    modules = [{"path": f"{i}_{kind}" if i else "", "type": KIND + kind} for i, kind in enumerate(names)]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir(exist_ok=True)
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(settings))


def write_dense(folder, activation="torch.nn.modules.activation.Tanh", inputs=3, **more):
    rng = np.random.default_rng(1)
    weights = {"linear.weight": rng.normal(size=(2, inputs)), "linear.bias": rng.normal(size=2), **more}
    (folder / "2_Dense").mkdir(exist_ok=True)
    (folder / "2_Dense" / "config.json").write_text(json.dumps({"activation_function": activation}))
    weights = {name: value.astype(np.float32) for name, value in weights.items()}
    save_file(weights, folder / "2_Dense" / "model.safetensors")
    return weights["linear.weight"], weights["linear.bias"]


def compute(pooling, sequence, mask):
    inputs = keras.Input((None, sequence.shape[-1])), keras.Input((None,), dtype="bool")
    return np.asarray(keras.Model(inputs, pooled(pooling, *inputs))([sequence, mask]))


SEQUENCE = np.random.default_rng(0).normal(size=(2, 4, 3)).astype(np.float32)
MASK = np.array([[True, True, True, True], [True, True, False, False]])
MEAN = np.stack([SEQUENCE[0].mean(axis=0), SEQUENCE[1, :2].mean(axis=0)])
MAX = np.stack([SEQUENCE[0].max(axis=0), SEQUENCE[1, :2].max(axis=0)])
CLS = SEQUENCE[:, 0]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({**OLD, "pooling_mode_mean_tokens": True}, MEAN),
        ({**OLD, "pooling_mode_cls_token": True}, CLS),
        ({**OLD, "pooling_mode_max_tokens": True}, MAX),
        ({**OLD, "pooling_mode_mean_tokens": True, "pooling_mode_cls_token": True}, np.concatenate([CLS, MEAN], -1)),
        ({"embedding_dimension": 3, "pooling_mode": "mean", "include_prompt": True}, MEAN),
        ({"pooling_mode": "cls"}, CLS),
        ({"pooling_mode": ["max"]}, MAX),
    ],
)
def test_ways_of_pooling(tmp_path, settings, expected):
    write(tmp_path, settings)
    np.testing.assert_allclose(compute(read_pooling(tmp_path, 3), SEQUENCE, MASK), expected, atol=1e-6)
    (tmp_path / "modules.json").unlink()
    np.testing.assert_allclose(compute(read_pooling(tmp_path, 3), SEQUENCE, MASK), expected, atol=1e-6)


def test_the_mean_without_files(tmp_path):
    assert read_pooling(tmp_path, 3) == Pooling(("mean",), ())


def test_normalization(tmp_path):
    write(tmp_path, {"pooling_mode": "mean"}, "Dropout", "Normalize")

    vectors = compute(read_pooling(tmp_path, 3), SEQUENCE, MASK)

    np.testing.assert_allclose(vectors, MEAN / np.linalg.norm(MEAN, axis=-1, keepdims=True), atol=1e-6)


@pytest.mark.parametrize(("activation", "function"), [("Tanh", np.tanh), ("Identity", lambda x: x)])
def test_dense_modules(tmp_path, activation, function):
    write(tmp_path, {"pooling_mode": "mean"}, "Dense", "Normalize")
    weight, bias = write_dense(tmp_path, f"torch.nn.modules.{activation}")

    vectors = compute(read_pooling(tmp_path, 3), SEQUENCE, MASK)

    expected = function(MEAN @ weight.T + bias)
    np.testing.assert_allclose(vectors, expected / np.linalg.norm(expected, axis=-1, keepdims=True), atol=1e-6)


def test_dense_modules_that_do_not_fit(tmp_path):
    write(tmp_path, {"pooling_mode": "mean"}, "Dense")
    for options, message in (
        ({"activation": "torch.nn.modules.activation.Hardswish"}, "the activation Hardswish is not supported"),
        ({"inputs": 4}, r"linear.weight is \[2, 4\] for vectors of 3"),
        ({"scale": np.ones(2)}, "has other weights than linear.weight and linear.bias"),
    ):
        write_dense(tmp_path, **options)
        with pytest.raises(UserError, match=message):
            read_pooling(tmp_path, 3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({**OLD, "pooling_mode_mean_sqrt_len_tokens": True}, "pooling mean_sqrt_len_tokens is not supported, only cls"),
        ({"pooling_mode": "lasttoken"}, "pooling lasttoken is not supported, only cls, max, mean are"),
        (OLD, "names no way of pooling"),
        ({"pooling_mode": 3}, "pooling_mode is 3, it must be a name"),
        ([], "is not a JSON object"),
    ],
)
def test_poolings_that_are_refused(tmp_path, settings, message):
    write(tmp_path, settings)
    with pytest.raises(UserError, match=message) as error:
        read_pooling(tmp_path, 3)
    assert str(tmp_path / "1_Pooling" / "config.json") in str(error.value)


@pytest.mark.parametrize("kind", ["LayerNorm", "LSTM", "Pooling"])
def test_modules_that_are_refused(tmp_path, kind):
    write(tmp_path, {"pooling_mode": "mean"}, kind)
    with pytest.raises(UserError, match=f"modules.json: module 2 is {kind}, which is not supported there"):
        read_pooling(tmp_path, 3)


def test_first_modules_in_a_folder(tmp_path):
    assert transformer_folder(tmp_path) == tmp_path
    modules = tmp_path / "modules.json"
    modules.write_text(json.dumps([{"path": "0_BERT", "type": KIND + "BERT"}]))
    assert transformer_folder(tmp_path) == tmp_path / "0_BERT"
    modules.write_text(json.dumps([{"path": "../other", "type": KIND + "BERT"}]))
    with pytest.raises(UserError, match=r"modules.json: the path '../other' is no folder in"):
        transformer_folder(tmp_path)
