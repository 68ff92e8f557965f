"""Rows in the order in which a person should label them: the least certain predictions come first.

With a limit, near-duplicates are not all taken: the rows are chosen among the least sure ones by maximal marginal
relevance (Carbonell and Goldstein 1998).
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from pipelines.data.cells import MISSING
from pipelines.data.text_chunks import CHUNK_ROWS
from pipelines.predicting.file_steps import Predicted, add_counts
from pipelines.text.invisible import is_blank

_CANDIDATES = 10  # least sure rows for each row that is chosen
_UNCERTAINTY_WEIGHT = 0.8
# A word, or a character of a script without spaces: Thai, Lao, Khmer, Japanese, Chinese.
_SPACELESS = "\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
_WORD = rf"[{_SPACELESS}]|[^\W{_SPACELESS}]+"


def least_sure_first(
    predicted: Iterator[Predicted], uncertainty: Callable[[Any], np.ndarray], limit: int | None, counts: dict
) -> Iterator[Predicted]:
    """Yields rows, the least certain predictions first. Each text comes once.

    Rows without outputs of their own, and empty texts, are left out. Rows of the same uncertainty keep their order.

    Args:
        predicted: all rows.
        uncertainty: outputs of rows -> how unsure the model is of each, from 0 to 1, float [rows].
        limit: number of rows to yield, which `unlike` chooses; then about 20 times as many are in memory. None: all.
        counts: "read" rows, "skipped" and "empty" ones are added.
    """
    num_kept = limit and _CANDIDATES * limit
    kept: list[Predicted] = []
    for each in predicted:
        is_empty = np.array([is_blank(text) for text in each.texts()])
        added = {"read": len(is_empty), "skipped": each.chunk.num_skipped, "empty": int(is_empty.sum())}
        add_counts(counts, added)
        kept.append(each.take(np.flatnonzero(~each.poisoned & ~is_empty)))
        if num_kept and sum(len(each.poisoned) for each in kept) > 2 * num_kept + CHUNK_ROWS:
            kept = [_ordered(kept, uncertainty, num_kept)]
    if kept:
        chosen = _ordered(kept, uncertainty, num_kept)
        if limit and limit < len(chosen.poisoned):
            chosen = chosen.take(unlike(chosen.texts(), uncertainty(chosen.outputs), limit))
        for start in range(0, len(chosen.poisoned), CHUNK_ROWS):
            yield chosen.take(np.arange(start, min(start + CHUNK_ROWS, len(chosen.poisoned))))


def unlike(texts: list[str], uncertainty: np.ndarray, limit: int) -> np.ndarray:
    """Returns the numbers of `limit` texts that are uncertain and unlike each other, int [limit], ascending.

    The next one is always that with the highest 0.8 u - 0.2 s, where u is its uncertainty and s its similarity to the
    most similar text that is chosen already: the cosine of their TF-IDF vectors of words.

    Args:
        texts: n, at least `limit`, the least sure one first.
        uncertainty: from 0 to 1, float [n].
    """
    if not any(re.search(_WORD, text) for text in texts):  # nothing to compare
        return np.arange(limit)
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectors = TfidfVectorizer(token_pattern=_WORD, sublinear_tf=True).fit_transform(texts)  # [n, words]
    by_word = vectors.T.tocsr()  # [words, n]
    similarity, chosen = np.zeros(len(texts)), np.zeros(len(texts), bool)
    for _ in range(limit):
        gain = _UNCERTAINTY_WEIGHT * uncertainty - (1 - _UNCERTAINTY_WEIGHT) * similarity
        best = int(np.where(chosen, -np.inf, gain).argmax())
        chosen[best] = True
        similarity = np.maximum(similarity, (vectors[[best]] @ by_word).toarray()[0])
    return np.flatnonzero(chosen)


def _ordered(predicted: list[Predicted], uncertainty: Callable, limit: int | None) -> Predicted:
    """Returns the first rows in the order of `least_sure_first`."""
    joined = _joined(predicted)
    if not len(joined.poisoned):
        return joined
    order = np.argsort(-uncertainty(joined.outputs), kind="stable")
    is_repeated = pd.Series(joined.texts(), dtype=object)[order].duplicated().to_numpy()
    return joined.take(order[~is_repeated][:limit])


def _joined(predicted: list[Predicted]) -> Predicted:
    """Returns chunks as one. They count no skipped rows."""
    names = list(dict.fromkeys(name for each in predicted for name in each.chunk.rows))
    rows = [each.chunk.rows.reindex(columns=names, fill_value=MISSING) for each in predicted]
    chunk = predicted[0].chunk._replace(rows=pd.concat(rows, ignore_index=True), num_skipped=0)
    if chunk.composed is not None:
        chunk = chunk._replace(composed=pd.Series([text for each in predicted for text in each.texts()], dtype=object))
    outputs = _joined_outputs([each.outputs for each in predicted])
    return Predicted(chunk, outputs, np.concatenate([each.poisoned for each in predicted]))


def _joined_outputs(outputs: list) -> Any:
    if isinstance(outputs[0], dict):
        return {name: _joined_outputs([each[name] for each in outputs]) for name in outputs[0]}
    if isinstance(outputs[0], np.ndarray):
        return np.concatenate(outputs)
    return [value for each in outputs for value in each]
