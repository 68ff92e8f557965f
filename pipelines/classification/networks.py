"""Networks of text classification: ids int32 [batch, time] -> logits float32 [batch, classes].

An encoder turns the ids (0 is padding) into one vector of features per text; a dense layer turns the features into
logits. The models "linear" and "best" read n-grams instead.
"""

import dataclasses
from collections.abc import Callable

import keras
from keras import layers, ops

from layers import (
    AttentionPooling,
    HashedNGrams,
    HeadAndTail,
    MaskedLastPooling,
    MaskedMaxPooling,
    MaskedMeanPooling,
    MeanAfterTraining,
    NGramLogits,
    NGramProjection,
    RandomSpan,
    SparseNGramLogits,
    WordDropout,
)
from pipelines.classification.config import ClassificationConfig
from pipelines.classification.sizes import NGRAM_LOGITS, NGRAM_PROJECTION, Sizes
from pipelines.export.exported import Exported
from pipelines.linear import limits
from pipelines.networks.positions import position_layer
from pipelines.networks.recurrent import RECURRENT_LAYERS, stacked_options, stacked_recurrent
from pipelines.networks.transformer import stacked_transformer
from pipelines.support.errors import UserError
from pipelines.text.tokenizers import PAD, UNKNOWN

POOLINGS = {
    "mean": MaskedMeanPooling,
    "max": MaskedMaxPooling,
    "attention": AttentionPooling,
    "last": MaskedLastPooling,
}
WORDS = "words"  # name of the embedding that `word_vectors` initializes
COLUMNS = "columns"  # name of the input of n-grams that are found already
NETWORK_LOGITS = "logits"  # names of the logits of the network, of the linear model, and of their mean
LINEAR_LOGITS = "mean_weighting"
MEAN_LOGITS = "mean_logits"
VECTORS = "vectors"  # name of the input of an encoder's vectors
VECTOR_LOGITS = "vector_logits"  # name of the linear model's layer that reads them
_MANY_TEXTS = 10**6
_FILTER_LENGTHS = (2, 3, 4)  # tokens
_MIN_SPAN = 8  # tokens: a short sentence
_LINEAR_WEIGHT = 0.5  # of the linear model's logits, beside those of a network, until `members.mix` fits it


def network(
    config: ClassificationConfig,
    vocabulary_size: int,
    num_classes: int,
    sizes: Sizes | None = None,
    vector_size: int | None = None,
) -> keras.Model:
    """Builds the classifier: ids int32 [batch, time] -> logits float32 [batch, classes].

    With `max_characters` the inputs are a dict: "ids", and "characters" int32 [batch, length], Unicode code points;
    with `vector_size` also "vectors", float32 [batch, vector_size], which the linear model reads, too.

    With `max_ngrams`, the logits are a mean of the network's and of those of a linear model over n-grams. In training
    they are the network's alone: the linear model is fitted before and knows the training texts, so that with it in the
    loss, the network would have nothing left to learn. The model "linear" has no network; that of "best" is a
    feedforward network with one hidden layer over the same n-grams.

    Args:
        sizes: of the layers over n-grams; None: those of a model of many training texts.
        vector_size: of an encoder's vectors; None: there is no encoder.
    """
    sizes = sizes or Sizes.of(config, num_classes, _MANY_TEXTS)
    ids = keras.Input((None,), dtype="int32", name="ids")  # [batch, time]
    inputs = {"ids": ids}
    if config.max_characters:
        inputs["characters"] = keras.Input((None,), dtype="int32", name="characters")  # [batch, length]
    if vector_size:
        inputs[VECTORS] = keras.Input((vector_size,), dtype="float32", name=VECTORS)
    lengths = config.ngram_lengths(sizes.num_classes)
    if config.model == "linear":
        logits = None
    elif config.model == "best":
        projection = NGramProjection(config.hidden_size, sizes.num_telling, **lengths, name=NGRAM_PROJECTION)
        hidden = layers.Activation("relu", name="hidden")(projection(*token_inputs(inputs)))  # [batch, hidden]
        logits = _logits(config, num_classes, hidden)
    else:
        logits = _logits(config, num_classes, _features(config, vocabulary_size, ids))
    if config.max_ngrams:
        linear_logits = _linear_logits(config, num_classes, sizes, inputs)
        mean = MeanAfterTraining(_LINEAR_WEIGHT, name=MEAN_LOGITS)
        logits = linear_logits if logits is None else mean(logits, linear_logits)
    # A network without other inputs takes the ids alone.
    return keras.Model(inputs if len(inputs) > 1 else ids, logits, name=f"classification_{config.model}")


