"""Whether a language model gives the verb the number of its subject: accuracy by distance, and word by word.

A model is asked by `score`, a function of texts that returns their log-probabilities. With the chain rule,

    log P(verb | prefix) = log P(prefix verb) - log P(prefix)

so two texts that differ in the verb alone compare the two verbs, and exports of every kind can be asked.

A character model spells the verb. To it, "was" may be the start of "wasp"; so the verb is followed by a space, which
ends the word. Words are whole tokens. Subwords do not get the space: with it, the model would read a token that is a
space alone, which no text has before a word.

Source: Linzen, Dupoux and Goldberg 2016, "Assessing the Ability of LSTMs to Learn Syntax-Sensitive Dependencies".
"""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import pandas as pd

from pipelines.inspect.sentences import VERBS, AgreementSentence
from pipelines.labelled.metrics import wilson_interval
from pipelines.support.errors import UserError
from pipelines.text.special_tokens import END, START, UNKNOWN

Score = Callable[[Sequence[str]], np.ndarray]
TokenizerKind = Literal["character", "word", "subword"]
DISTANCE_BINS = (0, 1, 2, 3, 5, 8, 12, 16, 20, 24)  # first distances of the bins
_BATCH_TEXTS = 256


def documents_before(signatures, documents: Sequence[str]) -> np.ndarray:
    """Returns the tokens of whole documents that are read before a text, for `score_function`.

    Args:
        signatures: of an export of a model of documents.
        documents: such as three lines of `training_text`.

    Returns:
        int32 [tokens]: of each document its tokens, <end>, and the <start> of the next one.
    """
    import tensorflow as tf

    rows = [signatures["encode"](text=tf.constant([text]))["ids"].numpy()[0] for text in documents]
    return np.concatenate([np.zeros(0, np.int32), *([*row, END, START] for row in rows)]).astype(np.int32)


def score_function(signatures, before: np.ndarray | None = None) -> Score:
    """Returns `score` of a loaded export of a language model.

    The signature `score` of a model of documents (`--documents`) also counts the end of the text, which the beginning
    of a sentence does not have. So this function sums the losses of the tokens alone, which the signatures `encode` and
    `token_losses` give; for other models both are equal.

    A recurrent network carries its state from one document to the next in training, and so has hardly ever read a
    sentence from the zero state. There it makes mistakes that it does not make after other documents: give some as
    `before`. They are not scored.

    Args:
        signatures: of `Exported.load()`; keep the loaded object as long as the function is used.
        before: int32 [tokens], see `documents_before`; by default a text is the first one.

    Returns:
        A function of a list of texts that returns their log-probabilities in nats, float64 [texts]; 0 for an empty
        text.
    """
    before = np.zeros(0, np.int32) if before is None else np.asarray(before, np.int32)

    def score(texts: Sequence[str]) -> np.ndarray:
        import tensorflow as tf

        totals = np.zeros(len(texts))
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))  # similar lengths need little padding
        for start in range(0, len(order), _BATCH_TEXTS):
            rows = order[start : start + _BATCH_TEXTS]
            encoded = signatures["encode"](text=tf.constant([texts[i] for i in rows]))
            ids = np.pad(encoded["ids"].numpy(), [(0, 0), (0, 1)])  # at least one column
            ids = np.concatenate([np.tile(before, (len(ids), 1)), ids], axis=1)
            losses = signatures["token_losses"](ids=tf.constant(ids, tf.int32))["losses"].numpy()
            losses = losses[:, len(before) :].astype(np.float64)  # [texts, time]
            is_token = np.arange(losses.shape[1]) < encoded["lengths"].numpy()[:, None]
            totals[rows] = -np.where(is_token, losses, 0.0).sum(axis=1)
        return totals

    return score


def with_known_verbs(signatures, sentences: Sequence[AgreementSentence]) -> list[AgreementSentence]:
    """Returns the sentences of whose verbs a word model knows both forms.

    It reads each word that it does not know as the same unknown token, whose probability says nothing of this verb. For
    sentences of a treebank; models of characters know all words.

    Args:
        signatures: see `score_function`.
    """
    import tensorflow as tf

    verbs = sorted({verb for sentence in sentences for verb in (sentence.right, sentence.wrong)})
    if not verbs:
        return []
    ids = signatures["encode"](text=tf.constant(verbs))["ids"].numpy()
    known = {verb for verb, row in zip(verbs, ids) if not (row == UNKNOWN).any()}
    return [sentence for sentence in sentences if {sentence.right, sentence.wrong} <= known]


