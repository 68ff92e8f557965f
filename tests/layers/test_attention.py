import keras
import numpy as np
import pytest
from keras import ops
from keras.src import backend

from layers.attention import SCORES, Attention, BahdanauAttention, LuongAttention, Score
from tests.layers.checks import (
    check_gradients,
    close,
    float32_of,
    in_float64,
    needs_tensorflow,
    normal,
    numpy_of,
    ops_without_xla,
    randomized,
    trains,
)

# Constructors, and the size of the values for queries of size 4.
ATTENTIONS = {
    "bahdanau": (lambda **kwargs: BahdanauAttention(5, **kwargs), 6),
    "dot": (lambda **kwargs: LuongAttention("dot", **kwargs), 4),
    "scaled_dot": (lambda **kwargs: Attention("scaled_dot", **kwargs), 4),
    "general": (lambda **kwargs: LuongAttention("general", **kwargs), 6),
    "additive": (lambda **kwargs: Attention("additive", **kwargs), 6),
    "additive_local": (lambda **kwargs: Attention("additive", units=3, window=2, **kwargs), 6),
    "dot_local": (lambda **kwargs: LuongAttention("dot", window=2, **kwargs), 4),
    "general_local": (lambda **kwargs: LuongAttention("general", window=1, **kwargs), 6),
}
attentions = pytest.mark.parametrize(("make", "value_size"), ATTENTIONS.values(), ids=ATTENTIONS)
LENGTHS = np.array([8, 1, 5, 3])  # one row has a single valid position


def some_attentions(*names):
    return pytest.mark.parametrize(("make", "value_size"), [ATTENTIONS[name] for name in names], ids=names)


def batch_of(value_size, dtype="float32"):
    return normal(4, 3, 4, dtype=dtype), normal(4, 8, value_size, seed=1, dtype=dtype), np.arange(8) < LENGTHS[:, None]


def built(make, value_size, **kwargs):
    return randomized(make(**kwargs), (None, None, 4), (None, None, value_size), scale=0.7)


def centers(layer, query):
    """The center of each query's window as a fraction of the row's length."""
    kernel, vector = numpy_of(layer.position_kernel), numpy_of(layer.position_vector)[:, 0]
    return 1 / (1 + np.exp(-np.tanh(query @ kernel) @ vector))


def reference(layer, query, value, mask):
    """The equations in NumPy, for one query and one position at a time: (context, weights)."""
    weight = {v.name: numpy_of(v) for v in layer.weights}

    def score(q, x):
        if layer.score == "additive":
            return weight["score_vector"][:, 0] @ np.tanh(q @ weight["query_kernel"] + x @ weight["key_kernel"])
        if layer.score == "general":
            return q @ (x @ weight["key_kernel"])
        return q @ x / (2.0 if layer.score == "scaled_dot" else 1.0)  # sqrt(4)

    window = layer.window
    weights = np.zeros((*query.shape[:2], value.shape[1]))
    for row in range(len(query)):
        for t, q in enumerate(query[row]):
            positions = [s for s in range(value.shape[1]) if mask[row, s]]
            if window:
                center = len(positions) * centers(layer, q)
                positions = [s for s in positions if abs(s - center) <= window]
            exps = np.exp([score(q, value[row, s]) for s in positions])
            weights[row, t, positions] = exps / exps.sum()
            if window:
                weights[row, t, positions] *= np.exp(-((np.array(positions) - center) ** 2) / (2 * (window / 2) ** 2))
    return weights @ value, weights


@pytest.mark.any_backend
@attentions
def test_equals_the_equation(make, value_size):
    query, value, mask = batch_of(value_size)
    layer = built(make, value_size)
    expected = reference(layer, query, value, mask)
    close(layer(query, value, mask=mask, return_weights=True), expected)
    close(layer(query, value), reference(layer, query, value, np.ones_like(mask))[0])
    # A single query, with keys that were computed before.
    single = layer(query[:, 1], value, mask=mask, keys=layer.project(value), return_weights=True)
    close(single, tuple(x[:, 1] for x in expected))


@pytest.mark.any_backend
@in_float64
@attentions
def test_gradient_equals_finite_differences(make, value_size):
    query, value, mask = batch_of(value_size, "float64")
    layer = built(make, value_size, dtype="float64")

    def loss(query, value):
        return ops.sum(ops.sin(3 * layer(query, value, mask=mask)))

    check_gradients(loss, layer.trainable_variables, [query, value])