def token_inputs(inputs: dict) -> list:
    """Returns the inputs that layers over n-grams read: the ids and, if there are any, the characters."""
    return [inputs[name] for name in ("ids", "characters") if name in inputs]


def _linear_logits(config: ClassificationConfig, num_classes: int, sizes: Sizes, inputs: dict):
    """The logits of the linear model, [batch, classes]: of the n-grams and, with an encoder, of its vectors."""
    if VECTORS not in inputs:
        return _ngram_logits(config, num_classes, sizes, inputs, LINEAR_LOGITS)
    of_ngrams = _ngram_logits(config, num_classes, sizes, inputs, "mean_of_weightings")
    # It is solved, not trained.
    dense = layers.Dense(num_classes, kernel_initializer="zeros", trainable=False, dtype="float32", name=VECTOR_LOGITS)
    return layers.Add(name=LINEAR_LOGITS)([of_ngrams, dense(inputs[VECTORS])])


def _ngram_logits(config: ClassificationConfig, num_classes: int, sizes: Sizes, inputs: dict, name: str):
    """The logits of the linear model over n-grams, [batch, classes], from a layer of this name."""
    known, lengths = sizes.num_ngrams, config.ngram_lengths(sizes.num_classes)
    if sizes.is_sparse:
        linear = SparseNGramLogits(num_classes, known, sizes.num_weights, **lengths, name=NGRAM_LOGITS)
        return layers.Identity(name=name)(linear(*token_inputs(inputs)))
    # They are the mean of those with each weighting of the n-grams.
    num_weightings = sizes.num_weightings
    fading = limits.FADING if config.model == "linear" else limits.FADING_BESIDE_NETWORK
    linear = NGramLogits(num_weightings * num_classes, known, **lengths, fading=fading, name=NGRAM_LOGITS)
    by_weighting = layers.Reshape((num_weightings, num_classes), name="by_weighting")(linear(*token_inputs(inputs)))
    return layers.GlobalAveragePooling1D(name=name)(by_weighting)


def of_columns(model: keras.Model) -> keras.Model:
    """Returns the network of "best" with its layers, which reads the columns of n-grams that are found already.

    Its inputs are those of `model` and "columns" int32 [batch, n], see `NGramProjection`. Its outputs and its weights
    are those of `model`.
    """
    network = network_of_columns(model)
    logits = model.get_layer(MEAN_LOGITS)(network.output, model.get_layer(LINEAR_LOGITS).output)
    return keras.Model(network.input, logits, name=model.name)


def network_of_columns(model: keras.Model) -> keras.Model:
    """Returns as `of_columns` the network alone, without the linear model."""
    columns = keras.Input((None,), dtype="int32", name=COLUMNS)  # [batch, n]
    inputs = model.input if isinstance(model.input, dict) else {"ids": model.input}
    logits = model.get_layer(NGRAM_PROJECTION)(*token_inputs(inputs), columns=columns)
    for name in ("hidden", "dropout", NETWORK_LOGITS):
        logits = model.get_layer(name)(logits)
    return keras.Model({**inputs, COLUMNS: columns}, logits, name=model.name)


def _logits(config: ClassificationConfig, num_classes: int, features):
    """Features [batch, features] -> logits [batch, classes]."""
    features = layers.Dropout(config.dropout, name="dropout")(features)
    return layers.Dense(num_classes, dtype="float32", name=NETWORK_LOGITS)(features)


def _features(config: ClassificationConfig, vocabulary_size: int, ids):
    """What the encoder makes of what it reads of each text, [batch, features]."""
    read = ids
    if config.max_encoder_tokens < config.max_tokens:
        read = HeadAndTail(config.max_encoder_tokens, name="read")(ids)
    if config.span_rate:
        read = RandomSpan(config.span_rate, _MIN_SPAN, seed=config.seed, name="span")(read)
    if config.word_dropout:
        read = WordDropout(config.word_dropout, UNKNOWN, seed=config.seed, name="word_dropout")(read)
    return encode(config, vocabulary_size, read)


def encode(config: ClassificationConfig, vocabulary_size: int, ids):
    """The encoder of `config.model`: ids [batch, time] -> features [batch, features]."""
    return _BUILDERS[config.model](config, vocabulary_size, ids)