def agreement(score: Score, sentences: Sequence[AgreementSentence], tokenizer: TokenizerKind = "word") -> pd.DataFrame:
    """Returns how likely a model finds both forms of each verb.

    Args:
        score: see `score_function`.
        tokenizer: of the model.

    Returns:
        One row per sentence: "prefix", "right", "wrong", "distance", "attractors"; "log_p_right" and "log_p_wrong", of
        the text up to and with the verb, in nats; "correct", whether the right verb is the likelier one; "tied",
        whether both are equally likely, as of a word model that knows neither.

    Raises:
        UserError: there are no sentences.
    """
    if not sentences:
        raise UserError("there are no sentences to test: give at least one")
    texts = [_joined(s.prefix, verb, tokenizer) for s in sentences for verb in (s.right, s.wrong)]
    log_p = np.asarray(score(texts), np.float64).reshape(-1, 2)  # [sentences, right and wrong]
    columns = ("prefix", "right", "wrong", "distance", "attractors")
    results = pd.DataFrame({name: [getattr(s, name) for s in sentences] for name in columns})
    return results.assign(
        log_p_right=log_p[:, 0],
        log_p_wrong=log_p[:, 1],
        correct=log_p[:, 0] > log_p[:, 1],
        tied=log_p[:, 0] == log_p[:, 1],
    )


def large_bins(values: Sequence[int], bins: Sequence[int], smallest: int = 20) -> tuple[int, ...]:
    """Returns those of `bins` after which the groups have at least `smallest` values each; the last ones are joined.

    Args:
        values: such as the distances of the sentences.
        bins: the first values of the groups, rising.
    """
    kept, end = [], np.inf
    for first in reversed(bins):
        if sum(first <= value < end for value in values) >= smallest:
            kept.append(first)
            end = first
    return tuple(sorted({*kept[:-1], bins[0]}))


def accuracy(
    results: pd.DataFrame, by: str | Sequence[str] = "distance", bins: Sequence[int] | None = None
) -> pd.DataFrame:
    """Returns the accuracy of groups of sentences. Chance is .5.

    Args:
        results: of `agreement`.
        by: "distance", "attractors", or both.
        bins: the first values of the groups, such as `DISTANCE_BINS`, of the distance if `by` has it; the last group
            has all larger ones. By default each value is a group.

    Returns:
        One row per group, in the order of the groups: the columns of `by` (of a bin the first value), "label"
        such as "5-7", "accuracy", "low" and "high" of its 95 % interval (Wilson), "sentences". Ties do not count; they
        are in "tied".

    Raises:
        UserError: the first bin begins above the shortest distance, or the bins do not rise.
    """
    by = [by] if isinstance(by, str) else list(by)
    results, labels = results.copy(), {}
    binned = "distance" if "distance" in by else by[0]
    if bins is not None:
        edges = np.asarray(bins)
        if not len(edges) or (np.diff(edges) <= 0).any() or edges[0] > results[binned].min():
            raise UserError(f"bins {list(bins)}: give rising numbers, the first not above the smallest {binned}")
        results[binned] = edges[np.searchsorted(edges, results[binned], side="right") - 1]
        labels = {int(a): str(a) if b == a + 1 else f"{a}-{b - 1}" for a, b in zip(edges, edges[1:])}
        labels[int(edges[-1])] = f"{edges[-1]}+"
    rows = []
    for key, group in results.groupby(by, sort=True):
        counted = group[~group["tied"]]
        count, correct = len(counted), int(counted["correct"].sum())
        low, high = wilson_interval(correct, count) if count else (np.nan, np.nan)
        names = dict(zip(by, (int(each) for each in key)))
        label = " ".join(labels.get(v, str(v)) if name == binned else str(v) for name, v in names.items())
        rows.append(
            names
            | {"label": label, "accuracy": correct / count if count else np.nan, "low": low, "high": high}
            | {"sentences": count, "tied": len(group) - count}
        )
    return pd.DataFrame(rows)


def word_by_word(
    score: Score, text: str, candidates: Sequence[str] = VERBS, tokenizer: TokenizerKind = "word"
) -> pd.DataFrame:
    """Returns how likely a model finds some words as the next one, after each word of a text.

    The probability is that of the whole word, given the words before it. Of a character model, it is the probability of
    its letters and of the space that ends it, after the space that ends the word before.

    Args:
        score: see `score_function`.
        text: words with spaces between them.
        candidates: words.
        tokenizer: of the model.

    Returns:
        One row per word of the text: "word", "prefix" (the text up to and with it), and for each candidate its
        probability as a column of its name.

    Raises:
        UserError: the text has no words, or there are no candidates.
    """
    words = text.split()
    if not words or not candidates:
        raise UserError("word by word: give a text of at least one word, and at least one candidate")
    prefixes = [" ".join(words[: i + 1]) for i in range(len(words))]
    space = " " if tokenizer == "character" else ""
    texts = [prefix + space for prefix in prefixes]
    texts += [_joined(prefix, word, tokenizer) for prefix in prefixes for word in candidates]
    log_p = np.asarray(score(texts), np.float64)
    before, after = log_p[: len(words)], log_p[len(words) :].reshape(len(words), len(candidates))
    probabilities = np.exp(after - before[:, None])
    columns = {word: probabilities[:, i] for i, word in enumerate(candidates)}
    return pd.DataFrame({"word": words, "prefix": prefixes, **columns})


def _joined(prefix: str, word: str, tokenizer: TokenizerKind) -> str:
    text = f"{prefix} {word}" if prefix else word
    return f"{text} " if tokenizer == "character" else text
