import keras
import numpy as np
import pytest
from keras import ops

from layers import HeadAndTail, RandomSpan, ReverseTokens, WordDropout


@pytest.mark.parametrize("size", [2, 5, 6, 30])
def test_head_and_tail_keeps_both_ends(size):
    lengths = [1, 4, 5, 6, 7, 12]
    ids = np.zeros((6, 14), "int32")
    for row, length in zip(ids, lengths):
        row[:length] = np.arange(1, length + 1)
    got = ops.convert_to_numpy(HeadAndTail(size)(ids))
    assert got.shape == (6, min(14, size))
    for row, length in zip(got, lengths):
        tokens = list(range(1, length + 1))
        expected = tokens if length <= size else tokens[: size // 2] + tokens[length - (size - size // 2) :]
        assert row.tolist() == expected + [0] * (got.shape[1] - len(expected))


def test_a_model_with_head_and_tail_of_dynamic_shape_survives_saving(survives_saving):
    ids = keras.Input((None,), dtype="int32")
    model = keras.Model([ids], HeadAndTail(4)(ids))
    assert model.output.shape == (None, None) and model.output.dtype == "int32"
    survives_saving(model, [np.arange(1, 15).reshape(2, 7).astype("int32")])
    assert model([np.ones((3, 2), "int32")]).shape == (3, 2)


@pytest.mark.any_backend
def test_reversed_tokens_keep_the_padding_at_the_end():
    ids = np.array([[1, 2, 3, 4, 5], [1, 2, 3, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 0]], "int32")
    expected = [[5, 4, 3, 2, 1], [3, 2, 1, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 0]]
    np.testing.assert_array_equal(ops.convert_to_numpy(ReverseTokens()(ids)), expected)


def test_a_model_with_reversed_tokens_survives_saving(survives_saving):
    ids = keras.Input((None,), dtype="int32")
    survives_saving(keras.Model([ids], ReverseTokens()(ids)), [np.array([[4, 5, 0], [1, 2, 3]], "int32")])


@pytest.mark.any_backend
def test_word_dropout_replaces_tokens_at_its_rate_but_no_padding():
    ids = np.full((50, 200), 7, "int32")
    ids[:, 150:] = 0
    layer = WordDropout(0.2, unknown_id=1, seed=3)
    np.testing.assert_array_equal(ops.convert_to_numpy(layer(ids)), ids)
    dropped = ops.convert_to_numpy(layer(ids, training=True))
    assert set(np.unique(dropped[:, :150])) == {1, 7} and not dropped[:, 150:].any()
    assert 0.17 < (dropped[:, :150] == 1).mean() < 0.23
    same_seed = WordDropout(0.2, unknown_id=1, seed=3)
    np.testing.assert_array_equal(dropped, ops.convert_to_numpy(same_seed(ids, training=True)))
    assert (dropped != ops.convert_to_numpy(layer(ids, training=True))).any()  # new random numbers at each call


def test_a_model_with_word_dropout_survives_saving(survives_saving):
    ids = keras.Input((None,), dtype="int32")
    survives_saving(keras.Model([ids], WordDropout(0.5, unknown_id=1)(ids)), [np.array([[4, 5, 0]], "int32")])


def test_random_span_keeps_a_span_of_log_uniform_length_at_a_uniform_position():
    lengths = np.tile([3, 40, 400], 300)
    ids = np.where(np.arange(400) < lengths[:, None], np.arange(1, 401), 0).astype("int32")
    layer = RandomSpan(0.5, min_length=4, seed=1)
    np.testing.assert_array_equal(ops.convert_to_numpy(layer(ids)), ids)
    spans = ops.convert_to_numpy(layer(ids, training=True))
    span_lengths = (spans != 0).sum(axis=1)
    for row, length, count in zip(spans, lengths, span_lengths):
        span = row[row != 0]
        np.testing.assert_array_equal(span, np.arange(span[0], span[0] + count))
        assert min(length, 4) <= count <= length
    assert (span_lengths[lengths == 3] == 3).all()
    for length in (40, 400):
        counts = span_lengths[lengths == length]
        starts = spans[lengths == length].max(axis=1) - counts
        cut = counts < length
        assert 0.4 < cut.mean() < 0.6
        assert abs(np.log(counts[cut]).mean() - np.log(4 * length) / 2) < 0.35  # the mean of log(4) and log(length)
        relative_starts = starts[cut] / (length - counts[cut])
        assert abs(relative_starts.mean() - 0.5) < 0.1
        assert relative_starts.min() < 0.05 and relative_starts.max() > 0.95
    assert (spans != ops.convert_to_numpy(layer(ids, training=True))).any()
    same_seed = RandomSpan(0.5, min_length=4, seed=1)
    np.testing.assert_array_equal(spans, ops.convert_to_numpy(same_seed(ids, training=True)))


def test_a_model_with_random_span_survives_saving(survives_saving):
    ids = keras.Input((None,), dtype="int32")
    survives_saving(keras.Model([ids], RandomSpan(0.5, min_length=2)(ids)), [np.array([[4, 5, 0]], "int32")])


@pytest.mark.parametrize(
    "layer_class, arguments, shape",
    [
        (HeadAndTail, {"size": 3}, (2, 3)),
        (ReverseTokens, {}, (2, 5)),
        (WordDropout, {"rate": 0.5, "unknown_id": 1, "seed": 2}, (2, 5)),
        (RandomSpan, {"rate": 0.5, "min_length": 2, "seed": 2}, (2, 5)),
    ],
)
def test_passes_the_layer_test_of_keras(layer_class, arguments, shape):
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


@pytest.mark.parametrize(
    "make",
    [
        lambda: HeadAndTail(1),
        lambda: WordDropout(1.0, 1),
        lambda: WordDropout(-0.1, 1),
        lambda: RandomSpan(1.5, 2),
        lambda: RandomSpan(1, 0),
    ],
)
def test_invalid_arguments_are_refused(make):
    with pytest.raises(ValueError, match="size is|rate is|min_length is"):
        make()
