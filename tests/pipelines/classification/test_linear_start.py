import numpy as np
import pytest
import tensorflow as tf
from scipy import sparse

from layers import NGramLogits, SparseNGramLogits
from pipelines.classification.config import ClassificationConfig
from pipelines.classification.linear_start import SparseStart, Start
from pipelines.linear import linear_model, ngrams
from pipelines.support.records import read_record, write_record
from pipelines.training import checkpoints
from tests.pipelines.linear.test_linear_model import labels_of, texts
from tests.pipelines.small_runs import write_run

NAMES = ("hashes", "weighted", "squared", "bias", "min_norm", "prior", "repeats")
SPARSE_NAMES = (*NAMES, "starts", "classes")


def rows_of(ids, rows):
    return tf.gather(ids, rows)


def hashed(ids):
    return ngrams.hash_texts({"ids": ids}, 2, 0)


def layer_of(classes, num_ngrams=4000):
    layer = NGramLogits(2 * classes, num_ngrams=num_ngrams, max_n=2)
    layer.build((None, None))
    return layer


def start_of(tmp_path, layer, classes, labels, names=NAMES):
    """Writes the weights of a fitted layer as those of a run; returns the settings that continue from it."""
    folder = write_run(tmp_path, "first")
    rows = {str(i): int((labels == i).sum()) for i in range(classes)}
    values = [getattr(layer, name).numpy() for name in names]
    weights = {f"ngram_logits/{name}": list(value.shape) for name, value in zip(names, values, strict=True)}
    changes = {"classes": list(rows), "class_rows": rows, "rows": {"train": len(labels)}, "weights": weights}
    write_record(folder / "result.json", read_record(folder / "result.json", "") | changes)
    (folder / "checkpoints").mkdir()
    checkpoints.save(folder / "checkpoints" / "best.npz", values, checkpoints.Position())
    return ClassificationConfig(data="b.csv", start_weights=str(folder / "checkpoints" / "best.npz"))


def fitted(classes, ids, labels):
    layer = layer_of(classes)
    linear_model.fit(layer, ngrams.count(hashed(ids), 4000), labels, None, seed=1)
    return layer


def continued(config, classes, ids, labels):
    """Returns the layer that continues from a run with these texts."""
    start = Start.of_run(config, classes)
    counted = ngrams.count(hashed(ids), 4000, start.hashes)
    layer = layer_of(classes, len(counted.hashes))
    linear_model.fit(layer, counted, labels, None, seed=1, start=start)
    return layer


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 4])
def test_a_fit_that_continues_with_the_same_texts_keeps_the_answers(tmp_path, classes):
    ids, labels = texts(classes, rows=500)
    first = fitted(classes, ids[:300], labels[:300])
    config = start_of(tmp_path, first, classes, labels[:300])
    again = continued(config, classes, ids[:300], labels[:300])
    assert (labels_of(first, ids) == labels_of(again, ids)).mean() > 0.97


@pytest.mark.slow
def test_a_fit_that_continues_learns_and_knows_the_labels_that_the_new_texts_lack(tmp_path):
    ids, labels = texts(4, rows=700)
    first = fitted(4, ids[:30], labels[:30])
    config = start_of(tmp_path, first, 4, labels[:30])
    lacks = np.flatnonzero(labels[30:300] != 0) + 30
    layer = continued(config, 4, rows_of(ids, lacks), labels[lacks])
    test, expected = ids[300:], labels[300:]
    right = labels_of(layer, test) == expected
    assert right.mean() > 0.95 and right[expected == 0].mean() > 0.9


@pytest.mark.slow
def test_a_new_label_is_learned(tmp_path):
    ids, labels = texts(3, rows=900)
    known = np.flatnonzero(labels[:300] < 2)
    first = fitted(2, rows_of(ids, known), labels[known])
    config = start_of(tmp_path, first, 2, labels[known])
    layer = continued(config, 3, ids[300:600], labels[300:600])
    assert (labels_of(layer, ids[600:]) == labels[600:]).mean() > 0.9


