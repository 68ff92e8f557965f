"""Tagging: tokens -> one tag for each. The members of `Task` are in the order of a run."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np

from pipelines.data import span_tokens
from pipelines.data.batching import bucketed_order
from pipelines.data.prepared import TOKENIZER
from pipelines.data.tagged_splits import FROM_TEMPLATES
from pipelines.networks import interventions
from pipelines.pretrained import frozen
from pipelines.support import console
from pipelines.support.examples import example_text, text_to_try
from pipelines.support.numbers import counted
from pipelines.tagging import batches as sentence_batches
from pipelines.tagging import features, linear, metrics, networks, pooling, shards
from pipelines.tagging.batches import EncodedSentences
from pipelines.tagging.config import TaggingConfig
from pipelines.tagging.data import load  # noqa: F401 (a member of Task)
from pipelines.tagging.features import TokenFeatures
from pipelines.tagging.measure import BASELINES, LINEAR, Baseline, Details, measure_predictions
from pipelines.tagging.report import summarize, write_report  # noqa: F401 (members of Task)
from pipelines.tagging.servable import Tagger
from pipelines.tagging.spans import spans_of
from pipelines.tagging.splits import Splits
from pipelines.tagging.tagged import tag_sentences
from pipelines.task import (  # noqa: F401 (members of Task)
    items_per_epoch,
    needs_inference_model,
    refit,
    steps_per_epoch,
)
from pipelines.training.fit import FitOptions
from pipelines.training.optimizers import adam_or_sgd
from pipelines.training.schedules import warmup_schedule

UNIT = "sentences"
_LINEAR = {"linear": "crf", "best": networks.LINEAR_CRF}  # models with a linear model -> layer with its transitions
_LINEAR_SHARE = 0.3  # of --minutes, that the linear model of "best" takes at most


@dataclasses.dataclass(frozen=True)
class Encoded:
    """What training reads.

    Attributes:
        splits: the sentences.
        train, valid: the same, encoded; `train` is None if the training sentences are in shards.
        divided: number of training sentences that have more than `max_tokens` tokens.
        counted: the features of the linear model; None for a network.
        known: the linear model of the run to continue from; None: there is none.

    Its length is the number of training sentences; a divided one counts as often as it has parts.
    """

    splits: Splits
    train: EncodedSentences | None
    valid: EncodedSentences
    divided: int
    counted: linear.Counted | None = None
    known: linear.Known | None = None

    def __len__(self) -> int:
        return self.splits.sharded.rows["train"] if self.splits.sharded else len(self.train.starts)


def describe(splits: Splits) -> str:
    """Returns how much there is to train and to validate on, and which of its spans are not as they were annotated."""
    tokens = splits.train.num_tokens
    rows = (
        f"{len(splits.train):,} sentences with {tokens:,} tokens to train on, {len(splits.valid):,} sentences to "
        f"validate on, {len(splits.tags)} tags"
    )
    reasons = [reason for reason in (*span_tokens.CHANGES, FROM_TEMPLATES) if reason in splits.notes]
    return "\n".join([rows, *(f"note: {reason}: {splits.notes[reason]:,}" for reason in reasons)])


def make_tokenizer(config: TaggingConfig, splits: Splits) -> TokenFeatures:
    """Collects words and characters of the training sentences, and chooses how raw texts are divided; or takes what
    prepared data has.

    Raises:
        UserError: the encoder cannot be used.
    """
    if splits.sharded:
        return features.load(splits.sharded.folder / TOKENIZER, with_characters=config.characters != "none")
    kind = config.tokenizer or features.choose_splitter(splits.train)[0]
    if config.model == "linear":
        return TokenFeatures(kind, [], [], 0, config.max_bytes, reads=("hashes",))
    reads = ("ids", "hashes") if config.model == "best" else ("ids",)
    max_characters = 0 if config.characters == "none" else config.max_characters
    encoder = frozen.find(config.encoder, frozen.WordEncoder) if config.encoder else None
    limits = config.vocabulary_size, max_characters, config.max_bytes
    return features.train(kind, splits.train.tokens, *limits, encoder, reads)


def grow_tokenizer(config: TaggingConfig, splits: Splits, tokenizer: TokenFeatures) -> TokenFeatures:
    """Returns the features with the words and characters that those of the training sentences alone would have."""
    if config.model == "linear":
        return tokenizer  # it has no words
    grown = features.grown(tokenizer, splits.train.tokens, config.vocabulary_size)
    console.say(f"new in the vocabulary: {counted(grown.vocabulary_size - tokenizer.vocabulary_size, 'word')}")
    return grown


def load_tokenizer(folder: Path) -> TokenFeatures:
    """Loads what `TokenFeatures.save` wrote."""
    return features.load(folder)


def complete_config(config: TaggingConfig, splits: Splits, tokenizer: TokenFeatures) -> TaggingConfig:
    """Fills in the number of epochs, which follows from the number of training sentences."""
    return config.complete(len(splits.train))


def encode(config: TaggingConfig, splits: Splits, tokenizer: TokenFeatures, folder: Path) -> Encoded:
    """Encodes the training and the validation sentences; keeps nothing in the run's folder."""
    valid = sentence_batches.encode(tokenizer, splits.valid, splits.tags, config.max_tokens)
    if splits.sharded:
        return Encoded(splits, None, valid, splits.sharded.details["divided"])
    train = sentence_batches.encode(tokenizer, splits.train, splits.tags, config.max_tokens)
    divided = sum(len(tokens) > config.max_tokens for tokens in splits.train.tokens)
    if config.model not in _LINEAR:
        return Encoded(splits, train, valid, divided)
    known = linear.Known.of_run(config, len(splits.tags), _LINEAR[config.model]) if config.start_weights else None
    return Encoded(splits, train, valid, divided, linear.count(train, len(splits.tags), known), known)


