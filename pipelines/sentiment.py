"""Sentiment: review -> label.

The functions stand in the order in which a run calls them (see run.py). Text becomes ids in text.py; here ids become logits.
"""

import dataclasses
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from layers import HeadAndTail, MeanAfterTraining, NGramLogits, RandomSpan, WordDropout
from pipelines import batching, classification, console, encoders, naive_bayes, report, text, word_vectors
from pipelines.answers import Answers
from pipelines.classifier import Classifier
from pipelines.configs.sentiment import SentimentConfig
from pipelines.data import labels, negations, reviews, sample_reviews
from pipelines.data.splits import Labelled, Splits, seen_in, validation_rows
from pipelines.errors import UserError
from pipelines.text import window

UNIT = "reviews"
_SHORTEST_SPAN = 8  # tokens: a short sentence
_FULL_NORM = 7.0  # of n-grams: 96 % of IMDB's reviews have more, a sentence has less


def load(config: SentimentConfig) -> Splits:
    """Reads and splits the reviews, and adds made-up sentences where they are asked for. For errors see `read`."""
    splits = read(config)
    if config.negations and splits.classes == ("negative", "positive"):
        made = negations.sentences(splits.train, config.negations, config.seed)
        splits.train = with_made(splits.train, made)
        splits.notes['added to training: made-up sentences with and without "not"'] = len(made)
    return splits


def read(config) -> Splits:
    """Reads the reviews and splits off validation: by film where films are known, else by text.

    Args:
        config: has the fields of SentimentConfig that speak of data and validation.

    Raises:
        UserError: not readable, fewer than two classes, or too little to split.
    """
    source = config.data or "the sample"
    found = reviews.read(config.data, config.text_column, config.label_column)
    train = found["train"]
    classes = labels.classes_of(train.labels, source)
    notes = {f"left out, {reason}": rows for reason, rows in train.dropped.items()}
    if config.valid:
        valid = reviews.read(config.valid, config.text_column, config.label_column)["train"]
        notes |= {f"left out of --valid, {reason}": rows for reason, rows in valid.dropped.items()}
    else:
        groups = train.texts if train.groups is None else train.groups
        held_out = validation_rows(groups, config.valid_fraction)
        train, valid = train.take(~held_out), train.take(held_out)
    repeated = seen_in(train.texts, valid.texts)
    if repeated.any():
        notes["left out of training, the same text is in validation"] = int(repeated.sum())
        train = train.take(~repeated)
    test = found.get("test")
    parts = {"train": train, "valid": valid, "test": test}
    labelled = {name: part and labelled_reviews(part, classes, notes, name) for name, part in parts.items()}
    missing = [name for i, name in enumerate(classes) if not (labelled["train"].labels == i).any()]
    if missing or not len(labelled["valid"]):
        lost = f"class {missing[0]!r} in training" if missing else "review in validation"
        raise UserError(f"{source}: the split left no {lost}: add rows, or give a validation set with --valid")
    return Splits(**labelled, classes=classes, notes=notes)


def labelled_reviews(part: reviews.Reviews, classes: tuple[str, ...], notes: dict[str, int], name: str) -> Labelled:
    """Reviews with class ids; those with a label that is none of `classes` are left out and counted in `notes`."""
    ids = labels.class_ids(part.labels, classes)
    if (ids < 0).any():
        notes[f"left out of {name}, unknown label"] = int((ids < 0).sum())
    return Labelled(part.texts[ids >= 0], ids[ids >= 0])


def with_made(train: Labelled, made: Labelled) -> Labelled:
    """The training reviews, and behind them what was made for training."""
    texts, ids = np.concatenate([train.texts, made.texts]), np.concatenate([train.labels, made.labels])
    return Labelled(texts, ids, made=len(made))


def told(splits: Splits) -> str:
    return f"{len(splits.train):,} reviews to train on, {len(splits.valid):,} to validate; reading them ..."


load_tokenizer = text.load


def tokenizer(config: SentimentConfig, splits: Splits) -> text.Tokenizer:
    return text.train(config.tokens, splits.train.texts, config.vocabulary_size, config.max_bytes)


def settled(config: SentimentConfig, splits: Splits, tokenizer: text.Tokenizer) -> SentimentConfig:
    """The config with what was left to the data: nothing."""
    return config


