import keras
import numpy as np
import pytest
from keras import ops

from layers import HeadAndTail, MeanAfterTraining, RandomSpan, ReverseTokens, WordDropout


@pytest.mark.parametrize("size", [2, 5, 6, 30])
def test_head_and_tail_keep_both_ends(size):
    lengths = [1, 4, 5, 6, 7, 12]
    ids = np.zeros((6, 14), "int32")
    for row, length in zip(ids, lengths):
        row[:length] = np.arange(1, length + 1)
    got = ops.convert_to_numpy(HeadAndTail(size)(ids))
    assert got.shape == (6, min(14, size))
    for row, length in zip(got, lengths):
        everything = list(range(1, length + 1))
        kept = everything if length <= size else everything[: size // 2] + everything[length - (size - size // 2) :]
        assert row[row != 0].tolist() == kept
        assert (row[: len(kept)] != 0).all()


def test_head_and_tail_are_saved_with_dynamic_batch_and_time(survives_saving):
    ids = keras.Input((None,), dtype="int32")
    model = keras.Model([ids], HeadAndTail(4)(ids))
    assert model.output.shape == (None, None) and model.output.dtype == "int32"
    survives_saving(model, [np.arange(1, 15).reshape(2, 7).astype("int32")])
    assert model([np.ones((3, 2), "int32")]).shape == (3, 2)


def test_reversed_tokens_keep_their_padding_behind_them():
    ids = np.array([[1, 2, 3, 4, 5], [1, 2, 3, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 0]], "int32")
    expected = [[5, 4, 3, 2, 1], [3, 2, 1, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 0]]
    np.testing.assert_array_equal(ops.convert_to_numpy(ReverseTokens()(ids)), expected)


def test_reversed_tokens_are_saved_with_dynamic_batch_and_time(survives_saving):
    ids = keras.Input((None,), dtype="int32")
    survives_saving(keras.Model([ids], ReverseTokens()(ids)), [np.array([[4, 5, 0], [1, 2, 3]], "int32")])


def test_word_dropout_hides_the_share_it_says_and_no_padding():
    ids = np.full((50, 200), 7, "int32")
    ids[:, 150:] = 0
    layer = WordDropout(0.2, unknown=1, seed=3)
    np.testing.assert_array_equal(ops.convert_to_numpy(layer(ids)), ids)
    hidden = ops.convert_to_numpy(layer(ids, training=True))
    assert set(np.unique(hidden[:, :150])) == {1, 7} and not hidden[:, 150:].any()
    assert 0.17 < (hidden[:, :150] == 1).mean() < 0.23
    np.testing.assert_array_equal(hidden, ops.convert_to_numpy(WordDropout(0.2, unknown=1, seed=3)(ids, training=True)))
    assert (hidden != ops.convert_to_numpy(layer(ids, training=True))).any()  # drawn anew at each step


def test_word_dropout_is_saved(survives_saving):
    ids = keras.Input((None,), dtype="int32")
    survives_saving(keras.Model([ids], WordDropout(0.5, unknown=1)(ids)), [np.array([[4, 5, 0]], "int32")])


def test_random_span_keeps_a_run_of_the_length_it_says():
    lengths = np.tile([3, 40, 400], 300)
    ids = np.where(np.arange(400) < lengths[:, None], np.arange(1, 401), 0).astype("int32")
    layer = RandomSpan(0.5, shortest=4, seed=1)
    np.testing.assert_array_equal(ops.convert_to_numpy(layer(ids)), ids)
    seen = ops.convert_to_numpy(layer(ids, training=True))
    kept = (seen != 0).sum(axis=1)
    for row, length, count in zip(seen, lengths, kept):
        run = row[row != 0]
        np.testing.assert_array_equal(run, np.arange(run[0], run[0] + count))
        assert min(length, 4) <= count <= length
    assert (kept[lengths == 3] == 3).all()
    for length in (40, 400):
        counts, starts = kept[lengths == length], seen[lengths == length].max(axis=1) - kept[lengths == length]
        cut = counts < length
        assert 0.4 < cut.mean() < 0.6
        assert abs(np.log(counts[cut]).mean() - np.log(4 * length) / 2) < 0.35  # the middle, on the scale of logarithms
        places = starts[cut] / (length - counts[cut])
        assert abs(places.mean() - 0.5) < 0.1 and places.min() < 0.05 and places.max() > 0.95
    assert (seen != ops.convert_to_numpy(layer(ids, training=True))).any()
    np.testing.assert_array_equal(seen, ops.convert_to_numpy(RandomSpan(0.5, shortest=4, seed=1)(ids, training=True)))


def test_random_span_is_saved(survives_saving):
    ids = keras.Input((None,), dtype="int32")
    survives_saving(keras.Model([ids], RandomSpan(0.5, shortest=2)(ids)), [np.array([[4, 5, 0]], "int32")])


def test_mean_after_training():
    layer = MeanAfterTraining()
    a, b = np.array([[1.0, 3.0]], "float32"), np.array([[2.0, -3.0]], "float32")
    np.testing.assert_array_equal(ops.convert_to_numpy(layer(a, b)), [[1.5, 0.0]])
    np.testing.assert_array_equal(ops.convert_to_numpy(layer(a, b, training=True)), a)


def test_mean_after_training_is_saved(survives_saving):
    a, b = keras.Input((2,)), keras.Input((2,))
    survives_saving(keras.Model([a, b], MeanAfterTraining()(a, b)), [np.ones((1, 2), "float32"), np.zeros((1, 2), "float32")])


@pytest.mark.parametrize(
    "layer_class, arguments, shape",
    [
        (HeadAndTail, {"size": 3}, (2, 3)),
        (ReverseTokens, {}, (2, 5)),
        (WordDropout, {"rate": 0.5, "unknown": 1, "seed": 2}, (2, 5)),
        (RandomSpan, {"rate": 0.5, "shortest": 2, "seed": 2}, (2, 5)),
    ],
)
def test_passes_keras_own_layer_test(layer_class, arguments, shape):
    from keras.src import testing

    testing.TestCase().run_layer_test(
        layer_class,
        {**arguments, "dtype": "int32"},
        input_data=np.arange(1, 11).reshape(2, 5).astype("int32"),
        expected_output_shape=shape,
        expected_num_trainable_weights=0,
        expected_num_losses=0,
        assert_built_after_instantiation=False,
        run_mixed_precision_check=False,
        run_training_check=False,
    )


@pytest.mark.parametrize("make", [lambda: HeadAndTail(1), lambda: WordDropout(1.0, 1), lambda: WordDropout(-0.1, 1), lambda: RandomSpan(1.5, 2), lambda: RandomSpan(1, 0)])
def test_impossible_arguments_are_refused(make):
    with pytest.raises(ValueError, match="size|rate|shortest"):
        make()
