"""Modified Kneser-Ney smoothing: the probabilities of an n-gram model from the counts of a text.

For a context c of m tokens, the context c' without its oldest token, and a token w:

    p_m(w | c) = max(a(c w) - D(a(c w)), 0) / sum_v a(c v) + gamma(c) p_(m-1)(w | c')
    gamma(c) = (D_1 N_1(c) + D_2 N_2(c) + D_3 N_3(c)) / sum_v a(c v)
    D_1 = 1 - 2 Y n_2 / n_1,    D_2 = 2 - 3 Y n_3 / n_2,    D_3 = 3 - 4 Y n_4 / n_3,    Y = n_1 / (n_1 + 2 n_2)

a is the count of the n-gram for the longest contexts; for shorter ones the number of different tokens before it. n_i is
the number of n-grams of this length with a = i, N_i(c) the number of tokens w with a(c w) = i (i = 3: 3 and more), D(a)
is D_1, D_2 or D_3. The recursion ends at a uniform distribution. A context that does not occur is left out.

Source: Chen and Goodman 1999, "An empirical study of smoothing techniques for language modeling", section 3; Kneser and
Ney 1995, "Improved backing-off for m-gram language modeling".
"""

import dataclasses

import numpy as np

from pipelines.text.tokenizers import END, PAD, START

_DEFAULT_DISCOUNTS = (0.5, 1.0, 1.5)  # where a text is too small for the formula
NOT_PREDICTED = (PAD, START, END)


@dataclasses.dataclass(frozen=True)
class Level:
    """The contexts of m tokens, and the tokens that follow on them.

    Attributes:
        contexts: int64 [contexts], ascending: i * vocabulary + the oldest token of the context, where i is the index of
            the context without it among the contexts of m - 1 tokens.
        gammas: float32 [contexts], the part of the shorter context.
        ngrams: int64 [n-grams], ascending: index of the context * vocabulary + token.
        alphas: float32 [n-grams], the discounted part of the probability.
    """

    contexts: np.ndarray
    gammas: np.ndarray
    ngrams: np.ndarray
    alphas: np.ndarray


@dataclasses.dataclass(frozen=True)
class Tables:
    """An n-gram model.

    Attributes:
        unigrams: float32 [vocabulary], p_0.
        levels: for contexts of 1, 2, ... order - 1 tokens.
        sizes: numbers of n-grams of 1, 2, ... order tokens.
        discounts: D_1, D_2 and D_3 of each of them.
    """

    unigrams: np.ndarray
    levels: list[Level]
    sizes: list[int]
    discounts: list[tuple[float, float, float]]


def estimate(ids: np.ndarray, order: int, vocabulary_size: int) -> Tables:
    """Estimates an n-gram model of a text, which starts after START and before it PAD.

    Args:
        ids: int32 [tokens].
        order: n, at least 2.
    """
    text = np.concatenate([np.full(order - 2, PAD), [START], ids]).astype(np.int64)
    words = text[order - 1 :]  # what is predicted
    index = np.zeros(len(words), np.int64)  # of the context of each word, among the contexts of the same length
    contexts = []
    for m in range(1, order):
        keys = index * vocabulary_size + text[order - 1 - m : len(text) - m]
        known, index = np.unique(keys, return_inverse=True)
        contexts.append(known)
    ngrams, counts = np.unique(index * vocabulary_size + words, return_counts=True)
    levels, sizes, used = [], [len(ngrams)], [discounts(counts)]  # the longest first
    for m in range(order - 1, 0, -1):
        owners = ngrams // vocabulary_size  # index of each n-gram's context
        alphas, gammas = _discounted(owners, counts, used[-1], len(contexts[m - 1]))
        levels.append(Level(contexts[m - 1], gammas, ngrams, alphas))
        shorter = contexts[m - 1][owners] // vocabulary_size
        ngrams, counts = np.unique(shorter * vocabulary_size + ngrams % vocabulary_size, return_counts=True)
        sizes.append(len(ngrams))
        used.append(discounts(counts))
    alphas, gammas = _discounted(np.zeros(len(ngrams), np.int64), counts, used[-1], 1)
    unigrams = np.zeros(vocabulary_size)
    predicted = np.setdiff1d(np.arange(vocabulary_size), NOT_PREDICTED)
    unigrams[predicted] = gammas[0] / len(predicted)
    unigrams[ngrams] += alphas
    return Tables(unigrams.astype(np.float32), levels[::-1], sizes[::-1], used[::-1])


def _discounted(
    owners: np.ndarray, counts: np.ndarray, used: tuple[float, float, float], num_contexts: int
) -> tuple[np.ndarray, np.ndarray]:
    """Returns alpha of each n-gram and gamma of each context, float32.

    Args:
        owners: int64 [n-grams], index of the context of each.
        counts: int64 [n-grams], a.
        used: D_1, D_2 and D_3.
    """
    by_count = np.array([0.0, *used])[np.minimum(counts, 3)]  # [n-grams]
    totals = np.bincount(owners, counts, num_contexts)
    alphas = np.maximum(counts - by_count, 0) / totals[owners]
    gammas = np.bincount(owners, np.minimum(by_count, counts), num_contexts) / totals
    return alphas.astype(np.float32), gammas.astype(np.float32)


def discounts(counts: np.ndarray) -> tuple[float, float, float]:
    """Returns D_1, D_2 and D_3 of n-grams of one length.

    Args:
        counts: int64 [n-grams], a.
    """
    n = [int((counts == i).sum()) for i in range(1, 5)]
    if 0 in n[:3]:
        return _DEFAULT_DISCOUNTS
    y = n[0] / (n[0] + 2 * n[1])
    found = tuple(i - (i + 1) * y * n[i] / n[i - 1] for i in (1, 2, 3))
    return found if all(0 < d < i for i, d in enumerate(found, start=1)) else _DEFAULT_DISCOUNTS
