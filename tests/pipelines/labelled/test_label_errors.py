import numpy as np

from pipelines.labelled import label_errors


def test_a_confident_contradiction_is_found_and_the_largest_comes_first():
    labels = np.array([0, 0, 0, 1, 1, 1])
    positive = np.array([0.1, 0.2, 0.9, 0.95, 0.6, 0.05])
    probabilities = np.stack([1 - positive, positive], axis=1)
    # Class 0 usually has (0.9 + 0.8 + 0.1) / 3 = 0.6, class 1 (0.95 + 0.6 + 0.05) / 3 = 0.53.
    assert label_errors.find(labels, probabilities).tolist() == [5, 2]


def test_a_contradiction_without_confidence_is_none():
    labels = np.array([0, 0, 1, 1])
    probabilities = np.array([[0.9, 0.1], [0.4, 0.6], [0.1, 0.9], [0.2, 0.8]])
    assert label_errors.find(labels, probabilities).tolist() == []  # 0.6 is below (0.9 + 0.8) / 2


def test_a_class_without_rows_is_no_alternative():
    probabilities = np.array([[0.3, 0.1, 0.6], [0.1, 0.9, 0.0]])
    assert label_errors.find(np.array([0, 1]), probabilities).tolist() == []
