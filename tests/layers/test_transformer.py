import keras
import numpy as np
import pytest
from keras import ops

from layers.positional import SinusoidalPositionalEncoding
from layers.transformer import TransformerDecoderBlock, TransformerEncoderBlock
from tests.layers.checks import (
    call,
    check_gradients,
    close,
    float32_of,
    in_float64,
    needs_tensorflow,
    normal,
    numpy_of,
    ops_without_xla,
    randomized,
)

LENGTHS = np.array([7, 1, 4])  # one row has a single valid position
MASK = np.arange(7) < LENGTHS[:, None]
STYLES = pytest.mark.parametrize(
    "style",
    [
        {"norm": "post", "activation": "relu"},
        {"norm": "pre", "activation": "gelu"},
        {"norm": "pre", "activation": "swiglu", "rotary": True},
    ],
    ids=["post-relu", "pre-gelu", "pre-swiglu-rotary"],
)


def encoder(**options):
    return randomized(TransformerEncoderBlock(2, 16, **options), (None, None, 8))


def decoder(cross, **options):
    return randomized(TransformerDecoderBlock(2, 16, **options), (None, None, 8), (None, None, 6) if cross else None)


@pytest.mark.any_backend
@pytest.mark.parametrize(
    ("norm", "activation"), [("post", "relu"), ("pre", "gelu"), ("pre", "swiglu"), ("post", "gelu")]
)
def test_encoder_equals_the_block_from_keras_layers(norm, activation):
    block = encoder(norm=norm, activation=activation)
    x = normal(3, 7, 8)
    close(call(block, x, mask=MASK), from_keras(block, x, None, MASK), atol=2e-5)


@pytest.mark.any_backend
@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("cross", [False, True])
def test_decoder_equals_the_block_from_keras_layers(norm, cross):
    block = decoder(cross, norm=norm)
    x, z = normal(3, 5, 8), normal(3, 7, 6, seed=1) if cross else None
    got = call(block, x, z, encoder_mask=MASK) if cross else call(block, x)
    close(got, from_keras(block, x, z, MASK, causal=True), atol=2e-5)


