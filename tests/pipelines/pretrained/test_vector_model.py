import numpy as np
import pytest
from scipy import special
from sklearn.linear_model import LogisticRegression

from pipelines.pretrained import vector_model


def data(num_classes, n=300, size=6, seed=1):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % num_classes
    centers = rng.normal(size=(num_classes, size))
    return np.float32(3 + 2 * (centers[labels] + rng.normal(size=(n, size)))), labels


def probabilities(model, vectors):
    logits = model.logits(vectors)
    return special.softmax(logits, axis=1) if logits.shape[1] > 1 else special.expit(logits)


@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_logistic_regression_of_centered_vectors_of_mean_length_1(weighted):
    vectors, labels = data(3)
    weight = 1.0 + labels if weighted else None
    fitted = vector_model.fit(vectors, labels == np.arange(3)[:, None], weight, 10.0, exclude=True)
    scaled = vectors - np.average(vectors, axis=0, weights=weight)
    scaled /= np.sqrt(np.square(scaled).sum(axis=1).mean())
    expected = LogisticRegression(C=10, tol=1e-6).fit(scaled, labels, sample_weight=weight)
    np.testing.assert_allclose(probabilities(fitted, vectors), expected.predict_proba(scaled), atol=0.01)


def test_the_size_and_the_place_of_the_vectors_count_for_nothing():
    vectors, labels = data(3)
    decisions = labels == np.arange(3)[:, None]
    before = probabilities(vector_model.fit(vectors, decisions, None, 1.0, exclude=True), vectors)
    moved = vectors * 100 - 7
    after = probabilities(vector_model.fit(moved, decisions, None, 1.0, exclude=True), moved)
    np.testing.assert_allclose(after, before, atol=0.01)


def test_one_decision_and_several_labels_are_fitted_each_by_itself():
    vectors, labels = data(2)
    one = vector_model.fit(vectors, (labels == 1)[None], None, 1.0, exclude=False)
    assert one.weights.shape == (6, 1)
    assert ((one.logits(vectors)[:, 0] > 0) == labels).mean() > 0.8
    several = vector_model.fit(vectors, np.stack([labels == 1, labels == 0]), None, 1.0, exclude=False)
    np.testing.assert_allclose(several.logits(vectors)[:, :1], one.logits(vectors), atol=1e-4)
    np.testing.assert_allclose(several.weights[:, 0], -several.weights[:, 1], atol=0.01)


def test_classes_without_a_text_and_equal_vectors_give_finite_logits():
    vectors, labels = data(3)
    decisions = labels == np.arange(4)[:, None]
    fitted = vector_model.fit(vectors, decisions, None, 1.0, exclude=True)
    assert probabilities(fitted, vectors)[:, 3].max() < 1e-3
    nothing = vector_model.fit(vectors, np.zeros((1, len(labels)), bool), None, 1.0, exclude=False)
    assert nothing.logits(vectors).max() < -10
    same = vector_model.fit(np.ones_like(vectors), decisions[:3], None, 1.0, exclude=True)
    np.testing.assert_allclose(probabilities(same, np.ones_like(vectors))[0], 1 / 3, atol=1e-3)
