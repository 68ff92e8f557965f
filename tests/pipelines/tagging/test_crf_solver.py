import itertools

import keras
import numpy as np
import pytest
from scipy import optimize, sparse

from layers import CRF
from pipelines.tagging import crf_solver
from pipelines.tagging.crf_solver import Potentials, Rules, Weights

LENGTHS = np.array([2, 5, 1, 4, 5])
TAGS = 3
SPANS = ("B-A", "I-A", "O")


def test_only_the_begin_or_the_inside_of_a_span_comes_before_its_inside():
    rules = Rules.of_spans(SPANS)
    for i, previous in enumerate(SPANS):
        for j, tag in enumerate(SPANS):
            assert rules.allowed[i, j] == (not tag.startswith("I-") or previous in (f"B-{tag[2:]}", tag))
    assert rules.allowed_start.tolist() == [not tag.startswith("I-") for tag in SPANS]


@pytest.fixture
def data():
    """Features of the tokens [tokens, features] and their tags, which obey the rules of SPANS."""
    rng = np.random.default_rng(0)
    features = sparse.random(LENGTHS.sum(), 12, 0.3, format="csr", rng=rng, dtype="float32")
    features.data[:] = 1
    tags = np.array([0, 1, 2, 0, 1, 1, 2, 0, 2, 0, 1, 2, 2, 0, 0, 1, 2])
    return features, tags


def scores_of_paths(unary, weights: Weights, rules: Rules):
    """The score of each possible sequence of tags of one sentence."""
    found = {}
    for path in itertools.product(range(TAGS), repeat=len(unary)):
        steps = list(itertools.pairwise(path))
        if rules.allowed_start[path[0]] and all(rules.allowed[step] for step in steps):
            score = weights.start[path[0]] + weights.end[path[-1]] + sum(weights.transitions[step] for step in steps)
            found[path] = score + sum(unary[t, tag] for t, tag in enumerate(path))
    return found


def random_weights(seed, features=12):
    rng = np.random.default_rng(seed)
    return Weights(
        sparse.csr_matrix(rng.normal(size=(features, TAGS))),
        *(rng.normal(size=each) for each in ((TAGS, TAGS), TAGS, TAGS)),
    )


@pytest.mark.parametrize("rules", [Rules.none(TAGS), Rules.of_spans(SPANS)])
def test_the_expectations_are_those_of_all_sequences(rules):
    weights = random_weights(1)
    unary = np.random.default_rng(2).normal(size=(LENGTHS.sum(), TAGS)) * 3
    order = np.argsort(-LENGTHS, kind="stable")
    first = np.cumsum(LENGTHS) - LENGTHS
    chunk = crf_solver.Chunk.of(first[order], LENGTHS[order])
    scores = (
        np.where(rules.allowed, weights.transitions, -np.inf),
        np.where(rules.allowed_start, weights.start, -np.inf),
    )
    log_z, marginals, pairs = chunk.expectations(unary[chunk.tokens], *scores, weights.end)
    expected_z, expected, expected_pairs = 0.0, np.zeros_like(unary), np.zeros((TAGS, TAGS))
    for start, length in zip(first, LENGTHS, strict=True):
        paths = scores_of_paths(unary[start : start + length], weights, rules)
        z = np.logaddexp.reduce(list(paths.values()))
        expected_z += z
        for path, score in paths.items():
            for t, tag in enumerate(path):
                expected[start + t, tag] += np.exp(score - z)
            for step in itertools.pairwise(path):
                expected_pairs[step] += np.exp(score - z)
    np.testing.assert_allclose(log_z, expected_z, rtol=1e-12)
    np.testing.assert_allclose(marginals, expected[chunk.tokens], atol=1e-12)
    np.testing.assert_allclose(pairs, expected_pairs, atol=1e-12)


def test_the_gradient_is_that_of_the_loss(data):
    problem = crf_solver._Problem(*data, LENGTHS, Rules.of_spans(SPANS), 0.1)
    point = np.random.default_rng(3).normal(size=len(problem.observed))
    with crf_solver.futures.ThreadPoolExecutor(2) as pool:
        numeric = optimize.approx_fprime(point, lambda vector: problem.loss(vector, pool)[0], 1e-4)
        np.testing.assert_allclose(problem.loss(point, pool)[1], numeric, atol=2e-2)


def test_the_loss_is_that_of_the_layer(data):
    features, tags = data
    rules = Rules.of_spans(SPANS)
    problem = crf_solver._Problem(features, tags, LENGTHS, rules, 0.1)
    point = np.random.default_rng(3).normal(size=len(problem.observed))
    weights = problem.weights(point)
    crf = CRF(**rules._asdict())
    crf.build((None, None, TAGS))
    for variable, value in ((crf.transitions, weights.transitions), (crf.start, weights.start), (crf.end, weights.end)):
        variable.assign(value)
    unary, total = (features @ weights.features).toarray(), 0.0
    for rows in np.split(np.arange(len(tags)), np.cumsum(LENGTHS)[:-1]):
        total -= float(crf.log_likelihood(unary[rows][None], tags[rows][None])[0])
    with crf_solver.futures.ThreadPoolExecutor(2) as pool:
        np.testing.assert_allclose(problem.loss(point, pool)[0], total + 0.1 * (point @ point), rtol=1e-5)


