"""The n-grams of texts that are too many for memory, and a linear model of them.

A first pass over the texts writes the hashes of their n-grams to a file, and counts them. The texts are then
read in blocks that fit in memory. Each block is fitted alone, with the ratios of all texts, and the weight of an n-gram
is the mean of those of the blocks, in proportion to the texts that have it there (Zhang, Duchi and Wainwright 2013,
"Communication-Efficient Algorithms for Statistical Optimization").
"""

import dataclasses
import math
from collections.abc import Iterable, Iterator
from typing import BinaryIO, NamedTuple

import numpy as np
from scipy import sparse

from layers import NGramLogits, SparseNGramLogits
from pipelines.classification import many_classes
from pipelines.linear import linear_model, linear_problem, ngrams
from pipelines.linear.linear_model import Choice
from pipelines.linear.linear_problem import Fitted, Problem, Totals
from pipelines.linear.ngrams import Counted
from pipelines.support import console

_MAX_OCCURRENCES = 20_000_000  # of n-grams in a block
_MAX_COUNTED = 10_000_000  # different n-grams that are counted at the same time: the rarest are dropped


class Block(NamedTuple):
    """Some of the texts.

    Attributes:
        counted: their n-grams.
        labels: class ids, int [n].
    """

    counted: Counted
    labels: np.ndarray


class Blocks:
    """The texts in blocks, in their order; they can be read several times.

    Args:
        file: an empty file for the hashes, open for reading and writing.
        chunks: (n-grams of each text, see `ngrams.hash_texts`; class ids, int [n]).
        num_ngrams: the maximum number of n-grams.

    Attributes:
        hashes: of the n-grams that the most texts have, int32 [k], ascending.
        labels: class ids of all texts, int [n].
    """

    def __init__(self, file: BinaryIO, chunks: Iterable[tuple[list[np.ndarray], np.ndarray]], num_ngrams: int):
        self._file = file
        counts, lengths, labels = _Counts(), [], []
        for texts, of_chunk in chunks:
            found = np.concatenate(texts)
            self._file.write(found.tobytes())
            counts.add(found["hash"].copy())
            lengths.append(np.array([len(text) for text in texts]))
            labels.append(of_chunk)
        self.labels = np.concatenate(labels)
        self._ends = np.cumsum(np.concatenate(lengths))
        self.hashes = ngrams.most_frequent(*counts.all(), len(self.labels), num_ngrams)

    def __iter__(self) -> Iterator[Block]:
        first = 0
        while first < len(self._ends):
            start = int(self._ends[first - 1]) if first else 0
            last = max(first + 1, int(np.searchsorted(self._ends, start + _MAX_OCCURRENCES, side="right")))
            self._file.seek(start * ngrams.NGRAM.itemsize)
            data = self._file.read((int(self._ends[last - 1]) - start) * ngrams.NGRAM.itemsize)
            texts = np.split(np.frombuffer(data, ngrams.NGRAM), self._ends[first : last - 1] - start)
            yield Block(ngrams.find(texts, self.hashes), self.labels[first:last])
            first = last

    def totals(self, num_classes: int) -> Totals:
        """Counts the texts of each class with each n-gram: one more pass."""
        of_classes = sparse.csr_array((num_classes, len(self.hashes)), dtype=np.float32)
        for counted, labels in self:
            rows = len(labels)
            is_class = sparse.csr_array((np.ones(rows, np.float32), (labels, np.arange(rows))), (num_classes, rows))
            of_classes += is_class @ sparse.csr_array(ngrams.with_repeats(counted.occurrences, 0))
        return Totals(len(self.labels), np.asarray(of_classes.sum(axis=0)).ravel(), of_classes)


