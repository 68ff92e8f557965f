"""Scores the predictions of a tagger, and those of the baselines beside them."""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple, Protocol

from pipelines.support import console
from pipelines.tagging import baselines, metrics
from pipelines.tagging.splits import ShardedSentences
from pipelines.text.invisible import visible

LINEAR = "linear CRF"
Baseline = Callable[[Sequence, Sequence, Sequence], Sequence]  # training tokens, their tags, tokens -> their tags
# All are left out where they would take minutes.
BASELINES: dict[str, Baseline] = {
    "most frequent tag": baselines.most_frequent_tag,
    "hidden Markov model": baselines.hidden_markov_model,
    LINEAR: baselines.linear_model,
}
_NOT_OF_BASELINES = ("sentences", "tokens", "unknown_tokens", "tags", "spans", "confusion")  # of `metrics.score`
MAX_TRAINING_TOKENS = 3_000_000
MAX_TOKENS = 300_000  # of validation and test sentences
MAX_SCORES = 10_000_000  # tags of training tokens, of a linear CRF


class Sentences(Protocol):
    """Sentences and their tags, such as `TaggedSentences`."""

    tokens: Sequence[Sequence[str]]
    tags: Sequence[Sequence[str]]


class Splits(Protocol):
    """The data of a run: "test" is None without a test set, and "spans" says whether the tags mark spans."""

    train: Sentences | ShardedSentences
    valid: Sentences
    test: Sentences | None
    tags: Sequence[str]
    spans: bool


class Predictions(Protocol):
    """Predicted tags of sentences, and the probability of each."""

    tags: Sequence[Sequence[str]]
    scores: Sequence[Sequence[float]]


class Details(NamedTuple):
    """What the report needs besides the result.

    Attributes:
        tokens, predicted, expected, probabilities: of the validation sentences, one list per sentence: the words, their
            predicted tags, their true tags, and the probabilities of the predicted ones.
        num_training_tokens: number of tokens of the training sentences.
        tokenizers: way to divide a text into tokens -> share of the training tokens that it gives; {} if not known.
        tokenizer: the one that the export uses.
    """

    tokens: Sequence[Sequence[str]]
    predicted: Sequence[Sequence[str]]
    expected: Sequence[Sequence[str]]
    probabilities: Sequence[Sequence[float]]
    num_training_tokens: int
    tokenizers: dict[str, float] = {}
    tokenizer: str = ""


def measure_predictions(
    splits: Splits, predictions: dict[str, Predictions], compared: dict[str, Baseline] = BASELINES
) -> tuple[dict[str, dict], Details]:
    """Scores the tags of the validation sentences, and of the test sentences if there are any.

    Args:
        predictions: "validation" and, with a test set, "test" -> tags of its sentences.
        compared: the baselines by name.

    Returns:
        (split -> `metrics.score`, details for the report). With baselines, each split has "baselines": a list of dicts
        of "name" and either the reason why it is "left_out" or its scores, as in `metrics.score`, and what
        `metrics.compare` returns: by how much the model is better.
    """
    parts = {"validation": splits.valid} | ({"test": splits.test} if splits.test else {})
    known_words, num_training_tokens = _known(splits.train)
    scores = {}
    for name, part in parts.items():
        tags = predictions[name].tags
        scores[name] = metrics.score(part.tokens, tags, part.tags, known_words, splits.spans, splits.tags)
    if compared:
        _add_baselines(compared, scores, splits, parts, predictions, known_words)
    valid, of_valid = splits.valid, predictions["validation"]
    return scores, Details(valid.tokens, of_valid.tags, valid.tags, of_valid.scores, num_training_tokens)


def _add_baselines(
    compared: dict[str, Baseline],
    scores: dict[str, dict],
    splits: Splits,
    parts: dict[str, Sentences],
    predictions: dict[str, Predictions],
    known_words: Collection[str],
) -> None:
    """Adds "baselines" to the scores of each split. Each baseline is fitted once, and tags all splits."""
    train, spans = splits.train, splits.spans
    for name in scores:
        scores[name]["baselines"] = []
    reasons = {name: _reason_to_leave_out(fit, splits, parts) for name, fit in compared.items()}
    if fitted := [baseline for baseline, reason in reasons.items() if not reason]:
        console.say(f"fitting the baselines: {', '.join(fitted)} ...")
    for baseline, reason in reasons.items():
        if reason:
            for name in scores:
                scores[name]["baselines"].append({"name": baseline, "left_out": reason})
            continue
        sentences = _visible([words for part in parts.values() for words in part.tokens])
        tagged = compared[baseline](_visible(train.tokens), train.tags, sentences)
        for name, part in parts.items():
            tags, tagged = tagged[: len(part.tokens)], tagged[len(part.tokens) :]
            found = metrics.score(part.tokens, tags, part.tags, known_words, spans)
            found = {key: value for key, value in found.items() if key not in _NOT_OF_BASELINES}
            found |= metrics.compare(predictions[name].tags, tags, part.tags, spans)
            scores[name]["baselines"].append({"name": baseline, **found})


def _visible(sentences: Sequence[Sequence[str]]) -> list[list[str]]:
    """Returns sentences as the model reads them: without invisible characters."""
    return [[visible(token) for token in sentence] for sentence in sentences]


def _known(train: Sentences | ShardedSentences) -> tuple[Collection[str], int]:
    """Returns (the words of the training sentences, as far as other sentences have them; number of their tokens)."""
    if isinstance(train, ShardedSentences):
        return train.known_words, train.num_tokens
    return {visible(word) for words in train.tokens for word in words}, sum(map(len, train.tokens))


def _reason_to_leave_out(baseline: Baseline, splits: Splits, parts: dict[str, Sentences]) -> str:
    train = splits.train
    if isinstance(train, ShardedSentences):
        return "it counts all training sentences in memory, and prepared data has none"
    num_tokens = sum(map(len, train.tokens))
    if num_tokens > MAX_TRAINING_TOKENS:
        return f"the training sentences have more than {MAX_TRAINING_TOKENS / 1e6:g} million tokens"
    if sum(len(words) for part in parts.values() for words in part.tokens) > MAX_TOKENS:
        return f"the sentences to tag have more than {MAX_TOKENS:,} tokens"
    if baseline is baselines.linear_model and num_tokens * len(splits.tags) > MAX_SCORES:
        return f"{num_tokens:,} training tokens with {len(splits.tags):,} tags would take minutes"
    return ""
