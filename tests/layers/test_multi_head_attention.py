import keras
import numpy as np
import pytest
from keras import ops

from layers.multi_head_attention import CachedMultiHeadAttention
from tests.layers.checks import (
    call,
    check_gradients,
    close,
    float32_of,
    in_float64,
    needs_tensorflow,
    normal,
    numpy_of,
    randomized,
)

LENGTHS = np.array([7, 1, 4])  # one row has a single valid position
MASK = np.arange(7) < LENGTHS[:, None]


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attention_reference(x, z, mask, weights, heads):
    """The equations in NumPy for one sequence and one head at a time: x [Tq, dx], z [Tk, dz], mask bool [Tq, Tk]."""
    wq, bq, wk, bk, wv, bv, wo, bo = weights
    q, k, v = (np.split(a, heads, axis=-1) for a in (x @ wq + bq, z @ wk + bk, z @ wv + bv))
    contexts, all_weights = [], []
    for i in range(heads):
        scores = np.where(mask, q[i] @ k[i].T / np.sqrt(q[i].shape[-1]), -1e9)
        all_weights.append(softmax(scores))
        contexts.append(all_weights[-1] @ v[i])
    return np.concatenate(contexts, axis=-1) @ wo + bo, np.stack(all_weights)


@pytest.mark.any_backend
@pytest.mark.parametrize("causal", [False, True])
def test_self_attention_equals_numpy(causal):
    layer = randomized(CachedMultiHeadAttention(2, causal=causal), (None, None, 8))
    x = normal(3, 7, 8)
    got, weights = call(layer, x, mask=MASK, return_weights=True)
    for row in range(3):
        mask = MASK[row] & (np.tril(np.ones((7, 7), bool)) if causal else np.ones((7, 7), bool))
        close((got[row], weights[row]), attention_reference(x[row], x[row], mask, layer.get_weights(), 2))


@pytest.mark.any_backend
def test_cross_attention_equals_numpy_projected_or_not():
    layer = randomized(CachedMultiHeadAttention(2, head_dim=5), (None, None, 8), (None, None, 6))
    x, z = normal(3, 4, 8), normal(3, 7, 6, seed=1)
    got = call(layer, x, z, mask=MASK)
    for row in range(3):
        mask = np.broadcast_to(MASK[row], (4, 7))
        close(got[row], attention_reference(x[row], z[row], mask, layer.get_weights(), 2)[0])
    close(call(layer, x, projected=layer.project(ops.convert_to_tensor(z)), mask=MASK), got)
    assert layer.count_params() == (8 + 1) * 10 + 2 * (6 + 1) * 10 + (10 + 1) * 8


@pytest.mark.any_backend
def test_equals_keras():
    ours = randomized(CachedMultiHeadAttention(2, causal=True), (None, None, 8))
    theirs = keras.layers.MultiHeadAttention(2, 4)
    theirs.build((None, None, 8), (None, None, 8))
    theirs.set_weights([w.reshape(t.shape) for w, t in zip(ours.get_weights(), theirs.weights, strict=True)])
    x = normal(3, 7, 8)
    expected = theirs(x, x, attention_mask=MASK[:, None, :], use_causal_mask=True, return_attention_scores=True)
    close(call(ours, x, mask=MASK, return_weights=True), expected)


@pytest.mark.any_backend
@in_float64
@pytest.mark.parametrize("options", [{}, {"causal": True, "rotary": True}], ids=["plain", "causal-rotary"])
def test_gradient_equals_finite_differences(options):
    layer = randomized(CachedMultiHeadAttention(2, dtype="float64", **options), (None, None, 8))
    x = normal(3, 7, 8, dtype="float64")
    # The gradient of the key's bias is zero, because a softmax does not change if all its scores shift equally. Rotary
    # rotates the bias differently at each position.
    variables = [v for v in layer.trainable_variables if options or v is not layer._key.bias]
    check_gradients(lambda x: ops.sum(ops.sin(layer(x, mask=MASK))), variables, [x])


