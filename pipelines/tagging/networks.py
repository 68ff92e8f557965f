"""The model of a tagger: words with their characters -> scores of the tags of each token; or a linear one of features.

Source: Lample et al. 2016, "Neural Architectures for Named Entity Recognition"; Ma and Hovy 2016, "End-to-end Sequence
Labeling via Bi-directional LSTM-CNNs-CRF".
"""

import types
from collections.abc import Callable
from typing import NamedTuple

import keras
from keras import layers, ops

from layers import CRF, MaxOfConvolutions, MeanAfterTraining, OverTokens, TokenFeatureLogits
from pipelines.data.tag_schemes import is_spans
from pipelines.export.exported import Exported
from pipelines.networks.positions import position_layer
from pipelines.networks.recurrent import RECURRENT_LAYERS, stacked_options, stacked_recurrent
from pipelines.networks.transformer import stacked_transformer
from pipelines.tagging.config import TaggingConfig
from pipelines.tagging.crf_solver import Rules
from pipelines.tagging.features import NUM_AFFIX_HASHES, NUM_AFFIXES, NUM_SPELLINGS, PAD, TokenFeatures
from pipelines.tagging.hashed import NUM_HASHES, TEMPLATES

NETWORK_LOGITS, LINEAR_LOGITS, LINEAR_CRF, MEAN_LOGITS = "logits", "linear_logits", "linear_crf", "mean"
_SPELLING_SIZE = 16
_AFFIX_SIZE = 24
_CHARACTER_EMBEDDING_SIZE = 32
_CHARACTER_DROPOUT = 0.1
_FILTER_LENGTHS = (2, 3, 4)


class LinearSizes(NamedTuple):
    """The sizes of the linear model, see `TokenFeatureLogits`."""

    num_features: int
    num_weights: int


def build(
    config: TaggingConfig,
    features: TokenFeatures,
    tags: tuple[str, ...],
    spans: bool,
    linear: LinearSizes | None = None,
) -> keras.Model:
    """Returns the inputs of `TokenFeatures` -> scores of the tags, float32 [batch, time, tags].

    The layer "crf" has the scores of the transitions, which the loss and the decoding add. The model "linear" has no
    network. That of "best" has an LSTM and the linear model, whose transitions are in "linear_crf": in training, the
    scores are the network's alone, because the linear model is fitted before, and knows the training sentences.
    `pooling.pool` makes one conditional random field of both.

    Args:
        spans: whether the tags mark spans: then the CRF allows no tag I-x except after B-x or I-x.
        linear: of the models "linear" and "best".
    """
    crf = _crf(tags, spans, config.crf and config.model != "linear", "crf")
    if config.model == "linear":
        hashes = keras.Input((None, NUM_HASHES), dtype="int32", name="hashes")
        mask = ops.any(ops.not_equal(hashes, 0), axis=-1)  # [batch, time]
        scores = crf(_linear_logits(linear, len(tags), hashes), mask=mask)
        return keras.Model({"hashes": hashes}, scores, name="tagger_linear")
    inputs, mask, logits = _network(config, features, len(tags))
    if config.model == "best":
        inputs["hashes"] = keras.Input((None, NUM_HASHES), dtype="int32", name="hashes")
        of_linear = _linear_logits(linear, len(tags), inputs["hashes"])
        of_linear = _crf(tags, spans, False, LINEAR_CRF)(of_linear)
        logits = MeanAfterTraining(0.0, name=MEAN_LOGITS)(logits, of_linear)
    return keras.Model(inputs, crf(logits, mask=mask), name=f"tagger_{config.model}")


def _linear_logits(sizes: LinearSizes, num_tags: int, hashes):
    """The scores of the linear model, [batch, time, tags]."""
    sizes = (max(1, size) for size in sizes)
    return TokenFeatureLogits(num_tags, *sizes, TEMPLATES, name=LINEAR_LOGITS)(hashes)