@dataclasses.dataclass
class Encoded:
    """What training reads: the splits, their ids (ragged int32 [n, (tokens)]), and what the window cuts off the training texts."""

    splits: Splits
    train: tf.RaggedTensor
    valid: tf.RaggedTensor
    window: dict[str, float]


def encode(config: SentimentConfig, tokenizer: text.Tokenizer, splits: Splits, folder: Path) -> Encoded:
    train, window = ids_of(config, tokenizer, splits.train)
    return Encoded(splits, train, ids_of(config, tokenizer, splits.valid)[0], window)


def ids_of(config: SentimentConfig, tokenizer: text.Tokenizer, data: Labelled) -> tuple[tf.RaggedTensor, dict[str, float]]:
    """All ids, cut to the window, and what the cut costs.

    Returns:
        (ragged int32 [n, (tokens)], {"reviews_cut": the part of the reviews that is longer than the window,
        "tokens_lost": the part of all tokens that lies outside of it}).
    """
    ids = text.encode_all(tokenizer, data.texts)
    cut = window(ids, config.max_tokens)
    lengths = ids.row_lengths().numpy()
    longer = float((lengths > config.max_tokens).mean())
    lost = 1 - float(cut.row_lengths().numpy().sum() / lengths.sum())
    return cut, {"reviews_cut": longer, "tokens_lost": lost}


def steps_per_epoch(config: SentimentConfig, encoded: Encoded) -> int:
    return batching.steps_per_epoch(items(encoded), config.batch_size)


def items(encoded: Encoded) -> int:
    """Reviews in an epoch."""
    return len(encoded.splits.train)


def batches(config: SentimentConfig, encoded: Encoded, epoch: int, skip: int) -> tf.data.Dataset:
    """The batches of one training epoch from step `skip` on: a pure function of (config.seed, epoch, skip)."""
    order = batching.bucketed_order(encoded.train.row_lengths().numpy(), config.batch_size, config.seed, epoch)
    labels = encoded.splits.train.labels
    return batching.padded_batches(encoded.train, labels, order[skip * config.batch_size :], config.batch_size)


def validator(config: SentimentConfig, model: keras.Model, tokenizer: text.Tokenizer, encoded: Encoded):
    """() -> the scores of `model` as it is, on the validation reviews."""
    order = np.argsort(encoded.valid.row_lengths().numpy(), kind="stable")
    batches = batching.padded_batches(encoded.valid, encoded.splits.valid.labels, order, config.batch_size)

    def validate() -> dict[str, float]:
        scores = model.evaluate(batches, verbose=0, return_dict=True)
        return {f"val_{name}": float(value) for name, value in scores.items()}

    return validate


def class_rows(splits: Splits) -> dict[str, int]:
    """How many training reviews each class has."""
    counts = np.bincount(splits.train.labels, minlength=len(splits.classes))
    return dict(zip(splits.classes, counts.tolist(), strict=True))


def class_weight(config: SentimentConfig, splits: Splits) -> dict[int, float] | None:
    """With --class-weights: n / (classes * rows of the class), so that each class weighs the same in all; else None."""
    if not config.class_weights:
        return None
    rows = class_rows(splits).values()
    return {i: sum(rows) / (len(rows) * count) for i, count in enumerate(rows)}


def build(config: SentimentConfig, tokenizer: text.Tokenizer, splits: Splits, training: bool) -> keras.Model:
    return network(config, tokenizer.vocabulary_size, len(splits.classes))


def network(config: SentimentConfig, vocabulary_size: int, num_classes: int) -> keras.Model:
    """ids int32 [batch, time] -> logits float32 [batch, classes].

    With `ngrams`, the logits are the mean of the encoder's and of those of a linear classifier over n-grams; in training they
    are the encoder's alone. (The linear one is fitted by then and knows the training texts: with it in the loss, the encoder
    would find nothing left to learn.)
    """
    ids = keras.Input((None,), dtype="int32", name="ids")
    read = HeadAndTail(config.encoder_tokens, name="read")(ids) if config.encoder_tokens < config.max_tokens else ids
    if config.span_rate:
        read = RandomSpan(config.span_rate, _SHORTEST_SPAN, seed=config.seed, name="span")(read)
    if config.word_dropout:
        read = WordDropout(config.word_dropout, text.UNKNOWN, seed=config.seed, name="word_dropout")(read)
    features = encoders.encode(config, vocabulary_size, read)
    features = layers.Dropout(config.dropout, name="dropout")(features)
    logits = layers.Dense(num_classes, dtype="float32", name="logits")(features)
    if config.ngrams:
        linear = NGramLogits(num_classes, config.ngrams, full_norm=_FULL_NORM, name="ngram_logits")(ids)
        logits = MeanAfterTraining(name="mean_logits")(logits, linear)
    return keras.Model(ids, logits, name=f"sentiment_{config.model}")


