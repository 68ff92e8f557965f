import zipfile

import keras
import numpy as np
import pytest
import tensorflow as tf

from pipelines.support.errors import UserError
from pipelines.training import checkpoints
from pipelines.training.checkpoints import Position
from tests.damage import damaged_copies


def variable(*values):
    return keras.Variable(np.array(values, "float32"))


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "run" / "checkpoints" / "last.npz"
    path.parent.mkdir(parents=True)
    return path


def test_variables_and_position_are_restored(path):
    position = Position(2, 5, 0.25, 1, False, 12.5, [{"epoch": 1, "loss": 0.1}, {"epoch": 2, "loss": 0.3}], [6.0, 6.5])
    saved = [variable(1, 2), keras.Variable(7, dtype="int64", trainable=False), variable(float("nan"))]
    checkpoints.save(path, saved, position)
    restored = [variable(0, 0), keras.Variable(0, dtype="int64", trainable=False), variable(0)]
    assert checkpoints.restore(path, restored) == position
    for one, other in zip(restored, saved, strict=True):
        assert one.numpy().tobytes() == other.numpy().tobytes()


def test_more_than_ten_variables_keep_their_order(path):
    checkpoints.save(path, [variable(i) for i in range(120)], Position())
    restored = [variable(0) for _ in range(120)]
    checkpoints.restore(path, restored)
    assert [float(each.numpy()[0]) for each in restored] == list(range(120))


def test_a_checkpoint_that_is_written_half_leaves_the_old_one(path, monkeypatch):
    checkpoints.save(path, [variable(1)], Position(epoch=1))

    def write_half(file, **arrays):
        file.write(b"half")
        raise OSError("no space")

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints.np, "savez", write_half)
        with pytest.raises(OSError, match="no space"):
            checkpoints.save(path, [variable(2)], Position(epoch=2))
    restored = [variable(0)]
    assert checkpoints.restore(path, restored).epoch == 1 and restored[0].numpy() == [1]
    assert [file.name for file in path.parent.iterdir()] == ["last.npz"]


def test_state_variables_include_seeds_metrics_optimizer_and_carried_states():
    inputs = keras.Input((3, 2), batch_size=4)
    x = keras.layers.LSTM(5, stateful=True, dropout=0.5)(inputs)
    model = keras.Model(inputs, keras.layers.Dense(1)(keras.layers.Dropout(0.5)(x)))
    model.compile("adam", "mse", metrics=["mae"])
    model.fit(tf.zeros([4, 3, 2]), tf.zeros([4, 1]), verbose=0)
    names = [each.path for each in checkpoints.state_variables(model)]
    assert len(names) == len({id(each) for each in checkpoints.state_variables(model)})
    assert sum("seed_generator" in name for name in names) == 2
    assert any("adam" in name and "velocity" in name for name in names)
    assert set(map(id, model.metrics_variables)) <= set(map(id, checkpoints.state_variables(model)))
    states = model.layers[1].states
    assert len(states) == 2 and set(map(id, states)) <= set(map(id, checkpoints.state_variables(model)))


def test_every_damage_of_a_checkpoint_is_reported(path):
    checkpoints.save(path, [variable(1, 2), variable(3)], Position())
    for content in damaged_copies(path.read_bytes()):
        path.write_bytes(content)
        with pytest.raises(UserError, match="last.npz is damaged: delete the run's folder .*run to train from scratch"):
            checkpoints.restore(path, [variable(0, 0), variable(0)])


def test_a_checkpoint_is_a_zip_file_with_a_comment(path):
    checkpoints.save(path, [variable(1, 2)], Position())
    with zipfile.ZipFile(path) as file:
        assert file.testzip() is None and len(file.comment) == 64
    with np.load(path) as saved:
        assert saved["v00000"].tolist() == [1, 2]


@pytest.mark.parametrize("content", [b"nonsense", b""])
def test_a_damaged_checkpoint_is_reported(path, content):
    path.write_bytes(content)
    with pytest.raises(UserError, match="is damaged: delete the run's folder .*run to train from scratch"):
        checkpoints.restore(path, [])


def test_a_checkpoint_that_is_cut_off_is_reported(path):
    checkpoints.save(path, [variable(*range(1000))], Position())
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(UserError, match="is damaged"):
        checkpoints.restore(path, [variable(*range(1000))])


@pytest.mark.parametrize("others", [[[0, 0, 0, 0]], [[0, 0, 0], [0]], []])
def test_a_checkpoint_of_another_model_is_reported(path, others):
    checkpoints.save(path, [variable(0, 0, 0)], Position())
    with pytest.raises(UserError, match="belongs to another model: delete the run's folder .*run"):
        checkpoints.restore(path, [variable(*values) for values in others])


def test_a_missing_file_is_one_line_with_the_remedy(path):
    with pytest.raises(
        UserError, match=r"last.npz is missing: .*: delete the run's folder .*/run to train from scratch"
    ):
        checkpoints.restore(path, [variable(1)])
