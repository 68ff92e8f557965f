import os

import keras
import numpy as np
import pytest
from keras import ops

from layers.attention import BahdanauAttention, LuongAttention

BACKEND = keras.backend.backend()
needs_float64 = pytest.mark.skipif(
    BACKEND == "jax" and os.environ.get("JAX_ENABLE_X64") != "1", reason="float64 is float32 on JAX without JAX_ENABLE_X64=1"
)
needs_tensorflow = pytest.mark.skipif(BACKEND != "tensorflow", reason="a SavedModel is TensorFlow's")

# What makes each attention, and the size of the values that goes with queries of size 4.
ATTENTIONS = {
    "bahdanau": (lambda **kwargs: BahdanauAttention(5, **kwargs), 6),
    "dot": (lambda **kwargs: LuongAttention("dot", **kwargs), 4),
    "scaled_dot": (lambda **kwargs: LuongAttention("scaled_dot", **kwargs), 4),
    "general": (lambda **kwargs: LuongAttention("general", **kwargs), 6),
    "concat": (lambda **kwargs: LuongAttention("concat", **kwargs), 6),
    "concat_units": (lambda **kwargs: LuongAttention("concat", units=3, **kwargs), 6),
    "dot_local": (lambda **kwargs: LuongAttention("dot", window=2, **kwargs), 4),
    "general_local": (lambda **kwargs: LuongAttention("general", window=1, **kwargs), 6),
}
attentions = pytest.mark.parametrize(("make", "value_size"), ATTENTIONS.values(), ids=ATTENTIONS)
LENGTHS = np.array([8, 1, 5, 3])  # a row with a single valid position among them


def numpy_of(outputs):
    return keras.tree.map_structure(ops.convert_to_numpy, outputs)


def batch_of(value_size, dtype="float32"):
    rng = np.random.default_rng(0)
    query, value = rng.normal(size=(4, 3, 4)), rng.normal(size=(4, 8, value_size))
    return query.astype(dtype), value.astype(dtype), np.arange(8) < LENGTHS[:, None]


def randomized(make, value_size, **kwargs):
    layer = make(**kwargs)
    layer.build((None, None, 4), (None, None, value_size))
    rng = np.random.default_rng(1)
    for variable in layer.trainable_variables:
        variable.assign(rng.normal(scale=0.7, size=variable.shape))
    return layer


def reference(layer, query, value, mask):
    """One query and one position at a time."""
    weight = {v.name: numpy_of(v) for v in layer.weights}
    kind = layer.score if isinstance(layer, LuongAttention) else "concat"

    def score(q, x):
        if kind == "concat":
            return weight["score_vector"][:, 0] @ np.tanh(q @ weight["query_kernel"] + x @ weight["key_kernel"])
        if kind == "general":
            return q @ (x @ weight["key_kernel"])
        return q @ x / (2.0 if kind == "scaled_dot" else 1.0)  # sqrt(4)

    window = getattr(layer, "window", None)
    weights = np.zeros((*query.shape[:2], value.shape[1]))
    for row in range(len(query)):
        for t, q in enumerate(query[row]):
            seen = [s for s in range(value.shape[1]) if mask[row, s]]
            if window:
                hidden = np.tanh(q @ weight["position_kernel"])
                center = len(seen) / (1 + np.exp(-hidden @ weight["position_vector"][:, 0]))
                seen = [s for s in seen if abs(s - center) <= window]
            exps = np.exp([score(q, value[row, s]) for s in seen])
            weights[row, t, seen] = exps / exps.sum()
            if window:
                weights[row, t, seen] *= np.exp(-((np.array(seen) - center) ** 2) / (2 * (window / 2) ** 2))
    return weights @ value, weights


@attentions
def test_equals_the_equation(make, value_size):
    query, value, mask = batch_of(value_size)
    layer = randomized(make, value_size)
    expected = reference(layer, query, value, mask)
    got = numpy_of(layer(query, value, mask=mask, return_weights=True))
    keras.tree.map_structure(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), got, expected)
    everywhere = reference(layer, query, value, np.ones_like(mask))
    np.testing.assert_allclose(numpy_of(layer(query, value)), everywhere[0], atol=1e-5)
    # A single query, and keys that were computed beforehand.
    alone = numpy_of(layer(query[:, 1], value, mask=mask, keys=layer.project(value), return_weights=True))
    keras.tree.map_structure(lambda a, b: np.testing.assert_allclose(a, b[:, 1], atol=1e-5), alone, expected)


