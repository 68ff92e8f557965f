"""The linear model of texts that are read in blocks is that of texts in memory, or close to it."""

import tempfile

import numpy as np
import pytest
from keras import ops

from layers import SparseNGramLogits
from pipelines.classification import blocks, many_classes
from pipelines.linear import linear_model, ngrams
from tests.pipelines.linear.test_linear_model import labels_of, layer_of, texts
from tests.pipelines.linear.test_ngrams import text_of

NUM_NGRAMS = 300


@pytest.fixture
def file():
    with tempfile.TemporaryFile() as opened:
        yield opened


def blocks_of(file, ids, labels, num_ngrams=NUM_NGRAMS, rows=70):
    """Returns (all texts, the same in blocks); they are read in chunks of 70 texts."""
    hashed = ngrams.hash_texts({"ids": ids}, 2, 0)
    chunks = [(hashed[i : i + rows], labels[i : i + rows]) for i in range(0, len(labels), rows)]
    return ngrams.count(hashed, num_ngrams), blocks.Blocks(file, chunks, num_ngrams)


@pytest.mark.parametrize("occurrences", [1, 1000, 10**9])  # of a block: one text, some, all
def test_the_blocks_have_all_texts_in_their_order(file, occurrences, monkeypatch):
    monkeypatch.setattr(blocks, "_MAX_OCCURRENCES", occurrences)
    ids, labels = texts(3)
    expected, found = blocks_of(file, ids, labels)
    np.testing.assert_array_equal(found.hashes, expected.hashes)
    for _ in range(2):  # they can be read again
        read = list(found)
        rows = np.concatenate([block.counted.occurrences.toarray() for block in read])
        np.testing.assert_array_equal(rows, expected.occurrences.toarray())
        np.testing.assert_array_equal(np.concatenate([block.labels for block in read]), labels)
    assert (len(read) == len(labels)) == (occurrences == 1) and (len(read) == 1) == (occurrences == 10**9)
    totals = found.totals(3)
    assert totals.num_texts == len(labels)
    has = rows > 0
    np.testing.assert_array_equal(totals.of_ngrams, has.sum(axis=0))
    np.testing.assert_array_equal(totals.of_decisions.toarray(), [has[labels == i].sum(axis=0) for i in range(3)])