def build(
    config: TaggingConfig, splits: Splits, tokenizer: TokenFeatures, encoded: Encoded, training: bool
) -> keras.Model:
    """Builds the model."""
    sizes = None
    if encoded.counted:
        sizes = networks.LinearSizes(len(encoded.counted.hashes), encoded.counted.num_weights)
    return networks.build(config, tokenizer, splits.tags, splits.spans, sizes)


def compile_model(config: TaggingConfig, model: keras.Model, total_steps: int) -> None:
    """Gives `model` Adam with a warm-up and a cosine, and the negative log-likelihood of whole sentences."""
    schedule = warmup_schedule(config, total_steps, warmup_steps=max(1, total_steps // 20))
    model.compile(
        optimizer=adam_or_sgd(config, schedule),
        loss=model.get_layer("crf").loss,
    )


def make_validator(
    config: TaggingConfig, tokenizer: TokenFeatures, encoded: Encoded, model: keras.Model
) -> Callable[[], dict[str, float]]:
    """Returns a function that scores `model`: loss, accuracy and, if the tags mark spans, F1 of the spans."""
    splits = encoded.splits
    order = bucketed_order(encoded.valid.lengths, config.batch_size, seed=0, epoch=0)
    valid_batches = sentence_batches.batches(encoded.valid, order, config.batch_size)
    tagger = _tagger(config, splits, tokenizer, model)

    def validate() -> dict[str, float]:
        loss = model.evaluate(valid_batches, verbose=0)
        # A lambda, because the method of a tf.function refers to the tagger only weakly.
        tags = tag_sentences(lambda tokens: tagger.tag_tokens(tokens), splits.valid.tokens).tags
        row = {"val_loss": float(loss), "val_accuracy": metrics.accuracy(tags, splits.valid.tags)}
        return row | ({"val_f1": metrics.span_f1(tags, splits.valid.tags)} if splits.spans else {})

    return validate


def fit_options(config: TaggingConfig, encoded: Encoded, model: keras.Model) -> FitOptions:
    """Monitors F1 of the spans where the tags mark spans, else the accuracy; fits the linear model."""
    name = "val_f1" if encoded.splits.spans else "val_accuracy"

    def monitor(row: dict) -> float:
        return -row[name] if np.isfinite(row["val_loss"]) else float("nan")

    def fit_linear() -> None:
        if encoded.counted:
            layers = model.get_layer(networks.LINEAR_LOGITS), model.get_layer(_LINEAR[config.model])
            share = 1 if config.model == "linear" else _LINEAR_SHARE
            seconds = config.minutes and 60 * config.minutes * share
            linear.fit(*layers, encoded.counted, encoded.train, config.penalty, seconds, encoded.known)

    return FitOptions(initialize=fit_linear, continue_from_run=fit_linear, monitor=monitor)


def batches(config: TaggingConfig, encoded: Encoded, epoch: int, skip: int):
    """Returns the batches of one training epoch from step `skip` on: a pure function of (config.seed, epoch, skip)."""
    if encoded.splits.sharded:
        return shards.batches(config, encoded.splits.sharded, epoch, skip)
    return sentence_batches.training_batches(config, encoded.train, epoch, skip)


def make_servable(config: TaggingConfig, splits: Splits, tokenizer: TokenFeatures, model: keras.Model) -> Tagger:
    """Returns the tagger; that of "best" pools the scores of its two members."""
    if config.model == "best":
        valid = sentence_batches.encode(tokenizer, splits.valid, splits.tags, config.max_tokens)
        pooling.pool(model, valid, splits.tags, splits.spans)
    return _tagger(config, splits, tokenizer, model)


def _tagger(config: TaggingConfig, splits: Splits, tokenizer: TokenFeatures, model: keras.Model) -> Tagger:
    return Tagger(model, model.get_layer("crf"), tokenizer, splits.tags, config.max_tokens)


def measure(
    config: TaggingConfig, splits: Splits, encoded: Encoded, servable: Tagger, best_row: dict
) -> tuple[dict[str, dict], Details]:
    """Scores the tags of all validation and test sentences, whose tokens are given."""
    parts = {"validation": splits.valid} | ({"test": splits.test} if splits.test else {})
    tagged = {name: tag_sentences(servable.tag_tokens, part.tokens) for name, part in parts.items()}
    scores, details = measure_predictions(splits, tagged, _baselines(config, servable))
    sharded = splits.sharded
    shares = sharded.details["splitters"] if sharded else features.choose_splitter(splits.train)[1]
    return scores, details._replace(tokenizers=shares, tokenizer=servable.tokenizer)


def _baselines(config: TaggingConfig, servable: Tagger) -> dict[str, Baseline]:
    """The baselines of a model; of "best", the linear one is its member, which is fitted already."""
    if config.no_baseline:
        return {}
    compared = {name: each for name, each in BASELINES.items() if (name, config.model) != (LINEAR, "linear")}
    if config.model == "best":
        member = servable.member(networks.LINEAR_CRF)
        compared[LINEAR] = lambda train_tokens, train_tags, tokens: tag_sentences(member.tag_tokens, tokens).tags
    return compared


def describe_data(config: TaggingConfig, splits: Splits, encoded: Encoded) -> dict:
    """Returns rows, notes, classes, and what is cut off."""
    notes = dict(splits.notes)
    if encoded.divided:
        notes[f"training sentences with more than {config.max_tokens} tokens, which are divided"] = encoded.divided
    parts = {"train": splits.train, "valid": splits.valid, "test": splits.test}
    pairs = list(zip(splits.valid.texts, splits.valid.tags, strict=True))
    texts = [text for text, _ in sorted(pairs, key=lambda pair: not spans_of(pair[1]))]  # those with entities first
    return {
        "classes": list(splits.tags),
        "rows": {name: len(part) for name, part in parts.items() if part},
        "notes": notes,
        "window": {"max_tokens": config.max_tokens, "max_bytes": config.max_bytes},
        "example": text_to_try(texts),
        "example_text": example_text(texts),
    }


def example_requests(servable: Tagger) -> dict[str, dict]:
    """Returns requests for every signature; their texts are written for this purpose."""
    text = [
        "Anna Kowalska doesn't live in Oslo any more. She moved to Lisbon in 2019!",
        "",
        "The two ships weigh 3,400 tons \N{GRINNING FACE} each.",
    ]
    tokens = [["Anna", "lives", "in", "Oslo", "."], ["Yes", "", "", "", ""], ["", "", "", "", ""]]
    special = {"tokens": {"tokens": tokens}, "intervene": interventions.example_request(text)}
    return {name: special.get(name, {"text": text}) for name in servable.signatures()}
