import itertools

import keras
import numpy as np
import pytest
from keras import ops

from layers import CRF
from tests.layers.checks import (
    BACKEND,
    check_gradients,
    close,
    in_float64,
    normal,
    numpy_of,
    randomized,
    value_and_gradients,
)

ALLOWED = [[True, True, False], [True, False, True], [True, True, True]]
ENDS = {"allowed_start": [True, True, False], "allowed_end": [False, True, True]}
CONSTRAINTS = pytest.mark.parametrize("constraints", [{}, {"allowed": ALLOWED, **ENDS}], ids=["free", "constrained"])
LENGTHS = np.array([4, 1, 3, 0, 2])
MASK = np.arange(4) < LENGTHS[:, None]


def all_paths(crf, logits):
    """Every sequence of tags [paths, time] of one row's valid logits, with its score in float64, best first."""
    transitions, start, end = (weight.astype("float64") for weight in crf.get_weights())
    if crf.allowed is not None:
        transitions = np.where(crf.allowed, transitions, -np.inf)
        start, end = np.where(crf.allowed_start, start, -np.inf), np.where(crf.allowed_end, end, -np.inf)
    time, tags = logits.shape
    paths = np.array(list(itertools.product(range(tags), repeat=time)), int).reshape(tags**time, time)
    if not time:
        return paths, np.zeros(1)
    scores = logits[np.arange(time), paths].sum(1) + start[paths[:, 0]] + end[paths[:, -1]]
    scores = scores + transitions[paths[:, :-1], paths[:, 1:]].sum(1)
    order = np.argsort(-scores, kind="stable")
    return paths[order], scores[order]


def log_sum(scores):
    return scores.max() + np.log(np.exp(scores - scores.max()).sum())


def log_sums(scores, axis):
    largest = scores.max(axis=axis, keepdims=True)
    return np.log(np.exp(scores - largest).sum(axis=axis)) + largest.squeeze(axis)


def forward_backward(crf, logits):
    """log Z and marginals [time, tags] of one row, by the textbook's recursions in float64."""
    transitions, start, end = (weight.astype("float64") for weight in crf.get_weights())
    if crf.allowed is not None:
        transitions = np.where(crf.allowed, transitions, -1e300)
        start, end = np.where(crf.allowed_start, start, -1e300), np.where(crf.allowed_end, end, -1e300)
    forward, backward = [start + logits[0]], [end]
    for x in logits[1:]:
        forward.append(x + log_sums(forward[-1][:, None] + transitions, 0))
    for x in logits[:0:-1]:
        backward.append(log_sums(transitions + x + backward[-1], 1))
    joint = np.array(forward) + np.array(backward[::-1])
    log_z = log_sums(joint[0], 0)
    return log_z, np.exp(joint - log_z)


def randomized_crf(constraints, tags=3, **kwargs):
    return randomized(CRF(**constraints, **kwargs), (None, None, tags), scale=1.0)


@pytest.fixture
def batch():
    """Logits [5, 4, 3] whose padding is NaN, and their mask. The rows have 4, 1, 3, 0 and 2 valid positions."""
    logits = 2 * normal(5, 4, 3)
    logits[~MASK] = np.nan
    return logits, MASK


@pytest.mark.any_backend
@CONSTRAINTS
def test_equals_the_sum_over_all_sequences(constraints, batch):
    logits, mask = batch
    crf = randomized_crf(constraints)
    partition, marginals = numpy_of(crf.log_partition(logits, mask)), numpy_of(crf.marginals(logits, mask))
    tags, scores = numpy_of(crf.decode(logits, mask))
    likelihood = numpy_of(crf.log_likelihood(logits, np.where(mask, tags, 7), mask))
    assert tags.dtype == "int32"
    for row, length in enumerate(LENGTHS):
        paths, path_scores = all_paths(crf, logits[row, :length])
        close(partition[row], log_sum(path_scores))
        np.testing.assert_array_equal(tags[row], [*paths[0], *[0] * (4 - length)])
        close(scores[row], path_scores[0])
        close(likelihood[row], path_scores[0] - log_sum(path_scores))
        expected = np.zeros((4, 3))
        for path, score in zip(paths, path_scores, strict=True):
            expected[np.arange(length), path] += np.exp(score - log_sum(path_scores))
        close(marginals[row], expected)


@pytest.mark.any_backend
@CONSTRAINTS
@pytest.mark.parametrize("n", [1, 5])
def test_the_n_best_sequences_equal_those_of_all_sequences(constraints, n, batch):
    logits, mask = batch
    crf = randomized_crf(constraints)
    tags, scores = numpy_of(crf.decode_n_best(logits, mask, n=n))
    assert tags.shape == (5, n, 4) and tags.dtype == "int32"
    for row, length in enumerate(LENGTHS):
        paths, path_scores = all_paths(crf, logits[row, :length])
        expected = min(n, np.isfinite(path_scores).sum())
        np.testing.assert_array_equal(tags[row, :expected, :length], paths[:expected])
        close(scores[row, :expected], path_scores[:expected])
        assert np.all(tags[row, :, length:] == 0)
        assert np.all(scores[row, expected:] < -1e5)


