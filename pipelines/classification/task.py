"""Text classification: text -> label."""

import dataclasses
import functools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from layers import SparseNGramLogits
from pipelines import task
from pipelines.classification import blocks, continuing, cooccurrence, many_classes, members, networks, reader, shards
from pipelines.classification.columns import example_columns
from pipelines.classification.config import ClassificationConfig
from pipelines.classification.data import load  # noqa: F401 (a member of Task)
from pipelines.classification.encoded import Encoded, find_continued, inputs_of, with_ngrams
from pipelines.classification.reader import Reader
from pipelines.classification.report import summarize, write_report  # noqa: F401 (members of Task)
from pipelines.classification.servable import Classifier, network_inputs
from pipelines.classification.sizes import Sizes
from pipelines.data import batching
from pipelines.data.prepared import TOKENIZER
from pipelines.labelled import losses, thresholds
from pipelines.labelled.describe import (  # noqa: F401 (`describe` is of Task)
    class_weight,
    describe,
    describe_splits,
    text_weight,
)
from pipelines.labelled.labelled_splits import Labelled, LabelledSplits
from pipelines.labelled.measure import measure  # noqa: F401 (a member of Task)
from pipelines.labelled.outputs import with_number_of_classes
from pipelines.linear import linear_model, ngrams
from pipelines.networks import interventions
from pipelines.pretrained.vector_model import Vectors
from pipelines.runs import continuing as run_continuing
from pipelines.support import console
from pipelines.support.errors import UserError
from pipelines.task import items_per_epoch, steps_per_epoch  # noqa: F401 (members of Task)
from pipelines.text.special_tokens import FIELD_MARK, UNKNOWN
from pipelines.text.tokenizers import Tokenizer, train_tokenizer
from pipelines.training.fit import FitOptions
from pipelines.training.optimizers import adam_or_sgd
from pipelines.training.schedules import warmup_schedule

UNIT = "texts"
_EXPLAINED_WORDS = 40  # of a text in the example request of `explain`, with an encoder


def make_tokenizer(config: ClassificationConfig, splits: LabelledSplits) -> Tokenizer:
    """Trains the tokenizer on the training texts, or takes that of prepared data."""
    if splits.sharded:
        return load_tokenizer(splits.sharded.folder / TOKENIZER)
    tokenizer = train_tokenizer(config.tokenizer, splits.train.texts, config.vocabulary_size, config.max_bytes)
    return reader.make(tokenizer, config.encoder, splits.fields) if config.encoder else tokenizer


def load_tokenizer(folder: Path) -> Tokenizer | Reader:
    """Loads the tokenizer and, if there is one, the encoder."""
    return reader.load(folder)


def grow_tokenizer(config: ClassificationConfig, splits: LabelledSplits, tokenizer: Tokenizer) -> Tokenizer:
    """Returns the tokenizer with the words or characters that one of the training texts alone would have, too.

    The tokens of SentencePiece stay as they are: it writes most texts with them.
    """
    if config.tokenizer == "subword":
        return tokenizer
    return run_continuing.grown_tokenizer(config.tokenizer, tokenizer, make_tokenizer(config, splits))


def complete_config(config: ClassificationConfig, splits: LabelledSplits, tokenizer: Tokenizer) -> ClassificationConfig:
    """Fills in the fields that follow from the number of training texts: epochs, patience, and sizes of steps."""
    complete = config.complete(len(splits.train))
    if splits.fields:
        complete = dataclasses.replace(complete, field_mark=_field_mark(tokenizer))
    if complete.model != config.model:
        console.say(
            f"{len(splits.train):,} training texts are too few for a network: the linear model alone (--least-texts)"
        )
    return complete


def _field_mark(tokenizer: Tokenizer) -> int:
    """Returns the id of FIELD_MARK in the vocabulary.

    Raises:
        UserError: it is no token of its own.
    """
    ids = tokenizer.encode(tf.constant([FIELD_MARK]))[0][1:-1].numpy().tolist()
    if len(ids) != 1 or ids[0] == UNKNOWN:
        raise UserError("several columns need a token that divides them: give --tokenizer word")
    return ids[0]


