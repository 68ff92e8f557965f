import keras
import numpy as np
import pytest
from keras import ops

from layers.multi_head_attention import CachedMultiHeadAttention
from layers.positional import SinusoidalPositionalEncoding
from layers.transformer import TransformerDecoderBlock, TransformerEncoderBlock

TENSORFLOW = keras.backend.backend() == "tensorflow"
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


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def array(tensor):
    return ops.convert_to_numpy(tensor)


def close(got, expected, atol=1e-5):
    np.testing.assert_allclose(array(got), array(expected), atol=atol)


def randomised(layer, *shapes, seed=3):
    """The layer, built, with no weight left at its initial zero or one: a term at zero cannot be seen missing."""
    layer.build(*shapes)
    rng = np.random.default_rng(seed)
    layer.set_weights([w + rng.normal(scale=0.3, size=w.shape) for w in layer.get_weights()])
    return layer


def encoder(**options):
    return randomised(TransformerEncoderBlock(2, 16, **options), (None, None, 8))


def decoder(cross, **options):
    return randomised(TransformerDecoderBlock(2, 16, **options), (None, None, 8), (None, None, 6) if cross else None)


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attention_reference(x, z, seen, weights, heads):
    """One sequence: x [Tq, dx], z [Tk, dz], seen bool [Tq, Tk]. A loop over the heads, as the paper writes them."""
    wq, bq, wk, bk, wv, bv, wo, bo = weights
    q, k, v = (np.split(a, heads, axis=-1) for a in (x @ wq + bq, z @ wk + bk, z @ wv + bv))
    contexts, all_weights = [], []
    for i in range(heads):
        scores = np.where(seen, q[i] @ k[i].T / np.sqrt(q[i].shape[-1]), -1e9)
        all_weights.append(softmax(scores))
        contexts.append(all_weights[-1] @ v[i])
    return np.concatenate(contexts, axis=-1) @ wo + bo, np.stack(all_weights)


