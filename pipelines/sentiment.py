"""Sentiment: review -> label.

The functions stand in the order in which a run calls them (see run.py). Text becomes ids in text.py; here ids become logits.
"""

from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

from layers import HashedNGrams, MaskedMaxPooling, MaskedMeanPooling
from pipelines import batching, classification, report, text
from pipelines.configs.sentiment import SentimentConfig
from pipelines.data import labels, reviews, sample_reviews
from pipelines.data.splits import Labelled, Splits, seen_in, validation_rows
from pipelines.errors import UserError
from pipelines.text import window

UNIT = "reviews"


def load(config: SentimentConfig) -> Splits:
    """Reads the reviews and splits off validation: by film where films are known, else by text.

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


def tokenizer(config: SentimentConfig, train: Labelled) -> text.Tokenizer:
    return text.train(config.tokens, train.texts, config.vocabulary_size, config.max_bytes)


def encode(config: SentimentConfig, tokenizer: text.Tokenizer, data: Labelled) -> tuple[tf.RaggedTensor, dict[str, float]]:
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


def batches(config: SentimentConfig, ids: tf.RaggedTensor, data: Labelled, epoch: int, skip: int) -> tf.data.Dataset:
    """The batches of one training epoch from step `skip` on: a pure function of (config.seed, epoch, skip)."""
    order = batching.bucketed_order(ids.row_lengths().numpy(), config.batch_size, config.seed, epoch)
    return batching.padded_batches(ids, data.labels, order[skip * config.batch_size :], config.batch_size)


def validation_batches(config: SentimentConfig, ids: tf.RaggedTensor, data: Labelled) -> tf.data.Dataset:
    order = np.argsort(ids.row_lengths().numpy(), kind="stable")
    return batching.padded_batches(ids, data.labels, order, config.batch_size)


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


def build(config: SentimentConfig, tokenizer: text.Tokenizer, classes: tuple[str, ...]) -> keras.Model:
    """ids int32 [batch, time] -> logits float32 [batch, classes]."""
    ids = keras.Input((None,), dtype="int32", name="ids")
    encoder = {"bag": _bag, "lstm": _lstm}[config.model]
    features = layers.Dropout(config.dropout, name="dropout")(encoder(config, tokenizer.vocabulary_size, ids))
    logits = layers.Dense(len(classes), dtype="float32", name="logits")(features)
    return keras.Model(ids, logits, name=f"sentiment_{config.model}")


def _bag(config: SentimentConfig, vocabulary_size: int, ids):
    """The mean over the vectors of all tokens and of all pairs of neighbours (Joulin et al. 2017, fastText)."""
    words = layers.Embedding(vocabulary_size, config.embedding_size, name="words")(ids)
    if not config.ngram_buckets:
        return MaskedMeanPooling(name="mean")(words, mask=ops.not_equal(ids, text.PAD))
    pair_ids = HashedNGrams(2, config.ngram_buckets, name="pair_ids")(ids)
    pairs = layers.Embedding(config.ngram_buckets, config.embedding_size, name="pairs")(pair_ids)
    vectors = ops.concatenate([words, pairs], axis=1)
    mask = ops.not_equal(ops.concatenate([ids, pair_ids], axis=1), text.PAD)
    return MaskedMeanPooling(name="mean")(vectors, mask=mask)


def _lstm(config: SentimentConfig, vocabulary_size: int, ids):
    """A bidirectional LSTM over the tokens; of its states the largest value of each feature."""
    mask = ops.not_equal(ids, text.PAD)
    words = layers.Embedding(vocabulary_size, config.embedding_size, name="words")(ids)
    words = layers.SpatialDropout1D(config.dropout, name="word_dropout")(words)
    lstm = layers.LSTM(config.hidden_size, return_sequences=True)
    states = layers.Bidirectional(lstm, name="lstm")(words, mask=mask)
    return MaskedMaxPooling(name="max")(states, mask=mask)


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


class Servable(tf.Module):
    """What is evaluated, exported and served: strings in, a label with its probability out."""

    def __init__(self, model: keras.Model, tokenizer: text.Tokenizer, config: SentimentConfig, classes: tuple[str, ...]):
        super().__init__()
        self._tokenizer = tokenizer
        self._classes = tf.constant(classes, tf.string)
        self._max_tokens = config.max_tokens
        self._variables = [weight.value for weight in model.weights]  # so that the SavedModel holds them
        self._model = lambda ids: model(ids, training=False)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def classify(self, text):
        """string [batch] -> label: string [batch], score: float32 [batch], probabilities: float32 [batch, classes]."""
        ids = window(self._tokenizer.encode(text), self._max_tokens).to_tensor()
        probabilities = tf.nn.softmax(self._model(ids))
        label = tf.gather(self._classes, tf.argmax(probabilities, axis=-1))
        return {"label": label, "score": tf.reduce_max(probabilities, axis=-1), "probabilities": probabilities}

    def signatures(self) -> dict:
        return {"serving_default": self.classify.get_concrete_function()}


def servable(model: keras.Model, tokenizer: text.Tokenizer, config: SentimentConfig, classes: tuple[str, ...]) -> Servable:
    return Servable(model, tokenizer, config, classes)


def example_requests() -> list[str]:
    """Requests for the export's warm-up and verification: written for this, so that no user's text is in an export."""
    texts = sample_reviews.generate(4, seed=2)[0].tolist()
    return [*texts, " ".join(texts * 20), "", "\N{GRINNING FACE}", "Caf\N{LATIN SMALL LETTER E WITH ACUTE} &amp; more<br />"]


def evaluate(answer, data: Labelled, classes: tuple[str, ...]) -> tuple[dict, np.ndarray]:
    """Scores the answers of a servable or of a loaded SavedModel.

    Args:
        answer: texts -> {"probabilities": [n, classes], ...}; an `answers.Answers`.

    Returns:
        (every measure of `classification.measures`, the probabilities float [n, classes]).
    """
    probabilities = answer(data.texts)["probabilities"]
    return classification.measures(data.labels, probabilities, classes, data.texts), probabilities


def write_report(folder: Path, result: dict, valid: Labelled, probabilities: np.ndarray) -> None:
    mistakes = report.worst_mistakes(valid.texts, valid.labels, probabilities, tuple(result["classes"]))
    report.write(folder, result, mistakes, valid.labels, probabilities)