def _bag(config, vocabulary_size, ids):
    """The mean of the vectors of all tokens and all pairs of neighbouring tokens (Joulin et al. 2017, fastText)."""
    words = layers.Embedding(vocabulary_size, config.embedding_size, name=WORDS)(ids)  # [batch, time, embedding]
    if not config.ngram_buckets:
        return MaskedMeanPooling(name="mean")(words, mask=ops.not_equal(ids, PAD))
    pair_ids = HashedNGrams(2, config.ngram_buckets, name="pair_ids")(ids)
    pairs = layers.Embedding(config.ngram_buckets, config.embedding_size, name="pairs")(pair_ids)
    vectors = ops.concatenate([words, pairs], axis=1)  # [batch, 2 * time - 1, embedding]
    mask = ops.not_equal(ops.concatenate([ids, pair_ids], axis=1), PAD)
    return MaskedMeanPooling(name="mean")(vectors, mask=mask)


def _embed(config, vocabulary_size, ids):
    """The vectors of the tokens, [batch, time, embedding]; dropout removes whole features of a text."""
    vectors = layers.Embedding(vocabulary_size, config.embedding_size, name=WORDS)(ids)
    return layers.SpatialDropout1D(config.embedding_dropout, name=f"{WORDS}_dropout")(vectors)


def _cnn(config, vocabulary_size, ids):
    """Convolutions over 2, 3 and 4 tokens; the largest value of each filter (Kim 2014)."""
    mask = ops.not_equal(ids, PAD)
    words = _embed(config, vocabulary_size, ids) * ops.expand_dims(ops.cast(mask, "float32"), -1)
    maxima = []
    for length in _FILTER_LENGTHS:
        convolution = layers.Conv1D(
            2 * config.hidden_size, length, padding="same", activation="relu", name=f"filters_{length}"
        )
        values = convolution(words)  # [batch, time, 2 * hidden]
        maxima.append(MaskedMaxPooling(name=f"max_{length}")(values, mask=mask))
    return ops.concatenate(maxima, axis=-1)  # [batch, 6 * hidden]


def _recurrent(config, vocabulary_size, ids):
    """Recurrent layers over the tokens, and one vector of their states by `config.pooling`."""
    mask = ops.not_equal(ids, PAD)
    states = stacked_recurrent(
        _embed(config, vocabulary_size, ids),
        config.model,
        config.hidden_size,
        config.num_layers,
        mask=mask,
        **stacked_options(config),
        return_sequences=config.pooling != "last",  # "last": each direction returns its own last state
    )  # [batch, time, units], or [batch, units]
    return states if config.pooling == "last" else POOLINGS[config.pooling](name=config.pooling)(states, mask=mask)


def _transformer(config, vocabulary_size, ids):
    """Transformer blocks with normalization before each sublayer, and pooling of their outputs by `config.pooling`."""
    mask = ops.not_equal(ids, PAD)
    states = _embed(config, vocabulary_size, ids)
    add_positions = position_layer(config.positions, config.max_encoder_tokens, config.scale_embeddings)
    states = add_positions(states) if add_positions else states
    states = stacked_transformer(
        states,
        config.num_layers,
        config.num_heads,
        2 * config.embedding_size,
        mask=mask,
        rotary=config.positions == "rotary",
        dropout=config.dropout / 2,
    )  # [batch, time, embedding]
    return POOLINGS[config.pooling](name=config.pooling)(states, mask=mask)


_BUILDERS = {
    "bag": _bag,
    "cnn": _cnn,
    **dict.fromkeys(RECURRENT_LAYERS, _recurrent),
    "transformer": _transformer,
}


def of_export(config: ClassificationConfig, exported: Exported, read: Callable[[], list]) -> tuple[keras.Model, list]:
    """Returns the network of an export and the variables that are its weights: `read` reads all of them.

    The linear model over n-grams is left out: the logits are those of the encoder.

    Raises:
        UserError: it has no encoder.
    """
    variables = [each for each in read() if NGRAM_LOGITS not in each.name]
    sizes = {each.name.split("/")[0]: each.shape[0] for each in variables}
    if WORDS not in sizes:
        raise UserError(
            f"{exported.path} has no encoder of words, as no model `linear` or `best` has: train another one, such as "
            "--model gru"
        )
    encoder = dataclasses.replace(config, max_ngrams=0, max_characters=0)
    return network(encoder, sizes[WORDS], len(exported.card()["classes"])), variables