class TestAttention:
    @pytest.mark.parametrize("causal", [False, True])
    def test_self_attention_equals_numpy(self, causal):
        layer = randomised(CachedMultiHeadAttention(2, causal=causal), (None, None, 8))
        x = normal(3, 7, 8)
        got, weights = layer(x, mask=MASK, return_weights=True)
        for row in range(3):
            seen = np.tril(np.ones((7, 7), bool)) if causal else np.ones((7, 7), bool)
            expected = attention_reference(x[row], x[row], seen & MASK[row], layer.get_weights(), 2)
            close(got[row], expected[0])
            close(weights[row], expected[1])

    def test_cross_attention_equals_numpy_projected_or_not(self):
        layer = randomised(CachedMultiHeadAttention(2, head_dim=5), (None, None, 8), (None, None, 6))
        x, z = normal(3, 4, 8), normal(3, 7, 6, seed=1)
        got = layer(x, z, mask=MASK)
        for row in range(3):
            seen = np.broadcast_to(MASK[row], (4, 7))
            close(got[row], attention_reference(x[row], z[row], seen, layer.get_weights(), 2)[0])
        close(layer(x, projected=layer.project(ops.convert_to_tensor(z)), mask=MASK), got)
        assert layer.count_params() == (8 + 1) * 10 + 2 * (6 + 1) * 10 + (10 + 1) * 8

    def test_equals_keras(self):
        ours = randomised(CachedMultiHeadAttention(2, causal=True), (None, None, 8))
        theirs = keras.layers.MultiHeadAttention(2, 4)
        theirs.build((None, None, 8), (None, None, 8))
        theirs.set_weights([w.reshape(t.shape) for w, t in zip(ours.get_weights(), theirs.weights, strict=True)])
        x = normal(3, 7, 8)
        both = theirs(x, x, attention_mask=MASK[:, None, :], use_causal_mask=True, return_attention_scores=True)
        for got, expected in zip(ours(x, mask=MASK, return_weights=True), both, strict=True):
            close(got, expected)

    def test_gradient_by_finite_differences(self):
        if not TENSORFLOW:
            pytest.skip("float64 is float32 there")
        import tensorflow as tf

        x = normal(3, 7, 4).astype("float64")
        layer = randomised(CachedMultiHeadAttention(2, dtype="float64"), (None, None, 4))
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(x, mask=MASK) ** 2)
        gradients = tape.gradient(loss, [v.value for v in layer.trainable_variables])
        weights = layer.get_weights()

        def reference(k, index, step):
            moved = [w.copy() for w in weights]
            moved[k][index] += step
            seen = [np.broadcast_to(valid, (7, 7)) for valid in MASK]
            return sum(np.sum(attention_reference(x[i], x[i], seen[i], moved, 2)[0] ** 2) for i in range(3))

        for k, gradient in enumerate(gradients):
            for index in np.ndindex(weights[k].shape):
                expected = (reference(k, index, 1e-5) - reference(k, index, -1e-5)) / 2e-5
                assert gradient.numpy()[index] == pytest.approx(expected, rel=1e-5, abs=1e-5)

    def test_a_mask_per_query(self):
        layer = randomised(CachedMultiHeadAttention(2), (None, None, 8))
        x = normal(1, 3, 8)
        seen = np.array([[[True, False, False], [True, True, True], [False, False, True]]])
        expected = attention_reference(x[0], x[0], seen[0], layer.get_weights(), 2)[0]
        close(layer(x, mask=seen)[0], expected)

    @pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
    def test_a_query_that_sees_nothing_gets_zero_weights(self, dtype):
        layer = randomised(CachedMultiHeadAttention(2, dtype=dtype), (None, None, 8))
        got, weights = layer(normal(2, 3, 8), mask=np.array([[True] * 3, [False] * 3]), return_weights=True)
        assert not np.any(array(ops.cast(weights[1], "float32")))
        close(ops.cast(got[1], "float32"), np.tile(layer.get_weights()[-1], (3, 1)), atol=0.02)

    def test_rotary_sees_distances_alone(self):
        layer = randomised(CachedMultiHeadAttention(2, causal=True, rotary=True), (None, None, 8))
        x = np.repeat(normal(1, 1, 8), 5, axis=1)
        x[:, 0] = normal(8, seed=1)
        cache = layer.initial_cache(1, 40)
        shifted, _ = layer(x, mask=np.arange(40)[None] >= 20, cache=cache, position=np.array([20], "int32"))
        close(shifted, layer(x))
        assert np.abs(array(layer(x))[0, 1] - array(layer(x))[0, 4]).max() > 1e-3

    def test_dropout_of_the_weights_in_training_alone(self):
        layer = randomised(CachedMultiHeadAttention(2, dropout=0.5), (None, None, 8))
        x = normal(3, 7, 8)
        close(layer(x), layer(x, training=False))
        assert np.abs(array(layer(x, training=True)) - array(layer(x))).max() > 1e-2

    def test_keras_own_layer_test(self, keras_layer_test):
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

    def test_saved_in_a_model(self, survives_saving):
        x, z, mask = keras.Input((None, 8)), keras.Input((None, 6)), keras.Input((None,), dtype="bool")
        model = keras.Model([x, z, mask], CachedMultiHeadAttention(2)(x, z, mask=mask, return_weights=True))
        assert [tuple(y.shape) for y in model.outputs] == [(None, None, 8), (None, 2, None, None)]
        survives_saving(model, [normal(3, 4, 8), normal(3, 7, 6), MASK])

    def test_refuses_the_impossible(self):
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
        causal = randomised(CachedMultiHeadAttention(2, causal=True), (None, None, 6))
        cache = causal.initial_cache(2, 4)
        with pytest.raises(ValueError, match="cache and position belong together"):
            causal(x, cache=cache)
        with pytest.raises(ValueError, match="5 steps do not fit into a cache of 4"):
            causal(x, cache=cache, position=start)
        with pytest.raises(ValueError, match="a cache is for self-attention"):
            causal(x[:, :1], x, cache=cache, position=start)
        with pytest.raises(ValueError, match="give one"):
            causal(x, x, projected=cache)
        with pytest.raises(ValueError, match="a cache needs causal"):
            CachedMultiHeadAttention(2)(x[:, :1], cache=cache, position=start)
        with pytest.raises(ValueError, match="rotary is for self-attention"):
            CachedMultiHeadAttention(1, rotary=True)(x, normal(2, 3, 6))


