"""Solves the problems of the linear model, one for each class; of many texts and classes, on all processors.

Imports nothing that the processes do not need: each would import TensorFlow.
"""

import warnings
from collections.abc import Iterable, Iterator

import numpy as np
from scipy import sparse

_TOLERANCE = 0.1  # logits differ by about .001 from the exact ones, and scikit-learn's 1e-4 takes three times as long
_LARGE = 20_000_000  # n-grams in texts, over all classes, from which on processes gain more than their start takes
_MAX_COPIED = 20_000_000  # n-grams in the texts of all processes, which take 30 bytes each

Texts = tuple[sparse.csr_matrix, np.ndarray, np.ndarray | None]  # the first arguments of `fit_one`
Solution = tuple[np.ndarray, float]  # weights [k], bias


def fit_all(
    texts_of_classes: Iterable[Texts], cost: float, seed: int, num_classes: int, num_ngrams: int
) -> Iterator[Solution]:
    """Fits each class against the others; yields its solution, in the order of the classes.

    The solutions do not depend on the number of processes.

    Args:
        texts_of_classes: of each class the first arguments of `fit_one`; read as processes become free.
        num_classes: number of classes.
        num_ngrams: number of n-grams in the texts of one class.
    """
    import joblib

    num_processes = min(joblib.cpu_count(), _MAX_COPIED // max(1, num_ngrams))
    if num_processes < 2 or num_ngrams * num_classes < _LARGE:
        return (fit_one(*texts, cost, seed) for texts in texts_of_classes)
    # Processes, because the threads of one share the random numbers of the solver.
    parallel = joblib.Parallel(num_processes, backend="loky", return_as="generator")
    return parallel(joblib.delayed(fit_one)(*texts, cost, seed) for texts in texts_of_classes)


def fit_one(
    scaled: sparse.csr_matrix, is_class: np.ndarray, text_weight: np.ndarray | None, cost: float, seed: int
) -> Solution:
    """Fits one class against the others.

    Args:
        scaled: float32 [n, k + 1], the weighted n-grams of the texts and, last, what the bias is multiplied by.
        is_class: bool [n], whether the text is of the class.
        text_weight: float [n]; None: all weigh 1.
        cost: C.
        seed: of the order in which the texts are visited.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    if text_weight is not None and not text_weight.all():
        kept = text_weight > 0
        scaled, is_class, text_weight = scaled[kept], is_class[kept], text_weight[kept]
    if is_class.all() or not is_class.any():  # all texts have the label, or none: there is nothing to learn
        return np.zeros(scaled.shape[1] - 1), np.log(len(is_class) + 1.0) * (1 if is_class.all() else -1)
    # The time of the dual solver grows with the number of texts, not of n-grams.
    machine = LinearSVC(C=cost, tol=_TOLERANCE, max_iter=2000, random_state=seed, fit_intercept=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is close, which is enough
        machine.fit(scaled, is_class, text_weight)
    return machine.coef_[0, :-1], machine.coef_[0, -1]