@needs_float64
@attentions
def test_gradient_equals_finite_differences(make, value_size):
    query, value, mask = batch_of(value_size, "float64")
    layer = randomized(make, value_size, dtype="float64")
    variables = layer.trainable_variables
    arrays = [query, value, *(numpy_of(v) for v in variables)]
    rng = np.random.default_rng(2)

    def loss(*tensors):
        with keras.StatelessScope(state_mapping=list(zip(variables, tensors[2:], strict=True))):
            return ops.sum(ops.sin(3 * layer(tensors[0], tensors[1], mask=mask)))

    tensors = [ops.convert_to_tensor(a) for a in arrays]
    if BACKEND == "jax":
        import jax

        found = jax.grad(loss, argnums=tuple(range(len(tensors))))(*tensors)
    else:
        import tensorflow as tf

        with tf.GradientTape() as tape:
            tape.watch(tensors)
            total = loss(*tensors)
        found = tape.gradient(total, tensors)
    for k, gradient in enumerate(found):
        direction = rng.normal(size=arrays[k].shape)
        step = 1e-6 * direction
        ends = [float(loss(*(t + sign * step if j == k else t for j, t in enumerate(tensors)))) for sign in (1, -1)]
        np.testing.assert_allclose(np.sum(numpy_of(gradient) * direction), (ends[0] - ends[1]) / 2e-6, rtol=1e-6, atol=1e-8)


@attentions
def test_padding_and_neighbours_change_nothing(make, value_size):
    query, value, mask = batch_of(value_size)
    layer = randomized(make, value_size)
    got = numpy_of(layer(query, value, mask=mask, return_weights=True))
    alone = numpy_of(layer(query[2:3], value[2:3, :5], mask=mask[2:3, :5], return_weights=True))
    np.testing.assert_allclose(got[0][2:3], alone[0], atol=1e-5)
    np.testing.assert_allclose(got[1][2:3, :, :5], alone[1], atol=1e-5)
    np.testing.assert_array_equal(got[1][2, :, 5:], 0)


@attentions
def test_a_single_valid_position_gets_all(make, value_size):
    query, value, mask = batch_of(value_size)
    layer = randomized(make, value_size)
    context, weights = numpy_of(layer(query, value, mask=mask, return_weights=True))
    if getattr(layer, "window", None) is None:  # the Gaussian takes its part
        np.testing.assert_allclose(weights[1], np.eye(8)[[0] * 3], atol=1e-6)
    np.testing.assert_allclose(context[1], weights[1, :, :1] * value[1, :1], atol=1e-5)


@attentions
@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16", "mixed_float16"])
def test_no_valid_position_gives_zeros(make, value_size, dtype):
    query, value, mask = batch_of(value_size)
    mask[3] = False
    layer = randomized(make, value_size, dtype=dtype)
    got = [numpy_of(ops.cast(x, "float32")) for x in layer(query * 50, value * 50, mask=mask, return_weights=True)]
    assert all(np.isfinite(x).all() for x in got)
    assert not got[0][3].any() and not got[1][3].any()
    assert got[1][0].any()


@attentions
def test_low_precision_is_near_float32(make, value_size):
    query, value, mask = batch_of(value_size)
    if "window" in str(make().get_config()) and make().get_config().get("window"):
        pytest.skip("a position at the window's edge may fall on either side of it")
    exact, mixed = randomized(make, value_size), randomized(make, value_size, dtype="mixed_bfloat16")
    got = mixed(query, value, mask=mask)
    assert keras.backend.standardize_dtype(got.dtype) == "bfloat16"
    np.testing.assert_allclose(numpy_of(ops.cast(got, "float32")), numpy_of(exact(query, value, mask=mask)), atol=0.1)


@attentions
def test_passes_keras_own_layer_test(make, value_size, keras_layer_test):
    layer = make()
    config = {k: v for k, v in layer.get_config().items() if k in ("units", "score", "window")}
    keras_layer_test(
        type(layer),
        config,
        input_shape={"query_shape": (2, 3, 4), "value_shape": (2, 5, value_size)},
        expected_output_shape=(2, 3, value_size),
        expected_num_non_trainable_weights=0,
        expected_num_losses=0,
        supports_masking=True,
        run_training_check=False,  # it knows layers of one input alone
    )


@attentions
def test_trains_and_is_saved_with_dynamic_batch_and_time(make, value_size, survives_saving):
    query, value, mask = keras.Input((None, 4)), keras.Input((None, value_size)), keras.Input((None,), dtype="bool")
    context, weights = make()(query, value, mask=mask, return_weights=True)
    model = keras.Model([query, value, mask], [context, weights])
    assert context.shape == (None, None, value_size) and weights.shape == (None, None, None)
    arrays = list(batch_of(value_size))
    trained = keras.Model(model.inputs, keras.layers.Dense(1)(context))
    trained.compile("adam", "mse")
    before = trained.get_weights()
    trained.fit(arrays, np.ones((4, 3, 1)), verbose=0)
    assert all(np.abs(a - b).max() > 0 for a, b in zip(before, trained.get_weights(), strict=True))
    survives_saving(model, arrays)