def test_of_too_many_ngrams_the_rarest_are_not_counted(monkeypatch):
    monkeypatch.setattr(blocks, "_MAX_COUNTED", 50)
    counts = blocks._Counts()
    for i in range(200):
        counts.add(np.array([2, 4, *range(1000 + 20 * i, 1020 + 20 * i)], np.int32))
    hashes, found = counts.all()
    assert len(hashes) <= 50
    assert hashes[:2].tolist() == [2, 4] and found[:2].tolist() == [200, 200]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_one_block_is_the_linear_model_in_memory(file, classes, weighted):
    ids, labels = texts(classes)
    class_weight = 1.0 + np.arange(classes) if weighted else None
    counted, found = blocks_of(file, ids, labels)
    expected, layer = (layer_of(classes, num_ngrams=NUM_NGRAMS, max_n=2) for _ in range(2))
    linear_model.fit(expected, counted, labels, class_weight[labels] if weighted else None, seed=1)
    blocks.fit(layer, found, found.totals(classes), class_weight, seed=1)
    for value, other in zip(layer.get_weights(), expected.get_weights(), strict=True):
        np.testing.assert_allclose(value, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("classes", [2, 4])
def test_several_blocks_find_what_tells_the_class(file, classes, monkeypatch):
    ids, labels = texts(classes, rows=1200)
    counted, found = blocks_of(file, ids[:900], labels[:900], num_ngrams=5000)
    monkeypatch.setattr(blocks, "_MAX_OCCURRENCES", 9000)
    assert 2 < len(list(found)) < 20
    layer = layer_of(classes, num_ngrams=5000, max_n=2)
    blocks.fit(layer, found, found.totals(classes), None, seed=1)
    assert (labels_of(layer, ids[900:]) == labels[900:]).mean() > 0.95


def test_the_weight_of_an_ngram_is_the_mean_over_the_texts_that_have_it(file, monkeypatch):
    """The first block has no n-gram of the second but one: the weights of the others are those of the second alone."""
    first, second = text_of(2, 10), text_of(2, 20)
    fitted = []

    def fit_all(problem, choice):
        shape = (3, 1)
        weights = np.full(shape, 1.0 + len(fitted), np.float32)
        fitted.append(linear_model.Fitted(np.ones(shape), weights, np.float32([len(fitted)]), np.ones(1, np.float32)))
        return fitted[-1]

    monkeypatch.setattr(blocks, "_MAX_OCCURRENCES", 6)
    monkeypatch.setattr(linear_model, "fit_all", fit_all)
    monkeypatch.setattr(linear_model, "choose", lambda problem, size: linear_model.Choice(1.0))
    results = []
    monkeypatch.setattr(linear_model, "put", lambda layer, hashes, fitted, choice, prior: results.append(fitted))
    found = blocks.Blocks(file, [([first] * 3 + [second], np.array([0, 1, 0, 1]))], 10)
    assert [len(block.labels) for block in found] == [3, 1]
    blocks.fit(layer_of(1, num_ngrams=10, max_n=1), found, found.totals(2), None, seed=1)
    (result,) = results
    np.testing.assert_allclose(result.weights[:, 0], [(3 * 1 + 1 * 2) / 4, 1, 2])  # 2 is in both, 10 and 20 in one
    np.testing.assert_allclose(result.bias, [0.25])


def test_blocks_have_the_regularisation_of_all_texts(file, monkeypatch):
    ids, labels = texts(2)
    _, found = blocks_of(file, ids, labels)
    choice = linear_model.Choice(cost=0.3, ratio_cost=0.1)
    monkeypatch.setattr(linear_model, "choose", lambda problem, size: choice)
    costs, fit_all = [], linear_model.fit_all
    monkeypatch.setattr(
        linear_model, "fit_all", lambda problem, choice: costs.append(choice.cost) or fit_all(problem, choice)
    )
    for occurrences in (10**9, 3000):
        monkeypatch.setattr(blocks, "_MAX_OCCURRENCES", occurrences)
        blocks.fit(layer_of(2, num_ngrams=NUM_NGRAMS, max_n=2), found, found.totals(2), None, seed=1)
    assert costs[0] == 0.3
    assert len(costs) > 3 and costs[1:] == pytest.approx([0.3 * (len(costs) - 1) ** 0.5] * (len(costs) - 1), rel=0.15)


def test_many_classes_are_fitted_to_the_first_block(file, monkeypatch, capsys):
    ids, labels = texts(3)
    counted, found = blocks_of(file, ids, labels)
    layer = SparseNGramLogits(3, NUM_NGRAMS, 10_000, max_n=2)
    layer.build((None, None))
    monkeypatch.setattr(blocks, "_MAX_OCCURRENCES", 4000)
    blocks.fit(layer, found, found.totals(3), None, seed=1)
    assert "of 300 texts" in capsys.readouterr().err
    expected = SparseNGramLogits(3, NUM_NGRAMS, 10_000, max_n=2)
    expected.build((None, None))
    first = next(iter(found))
    many_classes.fit(expected, first.counted, first.labels, None, seed=1)
    for value, other in zip(layer.get_weights(), expected.get_weights(), strict=True):
        np.testing.assert_array_equal(value, other)


def test_texts_without_ngrams_leave_the_layer_as_it_is(file):
    found = blocks.Blocks(file, [([text_of()] * 2, np.array([0, 1]))], 10)
    layer = layer_of(2, num_ngrams=10, max_n=1)
    blocks.fit(layer, found, found.totals(2), None, seed=1)
    assert not ops.convert_to_numpy(layer.weighted).any()