def encode(config: ClassificationConfig, splits: LabelledSplits, tokenizer: Tokenizer, folder: Path) -> Encoded:
    """Encodes the training and the validation texts; keeps in the run's folder the vectors of an encoder alone."""
    if isinstance(tokenizer, Reader):
        tokenizer.encoder.keep_in(folder)
    if config.start_weights:  # the validation texts may be those of that run
        splits = dataclasses.replace(splits, valid=splits.valid.with_classes(len(splits.classes)))
    if splits.sharded:
        needs_sample = config.word_vectors == "cooccurrence"
        train = shards.sample(config, splits.sharded) if needs_sample else {}
        cut = splits.sharded.details["cut"]
    else:
        train, cut = inputs_of(config, tokenizer, splits.train)
        if config.start_weights:
            continuing.check_known(config, train["ids"].flat_values.numpy())
    encoded = Encoded(splits, train, inputs_of(config, tokenizer, splits.valid)[0], cut)
    return with_ngrams(config, encoded, len(splits.train))


def build(
    config: ClassificationConfig, splits: LabelledSplits, tokenizer: Tokenizer, encoded: Encoded, training: bool
) -> keras.Model:
    """Builds the network of `config.model`."""
    sizes = Sizes.of(config, len(splits.classes), len(splits.train))
    if config.start_weights and config.max_ngrams:
        find_continued(config, encoded)
        sizes = encoded.sizes
    vector_size = tokenizer.vector_size if isinstance(tokenizer, Reader) else None
    model = networks.network(config, tokenizer.vocabulary_size, len(splits.classes), sizes, vector_size)
    return networks.of_columns(model) if training and needs_inference_model(config) else model


def needs_inference_model(config: ClassificationConfig) -> bool:
    """Whether training finds the n-grams of each text once: those of texts in memory, for a new model of "best"."""
    return config.model == "best" and not config.start_weights and not config.prepared()


