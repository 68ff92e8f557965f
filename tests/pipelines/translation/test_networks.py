import numpy as np
import pytest
import tensorflow as tf

from pipelines.translation import networks
from pipelines.translation.config import TranslationConfig


@pytest.mark.long
def test_padding_and_the_other_rows_change_nothing(small, pairs, encode):
    source, target = encode(small, pairs, 4)
    together = small.model({"source": source, "target": target}).numpy()
    for row in range(4):
        alone_source, alone_target = (
            ids[row : row + 1][:, : int(tf.math.count_nonzero(ids[row]))] for ids in (source, target)
        )
        padded = tf.pad(alone_source, [[0, 0], [0, 5]])
        for ids in (alone_source, padded):
            alone = small.model({"source": ids, "target": alone_target}).numpy()[0]
            np.testing.assert_allclose(together[row, : len(alone)], alone, atol=1e-5)


def test_a_position_does_not_see_later_positions(small, pairs, encode):
    source, target = encode(small, pairs, 1)
    reversed_end = tf.concat([target[:, :3], target[:, 3:][:, ::-1]], axis=1)
    logits = [small.model({"source": source, "target": ids}).numpy() for ids in (target, reversed_end)]
    np.testing.assert_allclose(logits[0][:, :3], logits[1][:, :3], atol=1e-5)
    assert np.abs(logits[0] - logits[1]).max() > 0.1


def test_every_token_of_the_source_matters(small, pairs, encode):
    source, target = (ids.numpy() for ids in encode(small, pairs, 1))
    length = source.shape[1] - 1  # without END
    sources, targets = np.repeat(source, length + 1, axis=0), np.repeat(target, length + 1, axis=0)
    for i in range(length):
        sources[i + 1, i] = 100 if source[0, i] != 100 else 101
    logits = small.model({"source": sources, "target": targets}).numpy()
    assert np.abs(logits[1:] - logits[0]).max(axis=(1, 2)).min() > 1e-4


def test_attention_weights_of_each_position_sum_to_1(small, pairs, encode):
    source, target = encode(small, pairs, 3)
    parts = networks.layers_by_name(small.model)
    encoded = networks.encode(small.config, parts, source)
    logits, weights = networks.decode(small.config, parts, encoded, target, return_weights=True)
    np.testing.assert_allclose(logits, small.model({"source": source, "target": target}), atol=1e-5)
    if small.config.model in ("single-rnn", "rnn"):
        assert weights is None
        return
    heads = small.config.num_heads if small.config.model == "transformer" else 1
    assert weights.shape == (3, heads, target.shape[1], source.shape[1])
    np.testing.assert_allclose(np.sum(weights, axis=-1), 1.0, atol=1e-5)
    assert not np.any(np.where(source.numpy()[:, None, None] == 0, weights, 0)), "no weight on padding"


def test_a_joint_vocabulary_has_one_embedding(make_small):
    joint, separate = (networks.layers_by_name(make_small(kind).model) for kind in ("transformer", "transformer, post"))
    assert joint["source_tokens"] is joint["target_tokens"]
    assert separate["source_tokens"] is not separate["target_tokens"]


@pytest.mark.parametrize(("hidden_size", "feedforward_size"), [(8, None), (8, 20)])
def test_the_feedforward_size_sets_the_number_of_parameters(hidden_size, feedforward_size):
    flags = {"hidden_size": hidden_size, "num_layers": 1, "num_heads": 2}
    config = TranslationConfig(**flags, feedforward_size=feedforward_size).resolve()
    size = feedforward_size or 2 * hidden_size
    weights = [tuple(weight.shape) for weight in networks.build(config, 20, 20).trainable_variables]
    assert weights.count((hidden_size, size)) == 2, "one network in the encoder, one in the decoder"


@pytest.mark.parametrize("score", ["additive", "dot", "scaled_dot", "general"])
@pytest.mark.parametrize("style", ["bahdanau", "luong"])
def test_every_attention_score_works_in_both_styles(score, style):
    flags = {"model": "attention", "attention_score": score, "attention_style": style, "hidden_size": 8}
    config = TranslationConfig(**flags, embedding_size=4).resolve()
    config.check()
    model = networks.build(config, 20, 20)
    logits = model({"source": np.array([[5, 6, 3]]), "target": np.array([[2, 7]])})
    assert logits.shape == (1, 2, 20) and np.isfinite(logits).all()


def test_reversing_the_source_is_the_same_as_a_reversed_text():
    flags = {"model": "single-rnn", "hidden_size": 8, "embedding_size": 4}
    plain, reverse = (TranslationConfig(**flags, reverse_source=value).resolve() for value in (False, True))
    models = [networks.build(config, 20, 20) for config in (plain, reverse)]
    models[1].set_weights(models[0].get_weights())
    target = np.array([[2, 7]])
    outputs = [
        model({"source": np.array([ids]), "target": target}).numpy()
        for model, ids in zip(models, ([3, 6, 5], [5, 6, 3]), strict=True)
    ]
    np.testing.assert_allclose(*outputs, atol=1e-6)


def test_without_the_context_at_each_step_only_the_first_states_know_the_source():
    flags = {"model": "rnn", "hidden_size": 8, "embedding_size": 4}
    every, first = (TranslationConfig(**flags, context=value).resolve() for value in ("every-step", "first-step"))
    models = [networks.build(config, 20, 20) for config in (every, first)]
    # The decoder's GRU and the output read 8 numbers less: 3 gates of 8 units, and the output's embedding of 4.
    assert models[0].count_params() - models[1].count_params() == 8 * 3 * 8 + 8 * 4
    for model, knows in zip(models, (True, False), strict=True):
        for layer in ("first_1",):  # the initial state is zero, whatever the source is
            model.get_layer(layer).set_weights([np.zeros_like(w) for w in model.get_layer(layer).get_weights()])
        target = np.array([[2, 7]])
        outputs = [model({"source": np.array([ids]), "target": target}).numpy() for ids in ([5, 6, 3], [9, 8, 3])]
        assert (np.abs(outputs[0] - outputs[1]).max() > 1e-6) == knows
