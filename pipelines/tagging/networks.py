"""The model of a tagger: words with their characters -> scores of the tags of each token; or a linear one of features.

Source: Lample et al. 2016, "Neural Architectures for Named Entity Recognition"; Ma and Hovy 2016, "End-to-end Sequence
Labeling via Bi-directional LSTM-CNNs-CRF".
"""

import types
from collections.abc import Callable

import keras
from keras import layers, ops

from layers import CRF, MaxOfConvolutions, OverTokens, TokenFeatureLogits
from pipelines.data.tag_schemes import is_spans
from pipelines.export.exported import Exported
from pipelines.networks.positions import position_layer
from pipelines.networks.recurrent import RECURRENT_LAYERS, stacked_options, stacked_recurrent
from pipelines.networks.transformer import stacked_transformer
from pipelines.tagging.config import TaggingConfig
from pipelines.tagging.crf_solver import Rules
from pipelines.tagging.features import NUM_AFFIX_HASHES, NUM_AFFIXES, NUM_SPELLINGS, PAD, TokenFeatures
from pipelines.tagging.hashed import NUM_HASHES, TEMPLATES

_SPELLING_SIZE = 16
_AFFIX_SIZE = 24
_CHARACTER_EMBEDDING_SIZE = 32
_CHARACTER_DROPOUT = 0.1
_FILTER_LENGTHS = (2, 3, 4)


def build_linear(tags: tuple[str, ...], spans: bool, num_features: int, num_weights: int) -> keras.Model:
    """Returns "hashes" of `TokenFeatures` -> scores of the tags, as `build`; the layer "logits" has known features.

    Args:
        num_features, num_weights: see `TokenFeatureLogits`.
    """
    hashes = keras.Input((None, NUM_HASHES), dtype="int32", name="hashes")
    mask = ops.any(ops.not_equal(hashes, 0), axis=-1)  # [batch, time]
    logits = TokenFeatureLogits(len(tags), max(1, num_features), max(1, num_weights), TEMPLATES, name="logits")(hashes)
    return keras.Model({"hashes": hashes}, _crf(tags, spans, trainable=False)(logits, mask=mask), name="tagger_linear")


def build(config: TaggingConfig, features: TokenFeatures, tags: tuple[str, ...], spans: bool) -> keras.Model:
    """Returns the inputs of `TokenFeatures` -> scores of the tags, float32 [batch, time, tags].

    The layer "crf" has the scores of the transitions, which the loss and the decoding add.

    Args:
        spans: whether the tags mark spans: then the CRF allows no tag I-x except after B-x or I-x.
    """
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
    logits = layers.Dense(len(tags), dtype="float32", name="logits")(x)
    scores = _crf(tags, spans, config.crf)(logits, mask=mask)
    return keras.Model(inputs, scores, name=f"tagger_{config.model}")


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
        config.model,
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


def _crf(tags: tuple[str, ...], spans: bool, trainable: bool) -> CRF:
    rules = Rules.of_spans(tags)._asdict() if spans else {}
    return CRF(trainable=trainable, name="crf", **rules)


def of_export(config: TaggingConfig, exported: Exported, read: Callable[[], list]) -> tuple[keras.Model, list]:
    """Returns the network of an export and the variables that are its weights: `read` reads all of them."""
    tags, variables = tuple(exported.card()["classes"]), read()
    sizes = {each.name.split("/")[0]: each.shape[0] for each in variables if each.name.count("/") == 1}
    features = types.SimpleNamespace(
        vocabulary_size=sizes["word_vectors"], num_characters=sizes.get("character_vectors"), encoder=None
    )
    network = build(config, features, tags, is_spans(tags))
    return network, variables[: len(network.weights)]  # the servable lists the weights of the CRF a second time