@pytest.mark.any_backend
@in_float64
def test_gradient_equals_finite_differences(batch):
    logits, mask = np.nan_to_num(batch[0]).astype("float64"), batch[1]
    crf = randomized_crf({"allowed": ALLOWED, **ENDS}, dtype="float64")
    tags = np.array([[0, 1, 0, 1], [1, 0, 0, 0], [1, 0, 1, 2], [0, 0, 0, 0], [0, 1, 2, 2]])
    weights = ops.convert_to_tensor(normal(5, seed=3, dtype="float64"))

    check_gradients(lambda x: ops.sum(crf.log_likelihood(x, tags, mask) * weights), crf.trainable_variables, [logits])


@pytest.mark.any_backend
def test_padding_and_other_rows_change_no_result(batch):
    logits, mask = batch
    crf = randomized_crf({"allowed": ALLOWED, **ENDS})
    tags = np.where(mask, numpy_of(crf.decode(logits, mask)[0]), 99)

    def results(rows, time):
        x, m = logits[rows, :time], mask[rows, :time]
        by_position = [*numpy_of([crf.marginals(x, m), crf.decode(x, m)[0]])]
        by_row = [crf.log_likelihood(x, tags[rows, :time], m), crf.log_partition(x, m), crf.decode(x, m)[1]]
        return by_position, numpy_of([*by_row, *crf.decode_n_best(x, m, n=2)])

    by_position, by_row = results(slice(None), 4)
    alone_by_position, alone_by_row = results(slice(2, 3), 3)
    close([x[2:3, :3] for x in by_position], alone_by_position)
    close([*[x[2:3] for x in by_row[:3]], by_row[3][2:3, :, :3], by_row[4][2:3]], alone_by_row)
    assert not any(np.any(x[~mask]) for x in by_position)


@pytest.mark.any_backend
def test_the_gradient_of_the_log_partition_is_the_marginals(batch):
    logits, mask = batch
    crf = randomized_crf({"allowed": ALLOWED, **ENDS})
    function = value_and_gradients(lambda x: ops.sum(crf.log_partition(x, mask)), crf.trainable_variables)
    _, (gradient, *of_weights) = function([logits, *crf.get_weights()])
    close(gradient, crf.marginals(logits, mask))
    for of_weight, allowed in zip(of_weights, (ALLOWED, *ENDS.values()), strict=True):
        assert not np.any(of_weight[~np.array(allowed)]) and np.all(of_weight[np.array(allowed)] > 0)


def test_forbidden_tags_have_a_finite_loss(batch):
    crf = randomized_crf({"allowed": ALLOWED, **ENDS})
    likelihood = numpy_of(crf.log_likelihood(batch[0], np.full((5, 4), 2), batch[1]))
    assert np.all(np.isfinite(likelihood)) and np.all(likelihood[LENGTHS > 0] < -1e5)


@pytest.mark.any_backend
def test_long_sequences_with_huge_logits_are_exact():
    logits = normal(2, 100, 3) * 10
    logits[1] = np.random.default_rng(5).choice([-1000.0, 1000.0], size=(100, 3))
    crf = randomized_crf({"allowed": ALLOWED, **ENDS})
    partition, marginals = numpy_of([crf.log_partition(logits), crf.marginals(logits)])
    for row in range(2):
        log_z, expected = forward_backward(crf, logits[row].astype("float64"))
        close(partition[row], log_z, rtol=1e-6)
        close(marginals[row], expected, atol=1e-3)
    close(np.sum(marginals, axis=-1), np.ones((2, 100)))
    tags, scores = numpy_of(crf.decode(logits))
    assert np.all(np.array(ALLOWED)[tags[:, :-1], tags[:, 1:]])
    close(numpy_of(crf.log_likelihood(logits, tags)), scores - partition, atol=0.05)


@pytest.mark.any_backend
def test_one_position_is_a_softmax_of_logits_start_and_end():
    crf = randomized_crf({})
    logits = normal(2, 1, 3)
    _, start, end = crf.get_weights()
    expected = np.exp(logits + start + end)
    close(crf.marginals(logits), expected / expected.sum(axis=-1, keepdims=True), atol=1e-6)


def test_a_new_layer_is_a_softmax_at_each_position():
    logits, tags = normal(2, 5, 3), np.array([[0, 1, 2, 1, 0], [2, 2, 1, 0, 0]])
    log_softmax = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    expected = np.take_along_axis(log_softmax, tags[..., None], axis=-1).sum(axis=(1, 2))
    close(CRF().log_likelihood(logits, tags), expected)


