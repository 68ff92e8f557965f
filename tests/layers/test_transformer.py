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

LENGTHS = np.array([7, 1, 4])  # a row with a single valid position among them
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


@pytest.mark.parametrize(("norm", "activation"), [("post", "relu"), ("pre", "gelu"), ("pre", "swiglu"), ("post", "gelu")])
def test_encoder_equals_the_same_from_keras_layers(norm, activation):
    block = encoder(norm=norm, activation=activation)
    x = normal(3, 7, 8)
    close(call(block, x, mask=MASK), from_keras(block, x, None, MASK), atol=2e-5)


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("cross", [False, True])
def test_decoder_equals_the_same_from_keras_layers(norm, cross):
    block = decoder(cross, norm=norm)
    x, z = normal(3, 5, 8), normal(3, 7, 6, seed=1) if cross else None
    got = call(block, x, z, encoder_mask=MASK) if cross else call(block, x)
    close(got, from_keras(block, x, z, MASK, causal=True), atol=2e-5)


def from_keras(block, x, z, mask, causal=False):
    """The equations of the block again, each sublayer one of Keras's with the same weights."""
    d, taken = 8, list(block.get_weights())

    def take(layer, *shapes):
        layer.build(*shapes)
        layer.set_weights([taken.pop(0).reshape(w.shape) for w in layer.weights])
        return layer

    def attend(z_shape):
        return take(keras.layers.MultiHeadAttention(2, d // 2), (None, None, d), z_shape)

    def norm_layer():
        return take(keras.layers.LayerNormalization(epsilon=1e-5), (None, None, d))

    def join(x, norm, f):
        return x + f(norm(x)) if block.norm == "pre" else norm(x + f(x))

    attention, norm = attend((None, None, d)), norm_layer()
    attention_mask = None if causal else mask[:, None, :]
    x = join(x, norm, lambda y: attention(y, y, attention_mask=attention_mask, use_causal_mask=causal))
    if z is not None:
        cross, norm = attend((None, None, 6)), norm_layer()
        x = join(x, norm, lambda y: cross(y, z, attention_mask=mask[:, None, :]))
    activation = {"swiglu": "silu"}.get(block.activation, block.activation)
    hidden = take(keras.layers.Dense(16, activation=activation), (None, None, d))
    gate = take(keras.layers.Dense(16), (None, None, d)) if block.activation == "swiglu" else None
    output, norm = take(keras.layers.Dense(d), (None, None, 16)), norm_layer()
    x = join(x, norm, lambda y: output(hidden(y) * gate(y) if gate else hidden(y)))
    assert not taken
    return x


@in_float64
@STYLES
def test_gradient_equals_finite_differences(style):
    x, z = normal(3, 7, 8, dtype="float64"), normal(3, 7, 6, seed=1, dtype="float64")
    for block, arrays, masks in (
        (encoder(dtype="float64", **style), [x], {"mask": MASK}),
        (decoder(True, dtype="float64", **style), [x, z], {"encoder_mask": MASK}),
    ):
        variables = [v for v in block.trainable_variables if "key/bias" not in v.path]  # no softmax sees it: all zeros
        check_gradients(lambda *arrays: ops.sum(ops.sin(block(*arrays, **masks))), variables, arrays)  # noqa: B023


@STYLES
def test_padding_and_neighbours_change_nothing(style):
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
def test_the_future_changes_nothing(style):
    block, x = decoder(False, **style), normal(2, 6, 8)
    changed = x.copy()
    changed[:, 4] += normal(8, seed=1)  # no constant: a layer normalisation takes it away
    before, after = call(block, x), call(block, changed)
    np.testing.assert_array_equal(before[:, :4], after[:, :4])
    assert np.all(np.abs(before - after)[:, 4:].max(axis=-1) > 1e-4)


def test_dropout_in_training_alone():
    for block in (encoder(dropout=0.5), encoder(attention_dropout=0.5), decoder(False, dropout=0.5)):
        x = normal(2, 6, 8)
        plain = call(block, x)
        close(plain, call(block, x, training=False))
        assert np.abs(call(block, x, training=True) - plain).max() > 1e-2


def test_keras_own_layer_test(keras_layer_test):
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


def test_encoder_saved_in_a_model(survives_saving):
    x, mask = keras.Input((None, 8)), keras.Input((None,), dtype="bool")
    y, weights = TransformerEncoderBlock(2, 16)(x, mask=mask, return_weights=True)
    y = TransformerEncoderBlock(2, 16, norm="pre", activation="swiglu", rotary=True)(y, mask=mask)
    assert tuple(y.shape) == (None, None, 8) and tuple(weights.shape) == (None, 2, None, None)
    survives_saving(keras.Model([x, mask], [y, weights]), [normal(3, 7, 8), MASK])


def test_decoder_saved_in_a_model(survives_saving):
    x, z = keras.Input((None, 8)), keras.Input((None, 6))
    mask = keras.Input((None,), dtype="bool")
    y, weights = TransformerDecoderBlock(2, 16)(x, z, encoder_mask=mask, return_weights=True)
    y = TransformerDecoderBlock(2, 16, norm="pre")(y)
    model = keras.Model([x, z, mask], [y, weights["self"], weights["cross"]])
    survives_saving(model, [normal(3, 5, 8), normal(3, 7, 6), MASK])


def test_refuses_the_impossible():
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
    with pytest.raises(ValueError, match="it needs them"):
        crossed(x)
    with pytest.raises(ValueError, match="give them to initial_cache"):
        crossed(x, z, cache=crossed.initial_cache(2, 4, ops.convert_to_tensor(z)), position=start)
    with pytest.raises(ValueError, match="a cache needs no mask"):
        alone(x, mask=np.ones((2, 1), bool), cache=alone.initial_cache(2, 4), position=start)
    with pytest.raises(ValueError, match="give them to initial_cache"):
        crossed(x, cache=crossed.initial_cache(2, 4, ops.convert_to_tensor(z)), position=start, encoder_mask=np.ones((2, 3)))
    with pytest.raises(ValueError, match="and nowhere else"):
        crossed.initial_cache(2, 4)
    with pytest.raises(ValueError, match="not built"):
        TransformerDecoderBlock(2, 4).initial_cache(2, 4)


@STYLES
@pytest.mark.parametrize("cross", [False, True])
def test_steps_equal_the_full_pass(style, cross):
    """Prompts of unequal length at once, then a step at a time, each row from its own position."""
    block, x, z = decoder(cross, **style), normal(3, 9, 8), normal(3, 7, 6, seed=1) if cross else None
    whole, seen = call(block, x, *([z] if cross else []), return_weights=True, **({"encoder_mask": MASK} if cross else {}))
    prompts = np.array([4, 1, 2])
    prompt = np.where(np.arange(4)[None, :, None] < prompts[:, None, None], x[:, :4], 50.0).astype("float32")
    cache = block.initial_cache(3, 9, *([ops.convert_to_tensor(z), MASK] if cross else []))
    got, cache = call(block, prompt, cache=cache, position=0)
    for row, length in enumerate(prompts):
        close(got[row, :length], whole[row, :length])
    for step in range(5):
        position = prompts + step  # int64
        rows = np.arange(3)
        arguments = {"cache": cache, "position": position, "return_weights": True}
        got, weights, cache = block(x[rows, position][:, None], **arguments)
        close(got[:, 0], whole[rows, position])
        for name in seen:
            close(weights[name][:, :, 0], seen[name][rows, :, position])


@STYLES
def test_a_ring_of_slots_equals_the_full_pass(style):
    """Rows of unequal length write to one slot, the slots in turn: a row's steps are in those before it, wherever it stands."""
    block, x, size = decoder(False, **style), normal(3, 9, 8), 5
    cache, position = block.initial_cache(3, size), np.array([0, 0, 0], "int32")
    begins = np.array([0, 2, 7])
    for time in range(9):
        alive = time >= begins
        position = np.where(alive, np.minimum(position + 1, size), position).astype("int32")
        seen = (time - np.arange(size)) % size < position[:, None]
        steps = np.where(alive[:, None], x[np.arange(3), np.maximum(time - begins, 0)], 9.0).astype("float32")
        at = np.maximum(time - begins, 0).astype("int32")
        got, cache = call(block, steps[:, None], cache=cache, position=at, slot=time % size, mask=seen)
        for row in np.flatnonzero(alive):
            past = x[row : row + 1, : at[row] + 1]
            within = np.tril(np.ones((1, at[row] + 1, at[row] + 1), bool), 0)
            within &= ~np.tril(np.ones_like(within), -size)
            close(got[row, 0], call(block, past, mask=within)[0, -1])


def test_bfloat16_keeps_its_cache_in_bfloat16():
    block, x = decoder(False, dtype="mixed_bfloat16"), normal(2, 3, 8)
    cache = block.initial_cache(2, 3)
    whole = float32_of(call(block, x))
    for t in range(3):
        got, cache = block(x[:, t : t + 1], cache=cache, position=np.full(2, t, "int32"))
        close(float32_of(got)[:, 0], whole[:, t], atol=0.1)
    assert {keras.backend.standardize_dtype(leaf.dtype) for leaf in keras.tree.flatten(cache)} == {"bfloat16"}


def test_a_step_in_a_functional_model():
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


@needs_tensorflow
def test_an_exported_greedy_loop_equals_greedy_full_passes(tmp_path):
    """step(ids, state) -> (logits, state) inside tf.while_loop, in a SavedModel without an op that needs XLA."""
    import tensorflow as tf

    model = LanguageModel()
    prompts = np.array([[3, 5, 7], [4, 0, 0], [6, 2, 0]], "int32")
    lengths, sources = np.array([3, 1, 2], "int32"), normal(3, 7, 6)
    module = tf.Module()
    module.model = model
    signature = [tf.TensorSpec([None, None], "int32"), tf.TensorSpec([None], "int32"), tf.TensorSpec([None, None, 6])]
    module.generate = tf.function(model.generate, input_signature=signature)
    got = module.generate(prompts, lengths, sources).numpy()

    for row, length in enumerate(lengths):
        ids = list(prompts[row, :length])
        for _ in range(model.new):
            logits = model.full(np.array([ids], "int32"), ops.convert_to_tensor(sources[row : row + 1]))
            ids.append(int(np.argmax(numpy_of(logits)[0, -1])))
        assert list(got[row]) == ids[length:]
    assert len(set(got.ravel())) > 1

    tf.saved_model.save(module, str(tmp_path))
    reloaded = tf.saved_model.load(str(tmp_path))
    np.testing.assert_array_equal(reloaded.generate(prompts, lengths, sources).numpy(), got)
    assert "TensorScatterUpdate" in ops_without_xla(module.generate)


class LanguageModel(keras.Model):
    """Two decoder blocks over an encoder's outputs, and the contract of decoding."""

    new, max_length = 5, 8

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
        written = tf.TensorArray("int32", size=self.new, element_shape=[None]).write(0, ids)

        def body(i, ids, state, written):
            logits, state = self.step(ids[:, None], state)
            ids = tf.argmax(logits[:, 0], axis=-1, output_type="int32")
            return i + 1, ids, state, written.write(i, ids)

        *_, written = tf.while_loop(lambda i, *_: i < self.new, body, (1, ids, state, written))
        return tf.transpose(written.stack())