def test_the_mask_can_differ_between_queries():
    layer = randomized(CachedMultiHeadAttention(2), (None, None, 8))
    x = normal(1, 3, 8)
    mask = np.array([[[True, False, False], [True, True, True], [False, False, True]]])
    expected = attention_reference(x[0], x[0], mask[0], layer.get_weights(), 2)[0]
    close(call(layer, x, mask=mask)[0], expected)


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
def test_a_query_without_a_valid_key_has_zero_weights(dtype):
    layer = randomized(CachedMultiHeadAttention(2, dtype=dtype), (None, None, 8))
    mask = np.array([[True] * 3, [False] * 3])
    got, weights = float32_of(call(layer, normal(2, 3, 8), mask=mask, return_weights=True))
    assert not np.any(weights[1])
    close(got[1], np.tile(layer.get_weights()[-1], (3, 1)), atol=0.02)


def test_rotary_depends_on_distances_only():
    layer = randomized(CachedMultiHeadAttention(2, causal=True, rotary=True), (None, None, 8))
    x = np.repeat(normal(1, 1, 8), 5, axis=1)
    x[:, 0] = normal(8, seed=1)
    cache = layer.initial_cache(1, 40)
    shifted, _ = call(layer, x, mask=np.arange(40)[None] >= 20, cache=cache, position=np.array([20], "int32"))
    plain = call(layer, x)
    close(shifted, plain)
    assert np.abs(plain[0, 1] - plain[0, 4]).max() > 1e-3


def test_dropout_of_the_weights_acts_in_training_only():
    layer = randomized(CachedMultiHeadAttention(2, dropout=0.5), (None, None, 8))
    x = normal(3, 7, 8)
    plain = call(layer, x)
    close(plain, call(layer, x, training=False))
    assert np.abs(call(layer, x, training=True) - plain).max() > 1e-2


def test_passes_the_layer_test_of_keras(keras_layer_test):
    options = {"head_dim": 3, "causal": True, "use_bias": False, "kernel_initializer": "he_normal"}
    keras_layer_test(
        CachedMultiHeadAttention,
        init_kwargs={"num_heads": 2, **options},
        input_shape=(2, 5, 4),
        expected_output_shape=(2, 5, 4),
        expected_num_trainable_weights=4,
        expected_num_non_trainable_weights=0,
        expected_num_losses=0,
        supports_masking=True,
    )
    keras_layer_test(
        CachedMultiHeadAttention,
        init_kwargs={"num_heads": 2, "dropout": 0.5},
        input_shape={"query_shape": (2, 5, 4), "value_shape": (2, 3, 6)},
        input_dtype={"query_shape": "float32", "value_shape": "float32"},
        expected_output_shape=(2, 5, 4),
        expected_num_trainable_weights=8,
        expected_num_seed_generators=1,
        expected_num_non_trainable_variables=1,
        run_training_check=False,
        supports_masking=True,
    )


def test_a_model_with_the_layer_survives_saving(survives_saving):
    x, z, mask = keras.Input((None, 8)), keras.Input((None, 6)), keras.Input((None,), dtype="bool")
    model = keras.Model([x, z, mask], CachedMultiHeadAttention(2)(x, z, mask=mask, return_weights=True))
    assert [tuple(y.shape) for y in model.outputs] == [(None, None, 8), (None, 2, None, None)]
    survives_saving(model, [normal(3, 4, 8), normal(3, 7, 6), MASK])