def compile_model(config: ClassificationConfig, model: keras.Model, total_steps: int) -> None:
    """Adam with a warm-up and a cosine, cross-entropy, and accuracy.

    With several labels per text, cross-entropy and accuracy are those of the decisions on each label.
    """
    schedule = warmup_schedule(config, total_steps, warmup_steps=max(1, total_steps // 20))
    model.compile(
        optimizer=adam_or_sgd(config, schedule),
        **(losses.several_labels() if config.multi_label else losses.one_label()),
    )


def fit_options(config: ClassificationConfig, encoded: Encoded, model: keras.Model) -> FitOptions:
    """Class weights, and the weights that are computed from the training texts."""
    splits = encoded.splits
    # The batches have the weights of texts, with those of their classes.
    in_batches = not splits.sharded and splits.train.weights is not None
    return FitOptions(
        class_weight=None if in_batches else class_weight(config, splits),
        initialize=lambda: initialize(config, model, encoded),
        continue_from_run=lambda: _continue_linear(config, model, encoded),
    )


def _continue_linear(config: ClassificationConfig, model: keras.Model, encoded: Encoded) -> None:
    """Corrects the linear model of the run to continue from by the new texts."""
    if encoded.start:
        console.say("correcting the linear model over n-grams by the new texts ...")
        encoded.choice = _fit_linear(config, model, encoded, encoded.choice)
        encoded.counted = None  # large


def initialize(config: ClassificationConfig, model: keras.Model, encoded: Encoded) -> None:
    """Gives a new `model` the weights that are computed from the training texts rather than learned from gradients."""
    if config.word_vectors == "cooccurrence":
        console.say("computing word vectors from co-occurrences ...")
        words = model.get_layer(networks.WORDS)
        words.embeddings.assign(cooccurrence.word_vectors(encoded.train["ids"], *words.embeddings.shape, config.seed))
    if config.max_ngrams and encoded.splits.sharded:
        _initialize_from_shards(config, model, encoded.splits)
    elif config.max_ngrams:
        console.say("fitting the linear model over n-grams ...")
        encoded.choice = _fit_linear(config, model, encoded, encoded.choice)
        encoded.counted = None  # large
        if encoded.telling:
            known = encoded.telling
            model.get_layer(networks.NGRAM_PROJECTION).set_ngrams(known.hashes, known.ratios)


def _initialize_from_shards(config: ClassificationConfig, model: keras.Model, splits: LabelledSplits) -> None:
    """Finds the n-grams of the training texts of prepared data, and fits the linear model to them."""
    console.say("finding the n-grams of all training texts ...")
    num_texts, num_classes = len(splits.train), len(splits.classes)
    lengths = config.ngram_lengths(num_classes)
    hashed = (
        (ngrams.hash_texts(inputs, **lengths), labels) for inputs, labels in shards.chunks(config, splits.sharded)
    )
    with tempfile.TemporaryFile() as file:
        found = blocks.Blocks(file, hashed, config.num_ngrams(num_texts))
        totals = found.totals(num_classes)
        console.say("fitting the linear model over n-grams ...")
        of_class = class_weight(config, splits)
        of_class = None if of_class is None else np.array([of_class[i] for i in range(num_classes)])
        blocks.fit(model.get_layer(networks.NGRAM_LOGITS), found, totals, of_class, config.seed)
    if config.model == "best":
        rows_of_classes = splits.train.rows_of_classes(num_classes)
        known = ngrams.most_telling(
            found.hashes,
            totals.of_ngrams,
            num_texts,
            ((texts / num_texts, totals.of_decision(i)) for i, texts in enumerate(rows_of_classes)),
            Sizes.of(config, num_classes, num_texts).num_telling,
        )
        model.get_layer(networks.NGRAM_PROJECTION).set_ngrams(known.hashes, known.ratios)


def _before_generated(train: Labelled, values: tf.RaggedTensor, added: tf.RaggedTensor) -> tf.RaggedTensor:
    """Joins values of the training texts, [n, (length)], and of others, as `Labelled.with_texts` does the texts."""
    return tf.concat([values[: train.num_real], added, values[train.num_real :]], axis=0)


def refit(
    config: ClassificationConfig,
    encoded: Encoded,
    model: keras.Model,
    servable: Classifier,
    train_again: Callable[[Encoded], None],
) -> int:
    """Fits what `--refit` names to the training and the validation texts; see `Task.refit`.

    The settings of the linear model are those that were chosen on the training texts; with few texts, they are chosen
    once more on all.

    Returns:
        The number of texts; 0 if nothing is fitted again.
    """
    splits, factors = encoded.splits, servable.calibration.factors  # of the network, if there is one, comes first
    new_linear = bool(config.max_ngrams) and factors[-1] > 0 and (not config.start_weights or encoded.start)
    new_network = config.refit == "all" and config.model != "linear" and factors[0] > 0
    if config.refit == "none" or splits.sharded or not (new_linear or new_network):
        return 0
    if encoded.counted is not None:  # another process has fitted the linear model
        encoded.choice = _fit_linear(config, model, encoded)
        encoded.counted = None  # large
    whole = dataclasses.replace(splits, train=splits.train.with_texts(splits.valid))
    choice = linear_model.kept(encoded.choice, whole.train.num_real)
    if new_network or networks.VECTORS in encoded.train:
        inputs = {
            name: _before_generated(splits.train, values, encoded.valid[name]) for name, values in encoded.train.items()
        }
    else:
        inputs = encoded.train
    if new_network:
        joined = Encoded(whole, inputs, encoded.valid, encoded.cut, choice=choice, sizes=encoded.sizes)
        train_again(with_ngrams(config, joined, len(splits.train)))
        return len(whole.train)
    console.say("fitting the linear model to the validation texts, too ...")
    hashed = encoded.hashed + encoded.hashed_valid
    known = encoded.start.hashes if encoded.start else None
    num_new = model.get_layer(networks.NGRAM_LOGITS).num_ngrams - (0 if known is None else len(known))
    counted = ngrams.count(hashed, num_new, known)
    joined = dataclasses.replace(encoded, splits=whole, train=inputs, hashed=hashed, counted=counted)
    _fit_linear(config, model, joined, choice)
    return len(hashed)


def _fit_linear(config: ClassificationConfig, model: keras.Model, encoded: Encoded, choice=None):
    """Fits the linear model of `model`; for `choice` and the result see `linear_model.fit`."""
    layer, train = model.get_layer(networks.NGRAM_LOGITS), encoded.splits.train
    labels, weight = train.labels[: train.num_real], text_weight(config, encoded.splits, train)
    weight = None if weight is None else weight[: train.num_real]
    if isinstance(layer, SparseNGramLogits):
        return many_classes.fit(layer, encoded.counted, labels, weight, config.seed, encoded.start)
    vectors = None
    if networks.VECTORS in encoded.train:
        rows = encoded.train[networks.VECTORS][: train.num_real].numpy()
        vectors = Vectors(model.get_layer(networks.VECTOR_LOGITS), rows)
    return linear_model.fit(layer, encoded.counted, labels, weight, config.seed, choice, encoded.start, vectors)


def batches(config: ClassificationConfig, encoded: Encoded, epoch: int, skip: int) -> tf.data.Dataset:
    """Returns batches of texts of similar length, in an order that depends on the seed and the epoch."""
    if encoded.splits.sharded:
        return shards.batches(config, encoded.splits.sharded, epoch, skip)
    order = batching.bucketed_order(encoded.train["ids"].row_lengths().numpy(), config.batch_size, config.seed, epoch)
    labels = encoded.splits.train.labels
    inputs = network_inputs(encoded.train)
    if encoded.columns is not None:
        inputs = encoded.train | {networks.COLUMNS: encoded.columns}
    weights = None
    if encoded.splits.train.weights is not None:
        weights = text_weight(config, encoded.splits, encoded.splits.train)
    return batching.padded_batches(inputs, labels, order[skip * config.batch_size :], config.batch_size, weights)


def make_validator(
    config: ClassificationConfig, tokenizer: Tokenizer, encoded: Encoded, model: keras.Model
) -> Callable[[], dict[str, float]]:
    """Returns a function that scores `model` on the validation texts."""
    if config.max_ngrams:
        inputs = encoded.valid
        if needs_inference_model(config):
            columns = ngrams.columns_of(encoded.hashed_valid, encoded.telling.hashes)
            inputs = inputs | {networks.COLUMNS: columns}
        return members.validator(config, model, inputs, encoded.splits.valid)
    order = np.argsort(encoded.valid["ids"].row_lengths().numpy(), kind="stable")
    inputs = network_inputs(encoded.valid)
    batches = batching.padded_batches(inputs, encoded.splits.valid.labels, order, config.batch_size)

    def validate() -> dict[str, float]:
        scores = model.evaluate(batches, verbose=0, return_dict=True)
        return {f"val_{name}": float(value) for name, value in scores.items()}

    return validate


def make_servable(
    config: ClassificationConfig, splits: LabelledSplits, tokenizer: Tokenizer, model: keras.Model
) -> Classifier:
    """Returns the classifier of strings, calibrated and with the thresholds of `config`."""
    inputs = inputs_of(config, tokenizer, splits.valid)[0]
    kept, calibration = members.calibrated(config, model, inputs, splits.valid)
    make = functools.partial(
        Classifier,
        kept,
        tokenizer,
        config.max_tokens,
        config.max_characters,
        splits.classes,
        max_encoder_tokens=config.max_encoder_tokens,
        fields=splits.fields,
    )
    return thresholds.decide(config, splits, make, calibration)


def example_requests(servable: Classifier) -> dict[str, dict]:
    """Returns requests as `task.example_requests`; of a model of several columns with each of them.

    With an encoder, an explanation encodes a text once for each piece: its requests have the first words of the texts.
    """
    requests = task.example_requests(servable)
    if "intervene" in requests:
        requests["intervene"] = interventions.example_request(requests["intervene"]["text"])
    if "explain" in requests and servable.has_encoder:
        requests["explain"]["text"] = [
            " ".join(text.split()[:_EXPLAINED_WORDS]) for text in requests["explain"]["text"]
        ]
    if servable.fields:
        texts = requests["serving_default"]["text"]
        requests["serving_default"] = example_columns(servable.fields, texts)
    return with_number_of_classes(requests)


def describe_data(config: ClassificationConfig, splits: LabelledSplits, encoded: Encoded) -> dict[str, Any]:
    """Returns rows, classes, notes, what is cut off, and what an encoder gave: the loss of texts left out of a fit."""
    losses = encoded.choice.losses if encoded.choice else None
    window = {"max_tokens": config.max_tokens, "max_bytes": config.max_bytes, **encoded.cut}
    encoder = {"left_out_losses": losses} if losses else {}
    return describe_splits(config, splits) | {"window": window} | encoder