def test_the_known_model_computes_what_the_layer_does(tmp_path):
    rng = np.random.default_rng(0)
    layer = layer_of(3, num_ngrams=8)
    hashes, shape = np.array([2, 4, 5, 9, 12], np.int32), (5, 6)
    ratios = rng.uniform(1, 2, shape)
    ratios[:, :3] = ratios[:, :1]  # inverse frequencies
    weights, bias = rng.normal(size=shape), rng.normal(size=6)
    layer.set_ngrams(hashes, ratios, weights, bias, np.arange(6.0), np.zeros(6), repeats=1.0)
    start = Start.of_run(start_of(tmp_path, layer, 3, np.array([0, 1, 1, 2])), num_classes=4)
    assert start.hashes.tolist() == hashes.tolist() and start.repeats == 1
    assert start.counts.tolist() == [4, 1, 2, 1, 0]
    known = start.known(np.array([1, 2, 4, 5, 9, 12], np.int32), one_decision=False)
    for number, part in enumerate(known.of_weightings):
        columns = slice(3 * number, 3 * number + 3)
        np.testing.assert_allclose(
            part.weights[1:, :3] * part.ratios[1:, :3], (weights * ratios)[:, columns], rtol=1e-4
        )
        np.testing.assert_allclose(part.bias, [*bias[columns], 0], rtol=1e-6)
        assert not part.weights[0].any() and not part.weights[:, 3].any()
    assert known.has_ratios


def test_how_much_ngrams_of_tokens_weigh_is_found_in_the_weights(tmp_path):
    layer = layer_of(2, num_ngrams=8)
    hashes = np.array([2, 4, 5, 9], np.int32)  # two of tokens, two of characters
    ratios = np.array([8.0, 3, 4, 2])[:, None].repeat(4, axis=1)
    layer.set_ngrams(hashes, ratios, ratios, np.zeros(4), np.ones(4), np.zeros(4))
    start = Start.of_run(start_of(tmp_path, layer, 2, np.array([0, 1])), num_classes=2)
    known = start.known(hashes, one_decision=True)
    assert known.token_weight == 2.0
    np.testing.assert_allclose(known.of_weightings[0].weights[:, 0], 2 * ratios[:, 0], rtol=1e-6)
    assert known.counts.tolist() == [2, 1]


def test_a_sparse_model_is_known_at_the_ngrams_of_new_texts(tmp_path):
    rng = np.random.default_rng(0)
    layer = SparseNGramLogits(3, num_ngrams=8, num_weights=20)
    layer.build((None, None))
    hashes, ratios = np.array([2, 4, 5, 9, 12], np.int32), rng.uniform(1, 2, 5)
    weights = rng.normal(size=(5, 3)) * (rng.random((5, 3)) < 0.5)
    weights[1] = 0  # an n-gram without a weight
    bias = rng.normal(size=3)
    layer.set_ngrams(hashes, ratios, sparse.csr_matrix(weights), bias, 0.25, np.zeros(3), repeats=1.0)
    config = start_of(tmp_path, layer, 3, np.array([0, 1, 1, 2]), SPARSE_NAMES)
    start = SparseStart.of_run(config, num_classes=4)
    assert start.hashes.tolist() == hashes.tolist() and (start.min_norm, start.repeats) == (0.25, 1)
    assert start.counts.tolist() == [4, 1, 2, 1, 0]
    known = start.at(np.array([1, 2, 4, 5, 9, 11, 12, 20], np.int32))
    expected = np.zeros((8, 4))
    expected[[1, 2, 3, 4, 6], :3] = weights
    np.testing.assert_allclose(known.weights.toarray(), expected, rtol=1e-5)
    np.testing.assert_allclose(known.ratios[[1, 2, 3, 4, 6]], ratios, rtol=1e-5)
    assert not known.ratios[[0, 5, 7]].any()
    np.testing.assert_allclose(known.bias, [*bias, 0], rtol=1e-6)