@pytest.mark.any_backend
@attentions
def test_padding_and_other_rows_change_no_result(make, value_size):
    query, value, mask = batch_of(value_size)
    layer = built(make, value_size)
    context, weights = numpy_of(layer(query, value, mask=mask, return_weights=True))
    alone = layer(query[2:3], value[2:3, :5], mask=mask[2:3, :5], return_weights=True)
    close((context[2:3], weights[2:3, :, :5]), alone)
    np.testing.assert_array_equal(weights[2, :, 5:], 0)


@attentions
def test_a_single_valid_position_has_all_the_weight(make, value_size):
    query, value, mask = batch_of(value_size)
    layer = built(make, value_size)
    context, weights = numpy_of(layer(query, value, mask=mask, return_weights=True))
    # With a window the weight is that of the Gaussian, at the distance between position 0 and the center.
    gaussian = np.ones(3)
    if layer.window is not None:
        center = 1 * centers(layer, query[1])
        gaussian = np.exp(-(center**2) / (2 * (layer.window / 2) ** 2))
    close(weights[1], gaussian[:, None] * np.eye(8)[[0] * 3], atol=1e-6)
    close(context[1], gaussian[:, None] * value[1, :1])


@some_attentions("bahdanau", "dot", "general", "additive_local", "general_local")
@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16", "mixed_float16"])
def test_no_valid_position_gives_zeros(make, value_size, dtype):
    query, value, mask = batch_of(value_size)
    mask[3] = False
    layer = built(make, value_size, dtype=dtype)
    context, weights = float32_of(layer(query * 50, value * 50, mask=mask, return_weights=True))
    assert np.isfinite(context).all() and np.isfinite(weights).all()
    assert not context[3].any() and not weights[3].any()
    assert weights[0].any()


@attentions
def test_low_precision_is_near_float32(make, value_size):
    query, value, mask = batch_of(value_size)
    exact, mixed = built(make, value_size), built(make, value_size, dtype="mixed_bfloat16")
    if exact.window is not None:
        # Rounding can move a position across the window's edge. So use queries whose edges are far from all positions.
        query = normal(4, 50, 4)
        center = LENGTHS[:, None] * centers(exact, query)
        margin = np.abs(center - np.round(center))
        query = np.take_along_axis(query, np.argsort(-margin)[:, :3, None], axis=1)
        assert np.sort(margin)[:, -3:].min() > 0.3
    got = mixed(query, value, mask=mask)
    assert keras.backend.standardize_dtype(got.dtype) == "bfloat16"
    close(float32_of(got), exact(query, value, mask=mask), atol=0.1)


@some_attentions("bahdanau", "scaled_dot", "additive_local", "general_local")
def test_passes_the_layer_test_of_keras(make, value_size, keras_layer_test):
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
        run_training_check=False,  # Keras's check supports only layers with one input
    )


@pytest.mark.long
@some_attentions("bahdanau", "dot", "additive", "general_local")
def test_trains_and_is_saved_with_dynamic_batch_and_time(make, value_size, survives_saving):
    query, value, mask = keras.Input((None, 4)), keras.Input((None, value_size)), keras.Input((None,), dtype="bool")
    context, weights = make()(query, value, mask=mask, return_weights=True)
    model = keras.Model([query, value, mask], [context, weights])
    assert context.shape == (None, None, value_size) and weights.shape == (None, None, None)
    arrays = list(batch_of(value_size))
    compiled = (make, value_size) == ATTENTIONS["general_local"]
    trains(keras.Model(model.inputs, keras.layers.Dense(1)(context)), arrays, np.ones((4, 3, 1)), compiled=compiled)
    survives_saving(model, arrays)


def test_an_implicit_mask_is_neither_used_nor_passed_on():
    ids = keras.Input((None,), dtype="int32")
    embedded = keras.layers.Embedding(9, 4, mask_zero=True)(ids)
    context = LuongAttention("dot")(embedded, embedded)
    assert backend.get_keras_mask(context) is None
    model = keras.Model(ids, context)
    table = numpy_of(model.layers[1].embeddings)[[[3, 0]]]
    close(model(np.array([[3, 0]])), LuongAttention("dot")(table, table), atol=1e-6)


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        (BahdanauAttention(32), 32 * (128 + 96 + 1)),
        (LuongAttention("general"), 128 * 96),
        (Attention("additive", units=32), 32 * (128 + 96 + 1)),
        (Attention("additive"), 128 * (128 + 96 + 1)),
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