@pytest.mark.any_backend
def test_results_are_float32_under_a_bfloat16_policy(batch):
    logits, mask = batch
    crf, precise = randomized_crf({}, dtype="mixed_bfloat16"), randomized_crf({})
    tags = np.zeros((5, 4), "int32")
    close(crf.loss(tags, crf(logits, mask=mask)), precise.loss(tags, precise(logits, mask=mask)), atol=0)
    half = ops.cast(np.where(mask[..., None], logits, 0.0), "bfloat16")
    close(crf.log_partition(half, mask), precise.log_partition(ops.cast(half, "float32"), mask), atol=0)
    assert keras.backend.standardize_dtype(crf(half, mask=mask).dtype) == "float32"


@pytest.mark.any_backend
def test_the_loss_reads_the_mask_from_the_output(batch):
    logits, mask = batch
    crf = randomized_crf({})
    tags = np.where(mask, 1, 7)
    close(crf.loss(tags, crf(logits, mask=mask)), -numpy_of(crf.log_likelihood(logits, tags, mask)), atol=1e-6)
    close(crf.loss(tags[:1], crf(logits[:1])), -numpy_of(crf.log_likelihood(logits[:1], tags[:1])), atol=1e-6)
    # A network that diverged has the loss NaN: its output is not taken for padding.
    assert np.isnan(numpy_of(crf.loss(np.ones((5, 4)), crf(logits)))[1])


def alternating_tags():
    """Ids, tags and mask. The first word determines the first tag; then tags 1 and 2 alternate over equal words."""
    rng = np.random.default_rng(0)
    first, lengths = rng.integers(1, 3, size=64), rng.integers(1, 9, size=64)
    mask = np.arange(8) < lengths[:, None]
    ids = np.where(mask, 3, 0)
    ids[:, 0] = first
    return ids, np.where(mask, (first[:, None] + np.arange(8) - 1) % 2 + 1, 0), mask


@pytest.mark.any_backend
@pytest.mark.long
def test_training_learns_transitions_which_no_single_word_shows():
    ids, tags, mask = alternating_tags()
    inputs = keras.Input((None,), dtype="int32")
    crf = CRF()
    logits = keras.layers.Embedding(4, 3, embeddings_initializer="zeros")(inputs)
    model = keras.Model(inputs, crf(logits, mask=keras.ops.not_equal(inputs, 0)))
    model.compile(keras.optimizers.Adam(0.2), loss=crf.loss)
    history = model.fit(ids, tags, epochs=15, batch_size=32, verbose=0).history["loss"]
    assert history[-1] < 0.3 < history[0]
    decoded = numpy_of(crf.decode(model(ids), mask)[0])
    np.testing.assert_array_equal(decoded, tags)


@pytest.mark.any_backend
def test_the_loss_of_a_single_tag_is_zero():
    inputs = keras.Input((None, 1))
    crf = CRF()
    model = keras.Model(inputs, crf(inputs))
    model.compile("sgd", loss=crf.loss, run_eagerly=BACKEND == "tensorflow")
    close(model.evaluate(normal(2, 3, 1), np.zeros((2, 3)), verbose=0), 0.0)


def test_passes_the_layer_test_of_keras(keras_layer_test):
    keras_layer_test(
        CRF,
        init_kwargs={"allowed": ALLOWED, "allowed_start": np.array([True, True, False])},
        input_shape=(2, 5, 3),
        expected_output_shape=(2, 5, 3),
        expected_num_trainable_weights=3,
        expected_num_non_trainable_weights=0,
        expected_num_losses=0,
        supports_masking=True,
        run_training_check=False,  # the output does not depend on the weights: they train through `loss` only
    )


def test_a_model_with_the_layer_survives_saving(batch, survives_saving):
    x, mask = keras.Input((None, 3)), keras.Input((None,), dtype="bool")
    crf = CRF(allowed=ALLOWED, **ENDS)
    model = keras.Model([x, mask], crf(x, mask=mask))
    assert crf.count_params() == 3 * 3 + 2 * 3
    survives_saving(model, [np.nan_to_num(batch[0]), batch[1]])


def test_a_compiled_model_loads_without_its_loss(tmp_path):
    x = keras.Input((None, 3))
    crf = randomized_crf({"allowed": ALLOWED})
    model = keras.Model(x, crf(x))
    model.compile("sgd", loss=crf.loss)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras", compile=False).layers[-1]
    assert loaded.allowed == ALLOWED
    close(loaded.get_weights(), crf.get_weights(), atol=0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"allowed": [[True, False]]}, r"allowed has the shape \(1, 2\): for logits of 3 tags it must be \(3, 3\)"),
        ({"allowed_start": [True]}, r"allowed_start has the shape \(1,\)"),
        ({"allowed_end": ALLOWED}, r"allowed_end has the shape \(3, 3\)"),
    ],
)
def test_refuses_constraints_of_another_number_of_tags(arguments, message):
    with pytest.raises(ValueError, match=message):
        CRF(**arguments).build((None, None, 3))


def test_refuses_n_below_one(batch):
    with pytest.raises(ValueError, match="n is 0"):
        randomized_crf({}).decode_n_best(*batch, n=0)