@pytest.mark.parametrize("rules", [Rules.none(TAGS), Rules.of_spans(SPANS)])
def test_decodes_the_best_of_all_sequences(data, rules):
    features, _ = data
    weights = random_weights(4)
    unary = features @ weights.features.toarray()
    found = crf_solver.decode(Potentials(unary, *weights[1:]), LENGTHS, rules)
    for rows in np.split(np.arange(len(unary)), np.cumsum(LENGTHS)[:-1]):
        paths = scores_of_paths(unary[rows], weights, rules)
        assert tuple(found[rows]) == max(paths, key=paths.get)


def test_the_fit_is_a_minimum_that_does_not_depend_on_chunks(data, monkeypatch):
    fits = []
    for size in (8_000, 3):
        monkeypatch.setattr(crf_solver, "_TOKENS_PER_CHUNK", size)
        monkeypatch.setattr(crf_solver, "_FEATURES_PER_CHUNK", size)
        fits.append(crf_solver.fit(*data, LENGTHS, Rules.of_spans(SPANS), 0.1))
    for one, other in zip(*fits, strict=True):
        np.testing.assert_allclose(
            keras.ops.convert_to_numpy(one.todense() if sparse.issparse(one) else one),
            keras.ops.convert_to_numpy(other.todense() if sparse.issparse(other) else other),
            atol=2e-3,
        )
    problem = crf_solver._Problem(*data, LENGTHS, Rules.of_spans(SPANS), 0.1)
    found = fits[0]
    point = np.concatenate([found.features.data, found.transitions.ravel(), found.start, found.end]).astype(float)
    with crf_solver.futures.ThreadPoolExecutor(2) as pool:
        loss, gradient = problem.loss(point, pool)
        assert np.abs(gradient).max() < 0.02 and loss < problem.loss(np.zeros(len(problem.observed)), pool)[0]
    # Only pairs of a feature and a tag that occur have a weight.
    features, tags = data
    has_tag = np.eye(TAGS)[tags]
    assert (found.features.toarray()[(features.T @ has_tag) == 0] == 0).all()


def test_a_fit_without_time_ends_after_an_iteration(data):
    rules = Rules.none(TAGS)
    once, whole = (crf_solver.fit(*data, LENGTHS, rules, 0.1, seconds=seconds) for seconds in (0.0, None))
    assert 0 < np.abs(once.features.data).max() < np.abs(whole.features.data).max()


@pytest.fixture
def known():
    """Parameters of an earlier fit, with weights of pairs that `data` does not have."""
    weights = random_weights(5)
    weights.features.data[::2] = 0
    weights.features.eliminate_zeros()
    return weights


def test_the_gradient_of_a_fit_that_continues_is_that_of_the_loss(data, known):
    problem = crf_solver._Problem(*data, LENGTHS, Rules.of_spans(SPANS), 0.1, known)
    same = problem.weights(problem.start)
    np.testing.assert_allclose(same.features.toarray(), known.features.toarray(), rtol=1e-6)
    np.testing.assert_allclose(same.transitions, known.transitions, rtol=1e-6)
    point = np.random.default_rng(3).normal(size=len(problem.observed))
    with crf_solver.futures.ThreadPoolExecutor(2) as pool:
        numeric = optimize.approx_fprime(point, lambda vector: problem.loss(vector, pool)[0], 1e-4)
        np.testing.assert_allclose(problem.loss(point, pool)[1], numeric, atol=2e-2)
        without = crf_solver._Problem(*data, LENGTHS, Rules.of_spans(SPANS), 0.0, known).loss(point, pool)[0]
        moved = 0.1 * ((1 + np.abs(problem.start)) * (point - problem.start) ** 2).sum()
        np.testing.assert_allclose(problem.loss(point, pool)[0], without + moved, rtol=1e-6)


def test_a_fit_that_continues_keeps_what_the_data_does_not_show(data, known):
    features, tags = data
    hidden = features.tolil()
    hidden[:, 3] = 0  # a feature that is not in the data
    rules = Rules.of_spans(SPANS)
    found = crf_solver.fit(hidden.tocsr(), tags, LENGTHS, rules, 0.1, known=known)
    np.testing.assert_allclose(found.features[3].toarray(), known.features[3].toarray(), rtol=1e-5)
    assert np.abs(found.features.toarray() - known.features.toarray()).max() > 0.1
    unary = features @ found.features.toarray()
    likelihood = crf_solver.log_likelihood(Potentials(unary, *found[1:]), tags, LENGTHS, rules)
    before = features @ known.features.toarray()
    assert likelihood > crf_solver.log_likelihood(Potentials(before, *known[1:]), tags, LENGTHS, rules)