class TestBlocks:
    @pytest.mark.parametrize("norm", ["post", "pre"])
    @pytest.mark.parametrize("activation", ["relu", "gelu", "swiglu"])
    def test_encoder_equals_the_same_from_keras_layers(self, norm, activation):
        block = encoder(norm=norm, activation=activation)
        x = normal(3, 7, 8)
        close(block(x, mask=MASK), self.from_keras(block, x, None, MASK), atol=2e-5)

    @pytest.mark.parametrize("norm", ["post", "pre"])
    @pytest.mark.parametrize("cross", [False, True])
    def test_decoder_equals_the_same_from_keras_layers(self, norm, cross):
        block = decoder(cross, norm=norm)
        x, z = normal(3, 5, 8), normal(3, 7, 6, seed=1) if cross else None
        got = block(x, z, encoder_mask=MASK) if cross else block(x)
        close(got, self.from_keras(block, x, z, MASK, causal=True), atol=2e-5)

    def from_keras(self, block, x, z, mask, causal=False):
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

    @STYLES
    def test_padding_and_neighbours_change_nothing(self, style):
        x, z = normal(3, 7, 8), normal(3, 7, 6, seed=1)
        padded = np.where(MASK[..., None], x, 50.0).astype("float32")
        block = encoder(**style)
        for row, length in enumerate(LENGTHS):
            close(block(padded, mask=MASK)[row, :length], block(x[row : row + 1, :length])[0], atol=2e-5)
        block = decoder(True, **style)
        got = block(padded, np.where(MASK[..., None], z, 50.0).astype("float32"), mask=MASK, encoder_mask=MASK)
        for row, length in enumerate(LENGTHS):
            alone = block(x[row : row + 1, :length], z[row : row + 1, :length])
            close(got[row, :length], alone[0], atol=2e-5)

    @STYLES
    def test_the_future_changes_nothing(self, style):
        block, x = decoder(False, **style), normal(2, 6, 8)
        changed = x.copy()
        changed[:, 4] += normal(8, seed=1)  # no constant: a layer normalisation takes it away
        before, after = array(block(x)), array(block(changed))
        np.testing.assert_array_equal(before[:, :4], after[:, :4])
        assert np.all(np.abs(before - after)[:, 4:].max(axis=-1) > 1e-4)

    def test_dropout_in_training_alone(self):
        for block in (encoder(dropout=0.5), encoder(attention_dropout=0.5), decoder(False, dropout=0.5)):
            x = normal(2, 6, 8)
            close(block(x), block(x, training=False))
            assert np.abs(array(block(x, training=True)) - array(block(x))).max() > 1e-2

    def test_keras_own_layer_test(self, keras_layer_test):
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

    def test_parameter_counts(self):
        d, m, dz = 8, 16, 6
        plain = 4 * d * (d + 1) + 4 * d + (d + 1) * m + (m + 1) * d
        assert encoder().count_params() == decoder(False).count_params() == plain
        assert encoder(activation="swiglu").count_params() == plain + (d + 1) * m
        assert decoder(True).count_params() == plain + 2 * d * (d + 1) + 2 * d * (dz + 1) + 2 * d

    def test_encoder_saved_in_a_model(self, survives_saving):
        x, mask = keras.Input((None, 8)), keras.Input((None,), dtype="bool")
        y, weights = TransformerEncoderBlock(2, 16)(x, mask=mask, return_weights=True)
        y = TransformerEncoderBlock(2, 16, norm="pre", activation="swiglu", rotary=True)(y, mask=mask)
        assert tuple(y.shape) == (None, None, 8) and tuple(weights.shape) == (None, 2, None, None)
        survives_saving(keras.Model([x, mask], [y, weights]), [normal(3, 7, 8), MASK])

    def test_decoder_saved_in_a_model(self, survives_saving):
        x, z = keras.Input((None, 8)), keras.Input((None, 6))
        mask = keras.Input((None,), dtype="bool")
        y, weights = TransformerDecoderBlock(2, 16)(x, z, encoder_mask=mask, return_weights=True)
        y = TransformerDecoderBlock(2, 16, norm="pre")(y)
        model = keras.Model([x, z, mask], [y, weights["self"], weights["cross"]])
        survives_saving(model, [normal(3, 5, 8), normal(3, 7, 6), MASK])

    def test_refuses_the_impossible(self):
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
        with pytest.raises(ValueError, match="and nowhere else"):
            crossed.initial_cache(2, 4)