class _Counts:
    """Counts the texts with each n-gram. Of too many n-grams it drops those that few texts had so far."""

    def __init__(self):
        self._hashes, self._counts = np.zeros(0, np.int32), np.zeros(0, np.int64)
        self._new: list[np.ndarray] = []

    def add(self, hashes: np.ndarray) -> None:
        """Counts the n-grams of texts, each once per text."""
        self._new.append(hashes)
        if sum(map(len, self._new)) > _MAX_COUNTED:
            self._merge()

    def all(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns (hashes, ascending; number of texts), [n-grams]."""
        self._merge()
        return self._hashes, self._counts

    def _merge(self) -> None:
        hashes, counts = np.unique(np.concatenate([self._hashes[:0], *self._new]), return_counts=True)
        self._new = []
        merged, position = np.unique(np.concatenate([self._hashes, hashes]), return_inverse=True)
        totals = np.zeros(len(merged), np.int64)
        np.add.at(totals, position, np.concatenate([self._counts, counts]))
        while len(merged) > _MAX_COUNTED:
            kept = totals > totals.min()
            merged, totals = merged[kept], totals[kept]
        self._hashes, self._counts = merged, totals


def fit(
    layer: NGramLogits | SparseNGramLogits, blocks: Blocks, totals: Totals, class_weight: np.ndarray | None, seed: int
) -> None:
    """Fits the weights of n-grams to all blocks, and puts them into `layer`.

    Args:
        layer: as for `linear_model.fit`, or `many_classes.fit`, which reads the first block alone.
        totals: of the blocks.
        class_weight: weight of the texts of each class, float [classes].
        seed: as for `linear_model.fit`, which chooses on the first block.
    """
    if not len(blocks.hashes):
        return
    num_classes = totals.of_decisions.shape[0]

    def weight_of(labels: np.ndarray) -> np.ndarray | None:
        return None if class_weight is None else class_weight[labels]

    if isinstance(layer, SparseNGramLogits):
        counted, labels = next(iter(blocks))
        console.say(f"{num_classes:,} classes: fitted to {len(labels):,} of {len(blocks.labels):,} texts")
        many_classes.fit(layer, counted, labels, weight_of(labels), seed)
        return
    one_decision = num_classes == 2
    if one_decision:
        totals = totals._replace(of_decisions=totals.of_decisions[1:])
    choice, mean = None, _Mean()
    for counted, labels in blocks:
        problem = Problem.of(layer, counted, labels, weight_of(labels), num_classes, seed)
        if choice is None:
            num_blocks = len(blocks.labels) / len(labels)
            choice = _for_mean(linear_model.choose(problem, round(problem.occurrences.nnz * num_blocks)), num_blocks)
        problem = dataclasses.replace(problem.with_repeats(choice.repeats), totals=totals)
        mean.add(linear_model.fit_all(problem, choice), counted, len(labels))
    weights = np.bincount(blocks.labels, minlength=num_classes) * (1 if class_weight is None else class_weight)
    prior = linear_problem.prior(weights[one_decision:], weights.sum(), exclude=not one_decision)
    linear_model.put(layer, blocks.hashes, mean.result(), choice, prior)


def _for_mean(choice: Choice, num_blocks: float) -> Choice:
    """Returns `choice`, which was made for one block alone, with the C of a block whose weights are averaged.

    A mean of several fits varies less than one fit, so each block needs less regularisation: that of a fit to all
    texts. There C would be C / sqrt(num_blocks) (see `linear_model.choose`), of num_blocks times as many losses.
    """
    factor = math.sqrt(num_blocks)
    ratio_cost = choice.ratio_cost and choice.ratio_cost * factor
    return dataclasses.replace(choice, cost=choice.cost * factor, ratio_cost=ratio_cost)


class _Mean:
    """The mean of the weights of blocks, which have the same ratios."""

    def __init__(self):
        self._num_texts = 0

    def add(self, fitted: Fitted, counted: Counted, num_texts: int) -> None:
        counts = ngrams.num_texts_with(counted.occurrences)
        sums = fitted._replace(
            weights=fitted.weights * counts[:, None], bias=fitted.bias * num_texts, min_norm=fitted.min_norm * num_texts
        )
        if self._num_texts:
            pairs = zip(sums[1:], self._sums[1:], strict=True)
            sums, counts = Fitted(fitted.ratios, *(new + old for new, old in pairs)), counts + self._counts
        self._sums, self._counts, self._num_texts = sums, counts, num_texts + self._num_texts

    def result(self) -> Fitted:
        ratios, weights, bias, min_norm = self._sums
        return Fitted(ratios, weights / self._counts[:, None], bias / self._num_texts, min_norm / self._num_texts)
