import builtins
import json

import numpy as np
import pytest

from pipelines.checkpoints import files
from pipelines.support.errors import UserError

save_file = pytest.importorskip("safetensors.numpy").save_file


def write(folder, **tensors):
    save_file(tensors or {"a": np.arange(6, dtype=np.float32).reshape(2, 3)}, folder / "model.safetensors")


def test_config_is_a_json_object_with_a_model_type(tmp_path):
    with pytest.raises(UserError, match=r"has no config.json: give the folder of a checkpoint"):
        files.read_config(tmp_path)
    with pytest.raises(UserError, match=r"missing is no folder with a config.json"):
        files.read_config(tmp_path / "missing")
    path = tmp_path / "config.json"
    for text, message in (
        ('{"model_type": "bert"', "config.json is not valid JSON"),
        ("[" * 100_000, "config.json is not valid JSON"),
        ("[]", "config.json is not a JSON object"),
        ("{}", "config.json has no model_type"),
        ('{"model_type": 3}', "config.json has no model_type"),
    ):
        path.write_text(text)
        with pytest.raises(UserError, match=message) as error:
            files.read_config(tmp_path)
        assert "\n" not in str(error.value)
    path.write_bytes(b"\xff\xfe{")
    with pytest.raises(UserError, match="config.json is not valid JSON"):
        files.read_config(tmp_path)
    path.write_text('{"model_type": "bert"}')
    assert files.read_config(tmp_path) == {"model_type": "bert"}


def test_lists_of_objects(tmp_path):
    path = tmp_path / "modules.json"
    for text in ("{}", "[3]"):
        path.write_text(text)
        with pytest.raises(UserError, match="modules.json is not a list of JSON objects"):
            files.read_list(path)
    path.write_text('[{"path": ""}]')
    assert files.read_list(path) == [{"path": ""}]


def test_weights_of_one_file(tmp_path):
    write(tmp_path)

    tensors = files.weights_of(tmp_path)

    assert tensors == {"a": files.Tensor(tmp_path / "model.safetensors", "a", (2, 3), "F32")}
    np.testing.assert_array_equal(files.read_tensor(tensors["a"]), [[0, 1, 2], [3, 4, 5]])


def test_other_types_become_float32(tmp_path):
    import ml_dtypes

    values = np.array([0.5, -1.25, 3.0])
    types = {"double": np.float64, "half": np.float16, "brain": ml_dtypes.bfloat16}
    write(tmp_path, **{name: values.astype(dtype) for name, dtype in types.items()}, whole=np.array([1, 2]))

    tensors = files.weights_of(tmp_path)

    for name in types:
        found = files.read_tensor(tensors[name])
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, values)
    np.testing.assert_array_equal(files.read_tensor(tensors["whole"], is_integer=True), [1, 2])
    with pytest.raises(UserError, match="whole has values of type I64: weights must be float32"):
        files.read_tensor(tensors["whole"])
    with pytest.raises(UserError, match="half has values of type F16: integers are expected"):
        files.read_tensor(tensors["half"], is_integer=True)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_not_finite(tmp_path, bad):
    write(tmp_path, a=np.array([1, bad], np.float32))

    with pytest.raises(UserError, match="model.safetensors: a has values that are not finite"):
        files.read_tensor(files.weights_of(tmp_path)["a"])


def test_weights_in_parts(tmp_path):
    save_file({"a": np.zeros(2, np.float32)}, tmp_path / "one.safetensors")
    save_file({"b": np.ones(2, np.float32)}, tmp_path / "two.safetensors")
    index = tmp_path / "model.safetensors.index.json"

    def write_index(parts):
        index.write_text(json.dumps({"weight_map": parts}))

    write_index({"a": "one.safetensors", "b": "two.safetensors"})
    tensors = files.weights_of(tmp_path)
    assert sorted(tensors) == ["a", "b"]
    np.testing.assert_array_equal(files.read_tensor(tensors["b"]), [1, 1])

    for parts, message in (
        ({"a": "../one.safetensors"}, r"names '../one.safetensors', which is no file beside it"),
        ({"a": "three.safetensors"}, r"three.safetensors, which model.safetensors.index.json names, is missing"),
        ({"c": "one.safetensors"}, "one.safetensors has no c, which"),
        ({}, "has no weight_map"),
        ({"a": 3}, "has no weight_map"),
    ):
        write_index(parts)
        with pytest.raises(UserError, match=message):
            files.weights_of(tmp_path)


@pytest.mark.parametrize("length", [0, 4, 20, -3])
def test_truncated_weights(tmp_path, length):
    write(tmp_path)
    path = tmp_path / "model.safetensors"
    path.write_bytes(path.read_bytes()[:length])

    with pytest.raises(UserError, match=r"model.safetensors is damaged \(.*\): get the checkpoint again") as error:
        files.weights_of(tmp_path)
    assert "\n" not in str(error.value)


def test_pointers_of_git_lfs(tmp_path):
    (tmp_path / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")

    with pytest.raises(UserError, match="is a pointer of Git LFS, without the weights: `git lfs pull`"):
        files.weights_of(tmp_path)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "model.ckpt"])
def test_pickles_are_refused(tmp_path, name):
    (tmp_path / name).write_bytes(b"\x80\x02.")

    with pytest.raises(UserError, match=f"{name} is not read, because it is a pickle, which can run any program"):
        files.weights_of(tmp_path)


def test_other_weights_are_refused(tmp_path):
    with pytest.raises(UserError, match=r"has no model.safetensors: get the checkpoint again"):
        files.weights_of(tmp_path)
    (tmp_path / "tf_model.h5").write_bytes(b"")
    with pytest.raises(UserError, match=r"tf_model.h5 is not read, only model.safetensors is"):
        files.weights_of(tmp_path)


def test_without_safetensors(tmp_path, monkeypatch):
    write(tmp_path)
    importing = builtins.__import__

    def fail(name, *args, **kwargs):
        if name == "safetensors":
            raise ImportError(name)
        return importing(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", fail)
    with pytest.raises(
        UserError,
        match="needs the package safetensors, which is not installed: .pip install -r requirements-encoders.txt",
    ):
        files.weights_of(tmp_path)