def _network(config: TaggingConfig, features: TokenFeatures, num_tags: int):
    """Returns (inputs, mask [batch, time], scores of the tags [batch, time, tags]) of the network."""
    words = keras.Input((None,), dtype="int32", name="words")
    spellings = keras.Input((None,), dtype="int32", name="spellings")
    affixes = keras.Input((None, NUM_AFFIXES), dtype="int32", name="affixes")
    inputs = {"words": words, "spellings": spellings, "affixes": affixes}
    mask = ops.not_equal(words, PAD)  # [batch, time]
    vectors = [
        layers.Embedding(features.vocabulary_size, config.embedding_size, name="word_vectors")(words),
        layers.Embedding(NUM_SPELLINGS, _SPELLING_SIZE, name="spelling_vectors")(spellings),
        layers.Reshape((-1, NUM_AFFIXES * _AFFIX_SIZE))(
            layers.Embedding(NUM_AFFIX_HASHES, _AFFIX_SIZE, name="affix_vectors")(affixes)
        ),
    ]
    if config.characters != "none":
        inputs["characters"] = keras.Input((None, None), dtype="int32", name="characters")
        vectors.append(_character_vectors(config, features.num_characters, inputs["characters"]))
    if features.encoder:
        inputs["vectors"] = keras.Input((None, features.encoder.size), dtype="float32", name="vectors")
        vectors.append(inputs["vectors"])
    x = layers.Dropout(config.embedding_dropout)(ops.concatenate(vectors, axis=-1))  # [batch, time, features]
    x = (_transformer if config.model == "transformer" else _recurrent)(config, x, mask)  # [batch, time, units]
    return inputs, mask, layers.Dense(num_tags, dtype="float32", name=NETWORK_LOGITS)(x)


def _character_vectors(config, num_characters, ids):
    """One vector per token from its characters, [batch, time, units]."""
    mask = ops.not_equal(ids, PAD)  # [batch, time, characters]
    x = layers.Embedding(num_characters, _CHARACTER_EMBEDDING_SIZE, name="character_vectors")(ids)
    x = layers.Dropout(_CHARACTER_DROPOUT)(x)
    if config.characters == "cnn":
        reader = MaxOfConvolutions(config.character_size, _FILTER_LENGTHS)
    else:
        reader = layers.Bidirectional(RECURRENT_LAYERS["lstm"](config.character_size))
    return OverTokens(reader, name="characters_to_word")(x, mask=mask)


def _recurrent(config, x, mask):
    return stacked_recurrent(
        x,
        "lstm" if config.model == "best" else config.model,
        config.hidden_size,
        config.num_layers,
        mask=mask,
        **stacked_options(config),
        dropout=config.dropout,
    )


def _transformer(config, x, mask):
    x = layers.Dense(config.hidden_size, name="projection")(x)
    add_positions = position_layer(config.positions, config.max_tokens, config.scale_embeddings)
    x = add_positions(x) if add_positions else x
    return stacked_transformer(
        x,
        config.num_layers,
        config.num_heads,
        2 * config.hidden_size,
        mask=mask,
        rotary=config.positions == "rotary",
        dropout=config.dropout,
    )


def _crf(tags: tuple[str, ...], spans: bool, trainable: bool, name: str) -> CRF:
    rules = Rules.of_spans(tags)._asdict() if spans else {}
    return CRF(trainable=trainable, name=name, **rules)


def of_export(config: TaggingConfig, exported: Exported, read: Callable[[], list]) -> tuple[keras.Model, list]:
    """Returns the network of an export and the variables that are its weights: `read` reads all of them.

    Not of "best", whose network is a part of the whole alone.
    """
    tags, variables = tuple(exported.card()["classes"]), read()
    sizes = {each.name.split("/")[0]: each.shape[0] for each in variables if each.name.count("/") == 1}
    features = types.SimpleNamespace(
        vocabulary_size=sizes["word_vectors"], num_characters=sizes.get("character_vectors"), encoder=None
    )
    network = build(config, features, tags, is_spans(tags))
    return network, variables[: len(network.weights)]  # the servable lists the weights of the CRF a second time