def test_invalid_arguments_are_refused():
    for options, message in [
        ({"num_heads": 0}, "num_heads is 0"),
        ({"num_heads": 2, "head_dim": 0}, "head_dim is 0"),
        ({"num_heads": 2, "dropout": 1.0}, "dropout is 1.0"),
    ]:
        with pytest.raises(ValueError, match=message):
            CachedMultiHeadAttention(**options)
    x, start = normal(2, 5, 6), np.zeros(2, "int32")
    with pytest.raises(ValueError, match="6 is not divisible by num_heads 4"):
        CachedMultiHeadAttention(4)(x)
    with pytest.raises(ValueError, match="head_dim is 3"):
        CachedMultiHeadAttention(2, rotary=True)(x)
    causal = randomized(CachedMultiHeadAttention(2, causal=True), (None, None, 6))
    cache = causal.initial_cache(2, 4)
    with pytest.raises(ValueError, match="cache and position must be given together"):
        causal(x, cache=cache)
    with pytest.raises(ValueError, match="5 steps do not fit into a cache of 4"):
        causal(x, cache=cache, position=start)
    with pytest.raises(ValueError, match="a cache is for self-attention"):
        causal(x[:, :1], x, cache=cache, position=start)
    for options in ({}, {"mask": np.ones((2, 4), bool), "query": x[:, :2]}):
        with pytest.raises(ValueError, match="slot needs a cache, a mask"):
            causal(**{"query": x[:, :1], "cache": cache, "position": start, "slot": 1, **options})
    for options in ({"slot": None}, {"query": x[:, :2], "slot": None, "projected": cache, "cache": None}):
        with pytest.raises(ValueError, match="hypotheses need a slot"):
            causal(**{"query": x[:, :1], "cache": cache, "position": start, "hypotheses": 2, **options})
    with pytest.raises(ValueError, match="give one of them"):
        causal(x, x, projected=cache)
    with pytest.raises(ValueError, match="a cache needs causal"):
        CachedMultiHeadAttention(2)(x[:, :1], cache=cache, position=start)
    with pytest.raises(ValueError, match="rotary is for self-attention"):
        CachedMultiHeadAttention(1, rotary=True)(x, normal(2, 3, 6))
    with pytest.raises(ValueError, match="rotary is for self-attention"):
        CachedMultiHeadAttention(1, rotary=True)(x, x)
    for rank in (1, 4):
        with pytest.raises(ValueError, match="mask has shape"):
            CachedMultiHeadAttention(2)(x, mask=np.ones((2, 3, 3, 3)[:rank]))
    for method in (lambda layer: layer.initial_cache(2, 3), lambda layer: layer.project(x)):
        with pytest.raises(ValueError, match="not built"):
            method(CachedMultiHeadAttention(2))


@pytest.mark.parametrize("position", [4, -1])
def test_a_step_outside_of_the_cache_raises_or_gives_nan(position):
    layer = randomized(CachedMultiHeadAttention(2, causal=True), (None, None, 8))
    steps, cache = normal(2, 1, 8), layer.initial_cache(2, 4)
    if keras.backend.backend() == "tensorflow":
        with pytest.raises(Exception, match="does not index into shape"):
            layer(steps, cache=cache, position=np.array([position, 0]))
    else:
        got, _ = layer(steps, cache=cache, position=np.array([position, 0]))
        assert np.isnan(numpy_of(got)[0]).all() and np.isfinite(numpy_of(got)[1]).all()
    assert np.isnan(numpy_of(layer(steps, cache=cache, position=position)[0])).all()


@needs_tensorflow
def test_one_slot_for_all_rows_is_written_without_a_scatter():
    """The given cache, which the test still refers to, does not change."""
    import tensorflow as tf

    layer = randomized(CachedMultiHeadAttention(2, causal=True), (None, None, 8))
    step = tf.function(lambda x, cache, position: layer(x, cache=cache, position=position))
    steps, cache = normal(2, 1, 8), layer.initial_cache(2, 4)
    got, new_cache = step(steps, cache, tf.constant(2))
    assert not np.any(cache["key"]) and np.any(new_cache["key"][:, :, 2]) and not np.any(new_cache["key"][:, :, :2])
    expected, scattered = layer(steps, cache=cache, position=np.array([2, 2]))
    close(got, expected)
    close(new_cache["value"], scattered["value"])
    names = {node.op for node in step.get_concrete_function(steps, cache, tf.constant(2)).graph.as_graph_def().node}
    assert "TensorStridedSliceUpdate" in names and not {name for name in names if "Scatter" in name or "Xla" in name}