def from_keras(block, x, z, mask, causal=False):
    """The outputs of the block, computed with the layers of Keras and the same weights."""
    d, weights = 8, list(block.get_weights())
    x = ops.convert_to_tensor(x)

    def with_weights(layer, *shapes):
        layer.build(*shapes)
        layer.set_weights([weights.pop(0).reshape(w.shape) for w in layer.weights])
        return layer

    def attention_layer(z_shape):
        return with_weights(keras.layers.MultiHeadAttention(2, d // 2), (None, None, d), z_shape)

    def norm_layer():
        return with_weights(keras.layers.LayerNormalization(epsilon=1e-5), (None, None, d))

    def residual(x, norm, f):
        return x + f(norm(x)) if block.norm == "pre" else norm(x + f(x))

    attention, norm = attention_layer((None, None, d)), norm_layer()
    attention_mask = None if causal else mask[:, None, :]
    x = residual(x, norm, lambda y: attention(y, y, attention_mask=attention_mask, use_causal_mask=causal))
    if z is not None:
        cross, norm = attention_layer((None, None, 6)), norm_layer()
        x = residual(x, norm, lambda y: cross(y, z, attention_mask=mask[:, None, :]))
    activation = {"swiglu": "silu"}.get(block.activation, block.activation)
    hidden = with_weights(keras.layers.Dense(16, activation=activation), (None, None, d))
    gate = with_weights(keras.layers.Dense(16), (None, None, d)) if block.activation == "swiglu" else None
    output, norm = with_weights(keras.layers.Dense(d), (None, None, 16)), norm_layer()
    x = residual(x, norm, lambda y: output(hidden(y) * gate(y) if gate else hidden(y)))
    assert not weights
    return x


@pytest.mark.any_backend
@in_float64
@STYLES
def test_gradient_equals_finite_differences(style):
    x, z = normal(3, 7, 8, dtype="float64"), normal(3, 7, 6, seed=1, dtype="float64")
    for block, arrays, masks in (
        (encoder(dtype="float64", **style), [x], {"mask": MASK}),
        (decoder(True, dtype="float64", **style), [x, z], {"encoder_mask": MASK}),
    ):
        # The gradient of the key's bias is zero, because a softmax does not change if all its scores shift equally.
        variables = [v for v in block.trainable_variables if "key/bias" not in v.path]
        check_gradients(lambda *arrays: ops.sum(ops.sin(block(*arrays, **masks))), variables, arrays)  # noqa: B023


@pytest.mark.any_backend
@STYLES
def test_padding_and_other_rows_change_no_result(style):
    x, z = normal(3, 7, 8), normal(3, 7, 6, seed=1)
    padded_x, padded_z = (np.where(MASK[..., None], a, 50.0).astype("float32") for a in (x, z))
    block = encoder(**style)
    got = call(block, padded_x, mask=MASK)
    for row, length in enumerate(LENGTHS):
        close(got[row, :length], call(block, x[row : row + 1, :length])[0], atol=2e-5)
    block = decoder(True, **style)
    got = call(block, padded_x, padded_z, mask=MASK, encoder_mask=MASK)
    for row, length in enumerate(LENGTHS):
        alone = call(block, x[row : row + 1, :length], z[row : row + 1, :length])
        close(got[row, :length], alone[0], atol=2e-5)


@STYLES
def test_later_steps_change_no_earlier_output(style):
    block, x = decoder(False, **style), normal(2, 6, 8)
    changed = x.copy()
    changed[:, 4] += normal(8, seed=1)  # not a constant, which layer normalization would remove
    outputs, changed_outputs = call(block, x), call(block, changed)
    np.testing.assert_array_equal(outputs[:, :4], changed_outputs[:, :4])
    assert np.all(np.abs(outputs - changed_outputs)[:, 4:].max(axis=-1) > 1e-4)


def test_dropout_acts_in_training_only():
    for block in (encoder(dropout=0.5), encoder(attention_dropout=0.5), decoder(False, dropout=0.5)):
        x = normal(2, 6, 8)
        plain = call(block, x)
        close(plain, call(block, x, training=False))
        assert np.abs(call(block, x, training=True) - plain).max() > 1e-2


@pytest.mark.long
def test_passes_the_layer_test_of_keras(keras_layer_test):
    style = {"dropout": 0.1, "activation": "swiglu", "norm": "pre", "rotary": True, "norm_epsilon": 1e-3}
    keras_layer_test(
        TransformerEncoderBlock,
        init_kwargs={"num_heads": 2, "intermediate_size": 8, "kernel_initializer": "he_normal", **style},
        input_shape=(2, 5, 4),
        expected_output_shape=(2, 5, 4),
        expected_num_trainable_weights=8 + 4 + 6,
        expected_num_seed_generators=1,
        expected_num_losses=0,
        supports_masking=True,
    )
    keras_layer_test(
        TransformerDecoderBlock,
        init_kwargs={"num_heads": 2, "intermediate_size": 8},
        input_shape=(2, 5, 4),
        expected_output_shape=(2, 5, 4),
        expected_num_trainable_weights=8 + 4 + 4,
        expected_num_losses=0,
        supports_masking=True,
    )
    keras_layer_test(
        TransformerDecoderBlock,
        init_kwargs={"num_heads": 2, "intermediate_size": 8, "attention_dropout": 0.1},
        input_shape={"inputs_shape": (2, 5, 4), "encoder_outputs_shape": (2, 3, 6)},
        input_dtype={"inputs_shape": "float32", "encoder_outputs_shape": "float32"},
        expected_output_shape=(2, 5, 4),
        expected_num_trainable_weights=8 + 8 + 6 + 4,
        run_training_check=False,
        supports_masking=True,
    )


def test_parameter_counts():
    d, m, dz = 8, 16, 6
    plain = 4 * d * (d + 1) + 4 * d + (d + 1) * m + (m + 1) * d
    assert encoder().count_params() == decoder(False).count_params() == plain
    assert encoder(activation="swiglu").count_params() == plain + (d + 1) * m
    assert decoder(True).count_params() == plain + 2 * d * (d + 1) + 2 * d * (dz + 1) + 2 * d


@pytest.mark.long
def test_a_model_with_encoder_blocks_survives_saving(survives_saving):
    x, mask = keras.Input((None, 8)), keras.Input((None,), dtype="bool")
    y, weights = TransformerEncoderBlock(2, 16)(x, mask=mask, return_weights=True)
    y = TransformerEncoderBlock(2, 16, norm="pre", activation="swiglu", rotary=True)(y, mask=mask)
    assert tuple(y.shape) == (None, None, 8) and tuple(weights.shape) == (None, 2, None, None)
    survives_saving(keras.Model([x, mask], [y, weights]), [normal(3, 7, 8), MASK])


@pytest.mark.long
def test_a_model_with_decoder_blocks_survives_saving(survives_saving):
    x, z = keras.Input((None, 8)), keras.Input((None, 6))
    mask = keras.Input((None,), dtype="bool")
    y, weights = TransformerDecoderBlock(2, 16)(x, z, encoder_mask=mask, return_weights=True)
    y = TransformerDecoderBlock(2, 16, norm="pre")(y)
    model = keras.Model([x, z, mask], [y, weights["self"], weights["cross"]])
    survives_saving(model, [normal(3, 5, 8), normal(3, 7, 6), MASK])


def test_invalid_arguments_are_refused():
    for options, message in [
        ({"num_heads": 0}, "num_heads is 0"),
        ({"intermediate_size": 0}, "intermediate_size is 0"),
        ({"dropout": 1.0}, "dropout is 1.0"),
        ({"attention_dropout": -0.1}, "attention_dropout is -0.1"),
        ({"activation": "tanh"}, "relu, gelu, swiglu"),
        ({"norm": "none"}, "post or pre"),
    ]:
        with pytest.raises(ValueError, match=message):
            TransformerEncoderBlock(**{"num_heads": 2, "intermediate_size": 4, **options})
    x, z, start = normal(2, 1, 8), normal(2, 3, 6), np.zeros(2, "int32")
    alone, crossed = decoder(False), decoder(True)
    with pytest.raises(ValueError, match="no cross-attention"):
        alone(x, z)
    with pytest.raises(ValueError, match="give encoder_outputs, or a cache"):
        crossed(x)
    cache = crossed.initial_cache(2, 4, ops.convert_to_tensor(z))
    with pytest.raises(ValueError, match="give them to initial_cache only"):
        crossed(x, z, cache=cache, position=start)
    with pytest.raises(ValueError, match="mask with a cache needs a slot"):
        alone(x, mask=np.ones((2, 1), bool), cache=alone.initial_cache(2, 4), position=start)
    with pytest.raises(ValueError, match="give them to initial_cache only"):
        crossed(x, cache=cache, position=start, encoder_mask=np.ones((2, 3)))
    with pytest.raises(ValueError, match="if and only if the block has cross-attention"):
        crossed.initial_cache(2, 4)
    with pytest.raises(ValueError, match="not built"):
        TransformerDecoderBlock(2, 4).initial_cache(2, 4)


@pytest.mark.any_backend
@STYLES
@pytest.mark.parametrize("cross", [False, True])
def test_steps_equal_the_full_pass(style, cross):
    """One call for prompts of different lengths, then one call per step, with a different position in each row."""
    block, x, z = decoder(cross, **style), normal(3, 9, 8), normal(3, 7, 6, seed=1) if cross else None
    encoder = ([z], {"encoder_mask": MASK}) if cross else ([], {})
    outputs, full_weights = call(block, x, *encoder[0], return_weights=True, **encoder[1])
    prompts = np.array([4, 1, 2])
    prompt = np.where(np.arange(4)[None, :, None] < prompts[:, None, None], x[:, :4], 50.0).astype("float32")
    cache = block.initial_cache(3, 9, *([ops.convert_to_tensor(z), MASK] if cross else []))
    got, cache = call(block, prompt, cache=cache, position=0)
    for row, length in enumerate(prompts):
        close(got[row, :length], outputs[row, :length])
    for step in range(5):
        position = prompts + step  # int64
        rows = np.arange(3)
        arguments = {"cache": cache, "position": position, "return_weights": True}
        got, weights, cache = block(x[rows, position][:, None], **arguments)
        close(got[:, 0], outputs[rows, position])
        for name in full_weights:
            close(weights[name][:, :, 0], full_weights[name][rows, :, position])


@pytest.mark.any_backend
@STYLES
def test_a_ring_of_slots_equals_the_full_pass(style):
    """All rows write to the same slot, and the slots are used in turn. So a row's last steps are in the last slots."""
    block, x, num_slots = decoder(False, **style), normal(3, 9, 8), 5
    cache, num_valid = block.initial_cache(3, num_slots), np.array([0, 0, 0], "int32")
    starts = np.array([0, 2, 7])  # the time at which each row starts
    for time in range(9):
        started = time >= starts
        num_valid = np.where(started, np.minimum(num_valid + 1, num_slots), num_valid).astype("int32")
        mask = (time - np.arange(num_slots)) % num_slots < num_valid[:, None]
        position = np.maximum(time - starts, 0).astype("int32")
        steps = np.where(started[:, None], x[np.arange(3), position], 9.0).astype("float32")
        got, cache = call(block, steps[:, None], cache=cache, position=position, slot=time % num_slots, mask=mask)
        for row in np.flatnonzero(started):
            length = position[row] + 1
            window = np.tril(np.ones((1, length, length), bool), 0)
            window &= ~np.tril(np.ones_like(window), -num_slots)
            close(got[row, 0], call(block, x[row : row + 1, :length], mask=window)[0, -1])


@pytest.mark.any_backend
@STYLES
def test_hypotheses_that_share_a_cache_equal_the_full_pass_of_each(style):
    """Two rows of three hypotheses; each step continues others, and only the mask of their past moves."""
    block, k, steps = decoder(True, **style), 3, 4
    z, in_source = normal(2, 5, 6, seed=1), np.arange(5) < np.array([[5], [2]])
    cache = block.initial_cache(2, steps * k, z, in_source)
    past, texts = np.zeros((2, k, steps * k), bool), np.zeros((2, k, 0, 8), "float32")
    for time in range(steps):
        parents = np.random.default_rng(time).integers(0, k, (2, k))
        past, texts = (np.take_along_axis(a, parents.reshape(2, k, *[1] * (a.ndim - 2)), axis=1) for a in (past, texts))
        x = normal(2, k, 1, 8, seed=10 + time)
        past[:, np.arange(k), time * k + np.arange(k)], texts = True, np.concatenate([texts, x], axis=2)
        options = {"position": time, "slot": time * k, "mask": past, "hypotheses": k, "return_weights": True}
        got, weights, cache = call(block, x.reshape(2 * k, 1, 8), cache=cache, static={"hypotheses"}, **options)
        whole = texts.reshape(2 * k, time + 1, 8)
        expected = call(block, whole, np.repeat(z, k, axis=0), encoder_mask=np.repeat(in_source, k, axis=0))
        close(got[:, 0], expected[:, -1])
        assert weights["self"].shape == (2, 2, k, steps * k) and weights["cross"].shape == (2, 2, k, 5)


def test_bfloat16_keeps_its_cache_in_bfloat16():
    block, x = decoder(False, dtype="mixed_bfloat16"), normal(2, 3, 8)
    cache = block.initial_cache(2, 3)
    outputs = float32_of(call(block, x))
    for t in range(3):
        got, cache = block(x[:, t : t + 1], cache=cache, position=np.full(2, t, "int32"))
        close(float32_of(got)[:, 0], outputs[:, t], atol=0.1)
    assert {keras.backend.standardize_dtype(leaf.dtype) for leaf in keras.tree.flatten(cache)} == {"bfloat16"}


def test_a_step_works_in_a_functional_model():
    block, x = decoder(False), normal(2, 1, 8)
    cache = block.initial_cache(2, 4)
    inputs = {
        "x": keras.Input((1, 8), name="x"),
        "position": keras.Input((), dtype="int32", name="position"),
        "cache": {"self": {name: keras.Input((2, 4, 4), name=name) for name in ("key", "value")}},
    }
    outputs = block(inputs["x"], cache=inputs["cache"], position=inputs["position"])
    model, position = keras.Model(inputs, outputs), np.zeros(2, "int32")
    got, _ = model({"x": ops.convert_to_tensor(x), "position": ops.convert_to_tensor(position), "cache": cache})
    close(got, block(x, cache=cache, position=position)[0])


@pytest.mark.any_backend
@needs_tensorflow
@pytest.mark.long
def test_an_exported_greedy_loop_equals_greedy_full_passes(tmp_path):
    """step(ids, state) -> (logits, state) runs in a tf.while_loop, in a SavedModel without ops that need XLA."""
    import tensorflow as tf

    model = LanguageModel()
    prompts = np.array([[3, 5, 7], [4, 0, 0], [6, 2, 0]], "int32")
    lengths, sources = np.array([3, 1, 2], "int32"), normal(3, 7, 6)
    module = tf.Module()
    module.model = model
    signature = [tf.TensorSpec([None, None], "int32"), tf.TensorSpec([None], "int32"), tf.TensorSpec([None, None, 6])]
    module.generate = tf.function(model.generate, input_signature=signature)
    generated = module.generate(prompts, lengths, sources).numpy()

    for row, length in enumerate(lengths):
        ids = list(prompts[row, :length])
        for _ in range(model.num_new):
            logits = model.full(np.array([ids], "int32"), ops.convert_to_tensor(sources[row : row + 1]))
            ids.append(int(np.argmax(numpy_of(logits)[0, -1])))
        assert list(generated[row]) == ids[length:]
    assert len(set(generated.ravel())) > 1

    tf.saved_model.save(module, str(tmp_path))
    reloaded = tf.saved_model.load(str(tmp_path))
    np.testing.assert_array_equal(reloaded.generate(prompts, lengths, sources).numpy(), generated)
    assert "TensorScatterUpdate" in ops_without_xla(module.generate)


class LanguageModel(keras.Model):
    """Two decoder blocks over an encoder's outputs, with `start` and `step` for decoding."""

    num_new, max_length = 5, 8

    def __init__(self):
        super().__init__()
        keras.utils.set_random_seed(1)
        self.embedding = keras.layers.Embedding(11, 8, embeddings_initializer="normal")
        self.positions = SinusoidalPositionalEncoding()
        self.blocks = [decoder(True), decoder(True, norm="pre", rotary=True)]
        self.logits = keras.layers.Dense(11, kernel_initializer="normal")

    def full(self, ids, sources):
        x = self.positions(self.embedding(ids))
        for block in self.blocks:
            x = block(x, sources)
        return self.logits(x)

    def start(self, sources):
        batch = ops.shape(sources)[0]
        caches = {f"block_{i}": b.initial_cache(batch, self.max_length, sources) for i, b in enumerate(self.blocks)}
        return {"position": ops.zeros((batch,), "int32"), **caches}

    def step(self, ids, state):
        state = dict(state)
        x = self.positions(self.embedding(ids), start=state["position"])
        for i, block in enumerate(self.blocks):
            x, state[f"block_{i}"] = block(x, cache=state[f"block_{i}"], position=state["position"])
        state["position"] += ops.shape(ids)[1]
        return self.logits(x), state

    def generate(self, prompts, lengths, sources):
        import tensorflow as tf

        logits, state = self.step(prompts, self.start(sources))
        state["position"] = lengths
        ids = tf.argmax(tf.gather(logits, lengths - 1, batch_dims=1), axis=-1, output_type="int32")
        generated = tf.TensorArray("int32", size=self.num_new, element_shape=[None]).write(0, ids)

        def body(i, ids, state, generated):
            logits, state = self.step(ids[:, None], state)
            ids = tf.argmax(logits[:, 0], axis=-1, output_type="int32")
            return i + 1, ids, state, generated.write(i, ids)

        *_, generated = tf.while_loop(lambda i, *_: i < self.num_new, body, (1, ids, state, generated))
        return tf.transpose(generated.stack())