class TestDecoding:
    @STYLES
    @pytest.mark.parametrize("cross", [False, True])
    def test_steps_equal_the_full_pass(self, style, cross):
        """Prompts of unequal length at once, then a step at a time, each row from its own position."""
        block, x, z = decoder(cross, **style), normal(3, 9, 8), normal(3, 7, 6, seed=1) if cross else None
        masks = {"encoder_mask": MASK} if cross else {}
        whole, seen = block(x, *([z] if cross else []), return_weights=True, **masks)
        prompts = np.array([4, 1, 2])
        prompt = np.where(np.arange(4)[None, :, None] < prompts[:, None, None], x[:, :4], 50.0).astype("float32")
        cache = block.initial_cache(3, 9, ops.convert_to_tensor(z) if cross else None)
        got, cache = block(prompt, cache=cache, position=np.zeros(3, "int32"), **masks)
        for row, length in enumerate(prompts):
            close(got[row, :length], whole[row, :length])
        for step in range(5):
            position = (prompts + step).astype("int32")
            rows = np.arange(3)
            got, weights, cache = block(
                x[rows, position][:, None], cache=cache, position=position, return_weights=True, **masks
            )
            close(got[:, 0], array(whole)[rows, position])
            for name in seen:
                close(weights[name][:, :, 0], array(seen[name])[rows, :, position])

    def test_bfloat16_keeps_its_cache_in_bfloat16(self):
        block, x = decoder(False, dtype="mixed_bfloat16"), normal(2, 3, 8)
        cache = block.initial_cache(2, 3)
        whole = array(ops.cast(block(x), "float32"))
        for t in range(3):
            got, cache = block(x[:, t : t + 1], cache=cache, position=np.full(2, t, "int32"))
            np.testing.assert_allclose(array(ops.cast(got, "float32"))[:, 0], whole[:, t], atol=0.1)
        assert {keras.backend.standardize_dtype(leaf.dtype) for leaf in keras.tree.flatten(cache)} == {"bfloat16"}

    def test_a_step_in_a_functional_model(self):
        block, x = decoder(False), normal(2, 1, 8)
        cache = block.initial_cache(2, 4)
        inputs = {
            "x": keras.Input((1, 8), name="x"),
            "position": keras.Input((), dtype="int32", name="position"),
            "cache": {"self": {name: keras.Input((4, 2, 4), name=name) for name in ("key", "value")}},
        }
        outputs = block(inputs["x"], cache=inputs["cache"], position=inputs["position"])
        model, position = keras.Model(inputs, outputs), np.zeros(2, "int32")
        got, _ = model({"x": ops.convert_to_tensor(x), "position": ops.convert_to_tensor(position), "cache": cache})
        close(got, block(x, cache=cache, position=position)[0])

    @pytest.mark.skipif(not TENSORFLOW, reason="a SavedModel is TensorFlow's")
    def test_an_exported_greedy_loop_equals_greedy_full_passes(self, tmp_path):
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
                ids.append(int(np.argmax(array(logits)[0, -1])))
            assert list(got[row]) == ids[length:]
        assert len(set(got.ravel())) > 1

        tf.saved_model.save(module, str(tmp_path))
        reloaded = tf.saved_model.load(str(tmp_path))
        np.testing.assert_array_equal(reloaded.generate(prompts, lengths, sources).numpy(), got)
        graph = module.generate.get_concrete_function().graph.as_graph_def()
        nodes = [*graph.node, *(node for function in graph.library.function for node in function.node_def)]
        used = {node.op for node in nodes}
        assert "TensorScatterUpdate" in used and not [op for op in used if op.startswith("Xla")]


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