def test_bahdanau_with_identity_kernels_is_the_additive_attention_of_keras():
    query, value, mask = batch_of(4)
    ours, keras_layer = BahdanauAttention(4), keras.layers.AdditiveAttention()
    ours.build(query.shape, value.shape)
    expected = keras_layer([query, value], mask=[None, ops.convert_to_tensor(mask)], return_attention_scores=True)
    scale = numpy_of(keras_layer.scale)
    ours.set_weights([np.eye(4), np.eye(4), scale[:, None]])
    close(ours(query, value, mask=mask, return_weights=True), expected)


@pytest.mark.parametrize("score", ["dot", "scaled_dot"])
def test_dot_is_the_attention_of_keras(score):
    query, value, mask = batch_of(4)
    keras_layer = keras.layers.Attention(use_scale=True)
    keras_layer.build([query.shape, value.shape])
    keras_layer.set_weights([np.array(1.0 if score == "dot" else 0.5)])
    expected = keras_layer([query, value], mask=[None, ops.convert_to_tensor(mask)], return_attention_scores=True)
    close(LuongAttention(score)(query, value, mask=mask, return_weights=True), expected)


def test_the_window_is_centered_at_the_predicted_position():
    layer = LuongAttention("dot", window=2)
    layer.build((None, 4), (None, None, 4))
    layer.set_weights([np.eye(4), np.zeros((4, 1))])  # sigmoid(0): the middle of the row's true length
    mask = np.arange(40) < np.array([[40], [20]])
    _, weights = layer(np.ones((2, 4)), np.ones((2, 40, 4)), mask=mask, return_weights=True)
    weights = numpy_of(weights)
    gaussian = np.exp(-np.array([4, 1, 0, 1, 4]) / 2) / 5
    close(weights[0, 18:23], gaussian, atol=1e-6)
    close(weights[1, 8:13], gaussian, atol=1e-6)
    assert np.count_nonzero(weights) == 10


@needs_tensorflow
@attentions
def test_graph_needs_no_xla(make, value_size):
    import tensorflow as tf

    layer = make()
    layer.build((None, 4), (None, None, value_size))
    specs = [tf.TensorSpec((None, 4)), tf.TensorSpec((None, None, value_size)), tf.TensorSpec((None, None), tf.bool)]
    names = ops_without_xla(tf.function(lambda q, v, m: layer(q, v, mask=m), input_signature=specs))
    assert "BatchMatMulV2" in names


@pytest.mark.parametrize(
    "make",
    [
        lambda: BahdanauAttention(0),
        lambda: LuongAttention("cosine"),
        lambda: LuongAttention("dot", units=3),
        lambda: LuongAttention("additive", units=0),
        lambda: LuongAttention("dot", window=0),
        lambda: LuongAttention("dot").build((None, 3), (None, None, 4)),
        lambda: BahdanauAttention(3).project(np.ones((1, 2, 3))),
        lambda: BahdanauAttention(3)(np.ones((2, 3, 4)), np.ones((2, 5, 4)), mask=np.ones((2, 3, 5))),
    ],
)
def test_invalid_arguments_are_refused(make):
    with pytest.raises(ValueError, match="units is|score is|needs queries|window is|not built|mask has shape"):
        make()


def test_the_error_for_concat_names_additive():
    with pytest.raises(ValueError, match="use 'additive'"):
        LuongAttention("concat")


def test_a_new_score_is_one_entry_in_the_table(monkeypatch):
    def cosine(layer, queries, keys):
        return ops.matmul(ops.normalize(queries), ops.swapaxes(ops.normalize(keys), 1, 2))

    entry = Score(build=lambda layer, *sizes: None, keys=lambda layer, value: value, scores=cosine)
    monkeypatch.setitem(SCORES, "cosine", entry)
    query, value, mask = batch_of(4)
    _, weights = Attention("cosine")(query, value, mask=mask, return_weights=True)
    unit = [x / np.linalg.norm(x, axis=-1, keepdims=True) for x in (query, value)]
    exps = np.exp(unit[0] @ np.swapaxes(unit[1], 1, 2)) * mask[:, None]
    close(weights, exps / exps.sum(-1, keepdims=True))


@pytest.mark.parametrize(
    "layer", [BahdanauAttention(5), LuongAttention("dot", window=2), Attention("additive", units=3)]
)
def test_the_config_keeps_all_arguments(layer):
    copy = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(layer))
    assert type(copy) is type(layer)
    assert (copy.score, copy.units, copy.window) == (layer.score, layer.units, layer.window)


def test_scaled_dot_does_not_overflow_in_float16():
    value = np.full((1, 3, 64), 40.0)
    close(float32_of(LuongAttention("scaled_dot", dtype="mixed_float16")(value, value)), value)