def test_an_implicit_mask_is_neither_used_nor_passed_on():
    ids = keras.Input((None,), dtype="int32")
    embedded = keras.layers.Embedding(9, 4, mask_zero=True)(ids)
    context = LuongAttention("dot")(embedded, embedded)
    assert keras.src.backend.get_keras_mask(context) is None
    model = keras.Model(ids, context)
    table = numpy_of(model.layers[1].embeddings)[[[3, 0]]]
    np.testing.assert_allclose(numpy_of(model(np.array([[3, 0]]))), numpy_of(LuongAttention("dot")(table, table)), atol=1e-6)


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        (BahdanauAttention(32), 32 * (128 + 96 + 1)),
        (LuongAttention("general"), 128 * 96),
        (LuongAttention("concat", units=32), 32 * (128 + 96 + 1)),
        (LuongAttention("concat"), 128 * (128 + 96 + 1)),
        (LuongAttention("general", window=3), 128 * 96 + 128 * 128 + 128),
    ],
)
def test_parameter_counts(layer, expected):
    layer.build((None, 128), (None, None, 96))
    assert layer.count_params() == expected


def test_dot_has_no_parameters():
    layer = LuongAttention("scaled_dot")
    layer.build((None, 8), (None, None, 8))
    assert layer.count_params() == 0


def test_bahdanau_with_unit_kernels_is_keras_additive_attention():
    query, value, mask = batch_of(4)
    ours, keras_own = BahdanauAttention(4), keras.layers.AdditiveAttention()
    ours.build(query.shape, value.shape)
    expected = [keras_own([query, value], mask=[None, ops.convert_to_tensor(mask)], return_attention_scores=True)][0]
    scale = numpy_of(keras_own.scale)
    ours.set_weights([np.eye(4), np.eye(4), scale[:, None]])
    got = ours(query, value, mask=mask, return_weights=True)
    keras.tree.map_structure(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), numpy_of(got), numpy_of(expected))


@pytest.mark.parametrize("score", ["dot", "scaled_dot"])
def test_dot_is_keras_attention(score):
    query, value, mask = batch_of(4)
    keras_own = keras.layers.Attention(use_scale=True)
    keras_own.build([query.shape, value.shape])
    keras_own.set_weights([np.array(1.0 if score == "dot" else 0.5)])
    expected = keras_own([query, value], mask=[None, ops.convert_to_tensor(mask)], return_attention_scores=True)
    got = LuongAttention(score)(query, value, mask=mask, return_weights=True)
    keras.tree.map_structure(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), numpy_of(got), numpy_of(expected))


def test_the_window_is_around_the_predicted_position():
    layer = LuongAttention("dot", window=2)
    layer.build((None, 4), (None, None, 4))
    layer.set_weights([np.eye(4), np.zeros((4, 1))])  # sigmoid(0): the middle of the row's true length
    mask = np.arange(40) < np.array([[40], [20]])
    _, weights = layer(np.ones((2, 4)), np.ones((2, 40, 4)), mask=mask, return_weights=True)
    weights = numpy_of(weights)
    gaussian = np.exp(-np.array([4, 1, 0, 1, 4]) / 2) / 5
    np.testing.assert_allclose(weights[0, 18:23], gaussian, atol=1e-6)
    np.testing.assert_allclose(weights[1, 8:13], gaussian, atol=1e-6)
    assert np.count_nonzero(weights) == 10


@needs_tensorflow
@attentions
def test_graph_needs_no_xla(make, value_size):
    import tensorflow as tf

    layer = make()
    layer.build((None, 4), (None, None, value_size))
    specs = [tf.TensorSpec((None, 4)), tf.TensorSpec((None, None, value_size)), tf.TensorSpec((None, None), tf.bool)]
    graph = tf.function(lambda q, v, m: layer(q, v, mask=m)).get_concrete_function(*specs).graph.as_graph_def()
    names = {node.op for part in (graph.node, *(f.node_def for f in graph.library.function)) for node in part}
    assert "BatchMatMulV2" in names
    assert not [name for name in names if name.startswith("Xla")]


@pytest.mark.parametrize(
    "make",
    [
        lambda: BahdanauAttention(0),
        lambda: LuongAttention("cosine"),
        lambda: LuongAttention("dot", units=3),
        lambda: LuongAttention("concat", units=0),
        lambda: LuongAttention("dot", window=0),
        lambda: LuongAttention("dot").build((None, 3), (None, None, 4)),
        lambda: BahdanauAttention(3).project(np.ones((1, 2, 3))),
    ],
)
def test_impossible_arguments_are_refused(make):
    with pytest.raises(ValueError, match="units|score|window|not built"):
        make()