def fit_arguments(config: SentimentConfig, model: keras.Model, encoded: Encoded) -> dict:
    return {
        "class_weight": class_weight(config, encoded.splits),
        "prepare": lambda: prepare(config, model, encoded.train, encoded.splits.train),
    }


def prepare(config: SentimentConfig, model: keras.Model, ids: tf.RaggedTensor, data: Labelled) -> None:
    """Gives a new `model` what is computed from the training texts rather than learned by gradients."""
    if config.word_vectors == "cooccurrence":
        console.say("word vectors from co-occurrences ...")
        words = model.get_layer(encoders.WORDS)
        words.embeddings.assign(word_vectors.cooccurrence(ids, *words.embeddings.shape, config.seed))
    if config.ngrams:
        console.say("the linear classifier over n-grams ...")
        reviews_alone = len(data) - data.made  # the made sentences say of an n-gram what no review does
        naive_bayes.fit(model.get_layer("ngram_logits"), ids[:reviews_alone], data.labels[:reviews_alone], config.seed)


def scores_a_twin(config: SentimentConfig) -> bool:
    """Whether what is scored and kept is another model than what is trained."""
    return False


def compile_arguments(config: SentimentConfig, steps: int) -> dict:
    """Optimizer, loss and metrics for a training of `steps` steps in all."""
    warm_up = max(1, steps // 20)
    schedule = keras.optimizers.schedules.CosineDecay(
        0.0, decay_steps=max(1, steps - warm_up), warmup_target=config.learning_rate, warmup_steps=warm_up
    )
    return dict(
        optimizer=keras.optimizers.Adam(schedule, global_clipnorm=config.clip_norm),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=[keras.metrics.SparseCategoricalAccuracy("accuracy")],
    )


def servable(model: keras.Model, tokenizer: text.Tokenizer, config: SentimentConfig, splits: Splits) -> Classifier:
    return Classifier(model, tokenizer, config.max_tokens, splits.classes)


def measure(servable: Classifier, splits: Splits, encoded: Encoded) -> tuple[dict, dict]:
    """Scores the servable.

    Returns:
        (split -> every measure of `classification.measures`, what `write_report` needs besides).
    """
    answer = Answers(servable.signatures()["serving_default"])
    parts = {"validation": splits.valid} | ({"test": splits.test} if splits.test else {})
    scores, probabilities = {}, {}
    for name, data in parts.items():
        probabilities[name] = answer(data.texts)["probabilities"]
        scores[name] = classification.measures(data.labels, probabilities[name], splits.classes, data.texts)
    return scores, {"valid": splits.valid, "probabilities": probabilities["validation"]}


def facts(config: SentimentConfig, splits: Splits, encoded: Encoded) -> dict:
    """What the run's record says of the data."""
    return facts_of_data(splits) | {"window": {"max_tokens": config.max_tokens, "max_bytes": config.max_bytes, **encoded.window}}


def facts_of_data(splits: Splits) -> dict:
    return {
        "classes": list(splits.classes),
        "rows": {name: len(part) for name, part in vars(splits).items() if name in ("train", "valid", "test") and part},
        "class_rows": class_rows(splits),
        "notes": splits.notes,
    }


def example_requests(servable: Classifier) -> dict[str, dict]:
    """Requests for the export's warm-up and verification: written for this, so that no user's text is in an export."""
    texts = sample_reviews.generate(4, seed=2)[0].tolist()
    texts += [" ".join(texts * 20), "", "\N{GRINNING FACE}", "Caf\N{LATIN SMALL LETTER E WITH ACUTE} &amp; more<br />"]
    return {"serving_default": {"text": texts}, "explain": {"text": texts}}


def write_report(folder: Path, result: dict, details: dict) -> None:
    valid, probabilities = details["valid"], details["probabilities"]
    mistakes = report.worst_mistakes(valid.texts, valid.labels, probabilities, tuple(result["classes"]))
    report.write(folder, result, mistakes, valid.labels, probabilities)
