"""The checkpoint of several workers is that of one: their number may change."""

import keras
import numpy as np
import pytest

from pipelines.data.part import Part
from pipelines.support.errors import UserError
from pipelines.training.checkpoints import Position
from pipelines.training.group import Group
from pipelines.training.state import State


class Worker:
    """One of `count` workers; the chief's arrays are in `sent`, in the order of the calls."""

    def __init__(self, part, streams, sent):
        self.part, self.is_chief, self._streams, self._sent = part, part.index == 0, streams, sent

    def exchange(self, value):
        return self._streams

    def array_from_chief(self, array):
        if self.is_chief:
            self._sent.append(array)
            return array
        return self._sent.pop(0)

    def from_chief(self, value):
        return self.array_from_chief(value)


def make_model(streams):
    keras.utils.set_random_seed(streams)  # other weights for each
    ids = keras.Input((4,), batch_size=streams, dtype="int32")
    x = keras.layers.Dropout(0.5)(keras.layers.Embedding(9, 3)(ids))
    x = keras.layers.LSTM(2, stateful=True, return_sequences=True)(x)
    model = keras.Model(ids, keras.layers.Dense(9)(x))
    model.compile("adam", "sparse_categorical_crossentropy")
    model.optimizer.build(model.trainable_variables)
    ids = np.arange(4 * streams).reshape(streams, 4) % 9
    model.train_on_batch(ids, ids)
    return model


def carried(model):
    return [state.numpy() for state in model.layers[3].states]


def saved_by_one(path):
    model = make_model(5)
    State(model, Group(Part())).save(path, Position(epoch=1, step=7))
    return model


def test_of_a_finished_training_the_position_alone_is_kept(tmp_path):
    model, path = make_model(5), tmp_path / "last.npz"
    State(model, Group(Part())).save(path, Position(epoch=2, best_epoch=1, finished=True))
    assert path.stat().st_size < 1000
    before = [variable.numpy() for variable in model.variables]
    position = State(model, Group(Part())).restore(path)
    assert (position.epoch, position.best_epoch, position.finished) == (2, 1, True)
    for variable, value in zip(model.variables, before, strict=True):
        np.testing.assert_array_equal(variable.numpy(), value)


def test_one_worker_restores_what_it_saved(tmp_path):
    saved = saved_by_one(tmp_path / "last.npz")
    model = make_model(5)
    for state in model.layers[3].states:
        state.assign(state * 0)
    state = State(model, Group(Part()))
    position = state.share(state.restore(tmp_path / "last.npz"))
    assert (position.epoch, position.step) == (1, 7)
    for found, expected in zip(carried(model), carried(saved)):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.long
def test_two_workers_continue_the_checkpoint_of_one(tmp_path):
    saved, sent = saved_by_one(tmp_path / "last.npz"), []
    chief, other = make_model(2), make_model(3)
    state = State(chief, Worker(Part(0, 2), [2, 3], sent))
    state.share(state.restore(tmp_path / "last.npz"))
    position = State(other, Worker(Part(1, 2), [2, 3], sent)).share(None)
    assert (position.epoch, position.step) == (1, 7)
    for first, second, expected in zip(carried(chief), carried(other), carried(saved)):
        np.testing.assert_array_equal(np.concatenate([first, second]), expected)
    for model in (chief, other):
        for found, expected in zip(model.trainable_variables, saved.trainable_variables):
            np.testing.assert_array_equal(found.numpy(), expected.numpy())
        assert int(model.optimizer.iterations) == int(saved.optimizer.iterations)
    seeds = [model.layers[2].seed_generator.state.numpy() for model in (saved, chief, other)]
    assert seeds[0].tolist() == seeds[1].tolist()
    assert seeds[0][0] != seeds[2][0] and seeds[0][1] == seeds[2][1]  # other dropout, at the same position


@pytest.mark.long
def test_a_checkpoint_of_another_number_of_streams_is_refused(tmp_path):
    saved_by_one(tmp_path / "last.npz")
    with pytest.raises(UserError, match="belongs to another model"):
        State(make_model(4), Group(Part())).restore(tmp_path / "last.npz")
