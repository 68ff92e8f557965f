"""Likely label errors: labels that a model contradicts with confidence, without having seen the text in training.

Confident learning (Northcutt et al. 2021, "Confident Learning: Estimating Uncertainty in Dataset Labels"): a row is
likely to have the wrong label if another class has the highest probability, and that probability is at least the mean
that the class has over the rows with its label.
"""

import numpy as np


def find(labels: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Returns the rows with likely label errors, those first whose predicted class is most above their label.

    Args:
        labels: int [n], ids of the classes.
        probabilities: float [n, classes], from models that were not trained on the row.

    Returns:
        Indices of rows, int [m].
    """
    rows = np.arange(len(labels))
    predicted = probabilities.argmax(axis=1)
    usual = np.full(probabilities.shape[1], np.inf)  # [classes]; a class without rows is no alternative
    for label in np.unique(labels):
        usual[label] = probabilities[labels == label, label].mean()
    of_predicted = probabilities[rows, predicted]
    found = np.flatnonzero((predicted != labels) & (of_predicted >= usual[predicted]))
    excess = of_predicted[found] - probabilities[found, labels[found]]
    return found[np.argsort(-excess, kind="stable")]
