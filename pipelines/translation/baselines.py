"""Baselines of a translator: the source itself, and a table of words.

The table has for each source word the target word with the highest probability t(target | source) of IBM model 1, which
maximizes the likelihood of the training pairs:

    p(target sentence | source sentence) = product over its words f of (1 / n) sum over the n source words e of t(f | e)

where the source words include an empty one, NULL. The expectation-maximization repeats

    c(f, e) = sum over the pairs of sentences with f and e of t(f | e) / sum_e' t(f | e')
    t(f | e) = c(f, e) / sum_f' c(f', e)

Source: Brown et al. 1993, "The Mathematics of Statistical Machine Translation: Parameter Estimation".
"""

import itertools
import re
from collections.abc import Callable, Sequence

import numpy as np

from pipelines.data.pairs import Pairs
from pipelines.support.bootstrap import interval
from pipelines.translation import metrics
from pipelines.translation.data import ShardedPairs

Texts = Sequence[str]

_ITERATIONS = 5
MAX_CELLS = 10_000_000  # pairs of a source and a target word in the same pair of sentences
_WORD = re.compile(r"\w+|[^\w\s]")
_FIRST = re.compile(r"[^\W_]")
_CLOSING = re.compile(r"\s+([.,!?;:%)\]}\u2026])")
_OPENING = re.compile(r"([(\[{\u00bf\u00a1])\s+")


def copy(train: Pairs | ShardedPairs, sources: Texts) -> list[str]:
    """Returns the sources."""
    return list(sources)


def word_table(train: Pairs, sources: Texts) -> list[str]:
    """Translates word by word: each with the most probable word of IBM model 1, an unknown one as it is.

    Words keep their order. The first one of a sentence is capitalized where that of the source is.
    """
    table = most_probable_words(*([_words(text) for text in texts] for texts in (train.source, train.target)))
    return [_translate(text, table) for text in sources]


# Name of a baseline -> its function.
BASELINES: dict[str, Callable[[Pairs, Texts], list[str]]] = {"the source, copied": copy, "word table": word_table}


def add(scores: dict[str, dict], train: Pairs | ShardedPairs, parts: dict[str, Pairs], translations: dict) -> None:
    """Adds "baselines" to the scores of each split, a list of dicts.

    Each has a "name", and either "left_out", the reason, or "bleu", "chrf" and "ter", and "difference_interval", the
    95 % interval of the BLEU of the model minus that of the baseline on the same pairs.

    Args:
        train: the training pairs.
        parts, translations: split -> its pairs, and the translations of the model.
    """
    for each in scores.values():
        each["baselines"] = []
    of_model = {
        split: metrics.bleu_draws(translations[split], part.target)
        for split, part in parts.items()
        if len(part) >= metrics.MIN_ROWS
    }
    for name, translate in BASELINES.items():
        if reason := _reason_to_leave_out(name, train):
            for each in scores.values():
                each["baselines"].append({"name": name, "left_out": reason})
            continue
        sources = [text for part in parts.values() for text in part.source]
        found = translate(train, sources)
        for split, part in parts.items():
            of_split, found = found[: len(part)], found[len(part) :]
            measured = metrics.corpus_scores(of_split, part.target)
            if split in of_model:
                measured["difference_interval"] = interval(of_model[split] - metrics.bleu_draws(of_split, part.target))
            scores[split]["baselines"].append({"name": name, **measured})


def _reason_to_leave_out(name: str, train: Pairs | ShardedPairs) -> str:
    if BASELINES[name] is copy:
        return ""
    if isinstance(train, ShardedPairs):
        return "it counts all training pairs in memory, and prepared data has none"
    cells = sum(len(a.split()) * len(b.split()) for a, b in zip(train.source, train.target, strict=True))
    return "the training sentences are too long or too many for a table in memory" if cells > MAX_CELLS else ""


def most_probable_words(source: list[list[str]], target: list[list[str]]) -> dict[str, str]:
    """Returns source word -> the target word with the highest t(target | source).

    Args:
        source, target: the words of the training pairs.
    """
    source_ids, target_ids = _numbered(source), _numbered(target)
    names = {side: list(ids) for side, ids in (("source", source_ids), ("target", target_ids))}
    pairs, groups, group = [], [], 0
    for ours, theirs in zip(source, target, strict=True):
        own = np.array([len(source_ids), *(source_ids[word] for word in ours)])  # NULL first
        words = np.array([target_ids[word] for word in theirs], int)
        pairs.append((own[None] * len(target_ids) + words[:, None]).ravel())
        groups.append(np.repeat(np.arange(group, group + len(words)), len(own)))  # of each word of the target
        group += len(words)
    cells, pair = np.unique(np.concatenate([*pairs, np.empty(0, int)]), return_inverse=True)
    groups = np.concatenate([*groups, np.empty(0, int)])
    owners = cells // max(1, len(target_ids))
    probabilities = np.ones(len(cells))
    for _ in range(_ITERATIONS):
        each = probabilities[pair]
        counts = np.bincount(pair, each / np.bincount(groups, each)[groups], len(cells))
        probabilities = counts / np.bincount(owners, counts)[owners]
    order = np.lexsort((probabilities, owners))
    last = order[np.append(np.diff(owners[order]) > 0, True)] if len(order) else order
    return {
        names["source"][owners[i]]: names["target"][cells[i] % len(target_ids)]
        for i in last
        if owners[i] < len(source_ids)
    }


def _words(text: str) -> list[str]:
    """Returns words and signs; the first word is lower-cased, because it has a capital wherever it occurs first."""
    words = _WORD.findall(text)
    first = next((i for i, word in enumerate(words) if word[0].isalnum()), 0)
    return [word.lower() if i == first else word for i, word in enumerate(words)]


def _numbered(sentences: list[list[str]]) -> dict[str, int]:
    return {word: i for i, word in enumerate(dict.fromkeys(itertools.chain.from_iterable(sentences)))}


def _translate(source: str, table: dict[str, str]) -> str:
    text = " ".join(table.get(word, word) for word in _words(source))
    text = _OPENING.sub(r"\1", _CLOSING.sub(r"\1", text))
    starts_with_capital = next((word[0].isupper() for word in _WORD.findall(source) if word[0].isalnum()), False)
    return _FIRST.sub(lambda found: found[0].upper(), text, count=1) if starts_with_capital else text
