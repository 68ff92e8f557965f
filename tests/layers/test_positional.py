import keras
import numpy as np
import pytest
from keras import ops

from layers.positional import LearnedPositionalEmbedding, RotaryEmbedding, SinusoidalPositionalEncoding
from tests.layers.checks import check_gradients, close, in_float64, normal, numpy_of

LAYERS = pytest.mark.parametrize(
    ("make", "shape"),
    [
        (SinusoidalPositionalEncoding, (3, 7, 6)),
        (lambda **kwargs: SinusoidalPositionalEncoding(scale_inputs=True, **kwargs), (3, 7, 6)),
        (lambda **kwargs: LearnedPositionalEmbedding(max_length=32, **kwargs), (3, 7, 6)),
        (RotaryEmbedding, (3, 7, 2, 6)),
    ],
    ids=["sinusoidal", "sinusoidal-scaled", "learned", "rotary"],
)


def sinusoid(position, feature, depth):
    angle = position / 10000 ** (feature // 2 * 2 / depth)
    return np.cos(angle) if feature % 2 else np.sin(angle)


def rotated(x, position):
    """Su et al., equation 15: the product of the block-diagonal rotation matrix and x."""
    depth = len(x)
    matrix = np.zeros((depth, depth))
    for i in range(0, depth, 2):
        angle = position / 10000 ** (i / depth)
        matrix[i : i + 2, i : i + 2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    return matrix @ x


@pytest.mark.any_backend
@pytest.mark.parametrize(("depth", "scale"), [(1, 1.0), (5, 5**0.5), (8, 1.0), (8, 8**0.5)])
def test_sinusoidal_equals_the_formula(depth, scale):
    x = normal(2, 300, depth)
    expected = [[sinusoid(p, j, depth) for j in range(depth)] for p in range(300)]
    got = numpy_of(SinusoidalPositionalEncoding(scale_inputs=scale != 1)(x))
    close(got, scale * x + np.array(expected), atol=3e-5)


@pytest.mark.any_backend
def test_rotary_equals_the_rotation_matrix():
    x = normal(2, 9, 3, 6)
    expected = [[[rotated(head, p) for head in step] for p, step in enumerate(row)] for row in x]
    close(RotaryEmbedding()(x), np.array(expected), atol=1e-5)


def test_rotary_keeps_norms_and_products_depend_on_distance_alone():
    query, key = normal(1, 1, 1, 8, seed=1), normal(1, 1, 1, 8, seed=2)
    rotary = RotaryEmbedding()

    def product(query_position, key_position):
        return np.sum(np.array(rotary(query, start=query_position)) * np.array(rotary(key, start=key_position)))

    assert np.linalg.norm(rotary(query, start=11)) == pytest.approx(np.linalg.norm(query), rel=1e-5)
    assert product(5, 2) == pytest.approx(product(43, 40), abs=1e-4)
    assert product(5, 2) != pytest.approx(product(5, 3), abs=1e-2)


def test_learned_adds_the_rows_of_its_table():
    layer = LearnedPositionalEmbedding(max_length=10)
    x = normal(2, 4, 3)
    got = numpy_of(layer(x, start=np.array([0, 6], "int32")))
    table = numpy_of(layer.embeddings)
    close(got, x + np.stack([table[0:4], table[6:10]]), atol=1e-6)


@pytest.mark.any_backend
@in_float64
@LAYERS
def test_gradient_equals_finite_differences(make, shape):
    layer = make(dtype="float64")
    layer.build(shape)
    start = np.array([0, 3, 8], "int32")
    x = normal(*shape, dtype="float64")
    check_gradients(lambda x: ops.sum(ops.sin(layer(x, start=start))), layer.trainable_variables, [x])


@in_float64
def test_results_in_float64_have_the_precision_of_float64():
    x = normal(1, 300, 6, dtype="float64")
    expected = [[sinusoid(p, j, 6) for j in range(6)] for p in range(300)]
    close(SinusoidalPositionalEncoding(dtype="float64")(x), x + np.array(expected), atol=1e-12)
    got = RotaryEmbedding(dtype="float64")(x[:, :, None, :])
    close(got[0, :, 0], np.array([rotated(step, p) for p, step in enumerate(x[0])]), atol=1e-12)


@pytest.mark.any_backend
@LAYERS
def test_single_steps_at_different_positions_equal_the_full_pass(make, shape):
    layer = make()
    outputs = numpy_of(layer(normal(*shape)))
    positions = np.array([4, 0, 6])
    steps = normal(*shape)[np.arange(3), positions][:, None]
    got = numpy_of(layer(steps, start=positions.astype("int32")))
    close(got[:, 0], outputs[np.arange(3), positions], atol=1e-5)
    # A scalar start, as an int and as a tensor, is the start of all rows.
    for start in (2, ops.convert_to_tensor(2, "int32")):
        close(layer(normal(*shape)[:, 2:], start=start), outputs[:, 2:], atol=1e-5)


@pytest.mark.any_backend
@LAYERS
def test_padding_and_other_rows_change_no_result(make, shape):
    layer = make()
    outputs = numpy_of(layer(normal(*shape)))
    alone = numpy_of(layer(normal(*shape)[1:2, :4]))
    close(outputs[1:2, :4], alone, atol=1e-5)


@LAYERS
def test_a_model_of_any_length_and_start_survives_saving(make, shape, survives_saving):
    x = keras.Input((None, *shape[2:]))
    start = keras.Input((), dtype="int32")
    model = keras.Model([x, start], make()(x, start=start))
    survives_saving(model, [normal(*shape), np.array([0, 3, 8], "int32")])


@pytest.mark.parametrize(
    ("layer", "kwargs", "shape", "weights"),
    [
        (SinusoidalPositionalEncoding, {"max_wavelength": 100.0}, (2, 5, 3), 0),
        (LearnedPositionalEmbedding, {"max_length": 6, "initializer": "zeros"}, (2, 5, 3), 1),
        (RotaryEmbedding, {"max_wavelength": 100.0}, (2, 5, 2, 4), 0),
    ],
)
def test_passes_the_layer_test_of_keras(layer, kwargs, shape, weights, keras_layer_test):
    keras_layer_test(
        layer,
        init_kwargs=kwargs,
        input_shape=shape,
        expected_output_shape=shape,
        expected_num_trainable_weights=weights,
        expected_num_non_trainable_weights=0,
        expected_num_losses=0,
        supports_masking=True,
    )


def test_bfloat16_distinguishes_large_positions():
    zeros = np.zeros((1, 2, 2), "float32")
    got = ops.cast(SinusoidalPositionalEncoding(dtype="mixed_bfloat16")(zeros, start=256), "float32")
    expected = [[np.sin(256), np.cos(256)], [np.sin(257), np.cos(257)]]
    close(numpy_of(got)[0], np.array(expected), atol=0.01)
    x = np.array([[[[1.0, 0.0]]]], "float32")
    got = ops.cast(RotaryEmbedding(dtype="mixed_bfloat16")(x, start=257), "float32")
    close(numpy_of(got)[0, 0, 0], np.array([np.cos(257), np.sin(257)]), atol=0.01)


def test_learned_refuses_positions_outside_of_its_table():
    layer = LearnedPositionalEmbedding(max_length=4)
    with pytest.raises(ValueError, match="position 4, but max_length is 4"):
        layer(normal(1, 5, 2))
    with pytest.raises(ValueError, match="position 5, but max_length is 4"):
        layer(normal(1, 3, 2), start=3)
    with pytest.raises(ValueError, match="start is -1"):
        layer(normal(1, 3, 2), start=-1)
    with pytest.raises(ValueError, match="position 4, but max_length is 4"):
        LearnedPositionalEmbedding(max_length=4)(keras.Input((5, 2)))


def test_learned_raises_or_gives_nan_for_a_large_position_at_run_time():
    layer = LearnedPositionalEmbedding(max_length=4)
    x, start = normal(2, 1, 2), np.array([1, 4], "int32")
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        with tf.device("CPU"), pytest.raises(tf.errors.InvalidArgumentError):
            layer(x, start=start)
    else:
        got = numpy_of(layer(x, start=start))
        assert np.isfinite(got[0]).all() and np.isnan(got[1]).all()


@pytest.mark.parametrize("layer", [SinusoidalPositionalEncoding, RotaryEmbedding])
def test_a_wavelength_of_zero_is_refused(layer):
    with pytest.raises(ValueError, match="max_wavelength is 0"):
        layer(max_wavelength=0)


def test_invalid_shapes_are_refused():
    with pytest.raises(ValueError, match="head_dim is 3"):
        RotaryEmbedding()(normal(1, 2, 1, 3))
    with pytest.raises(ValueError, match="heads, head_dim"):
        RotaryEmbedding()(normal(1, 2, 4))
    with pytest.raises(ValueError, match="max_length is 0"):
        LearnedPositionalEmbedding(max_length=0)
