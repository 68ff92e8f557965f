"""Batches of tagged sentences, in an order and with random changes that are a pure function of (seed, epoch)."""

import dataclasses
import unicodedata
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from pipelines.data import batching
from pipelines.data.part import current
from pipelines.data.tagged_sentences import TaggedSentences
from pipelines.tagging.config import TaggingConfig
from pipelines.tagging.features import UNKNOWN, TokenFeatures
from pipelines.text.invisible import visible

_SENTENCES_AT_ONCE = 100

Inputs = dict[str, tf.Tensor | tf.RaggedTensor]  # of all tokens of some sentences, each [tokens, ...]
TokenEncoder = Callable[[list[list[str]]], Inputs]


@dataclasses.dataclass(frozen=True)
class EncodedSentences:
    """Sentences as the network reads them. The tokens of all sentences follow each other.

    Attributes:
        inputs: of the network, see `TokenFeatures`: each [tokens, ...].
        tags: int32 [tokens].
        starts, ends: int32 [rows], the first token of each row and the one after its last. A row is a sentence, or a
            part of one that has more than `max_tokens` tokens.
        joined_ends: int32 [rows], the end of the next row where both can be joined, else that of the row itself.
        has_stop: bool [rows], whether the last of several tokens is punctuation.
    """

    inputs: Inputs
    tags: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    joined_ends: np.ndarray
    has_stop: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each row, int32 [rows]."""
        return self.ends - self.starts


def encode(
    features: TokenFeatures, sentences: TaggedSentences, tags: tuple[str, ...], max_tokens: int
) -> EncodedSentences:
    """Encodes all sentences; see `encode_with`."""
    return encode_with(token_encoder(features), sentences, tags, max_tokens)


def encode_with(
    encoder: TokenEncoder, sentences: TaggedSentences, tags: tuple[str, ...], max_tokens: int
) -> EncodedSentences:
    """Encodes sentences.

    A tag that is not in `tags`, because only validation has it, gets the id 0 here. It counts only in the validation
    loss: accuracy and F1 compare the names of the tags.

    Args:
        encoder: from `token_encoder`.
        max_tokens: longer sentences are divided. A part that starts within a span starts with `B-`, because no row
            may start with `I-`.
    """
    flat = [token for tokens in sentences.tokens for token in tokens]
    inputs = encoder(sentences.tokens)
    ids = {tag: i for i, tag in enumerate(tags)}
    flat_tags = [tag for tags in sentences.tags for tag in tags]
    tag_ids = [ids.get(tag, 0) for tag in flat_tags]
    starts, documents = [], []
    first = 0
    for tokens, document in zip(sentences.tokens, sentences.documents, strict=True):
        parts = range(first, first + len(tokens), max_tokens)
        starts += parts
        documents += [document] * len(parts)
        for start in parts[1:]:
            if flat_tags[start].startswith("I-"):
                tag_ids[start] = ids.get(f"B-{flat_tags[start][2:]}", tag_ids[start])
        first += len(tokens)
    starts = np.array(starts, np.int32)
    ends = np.append(starts[1:], np.int32(first))
    next_ends = np.append(ends[1:], ends[-1:])
    can_join = np.append(np.equal(documents[1:], documents[:-1]), False) & (next_ends - starts <= max_tokens)
    return EncodedSentences(
        inputs=inputs,
        tags=np.array(tag_ids, np.int32),
        starts=starts,
        ends=ends,
        joined_ends=np.where(can_join, next_ends, ends),
        has_stop=np.array([_is_punctuation(flat[end - 1]) for end in ends.tolist()]) & (ends - starts > 1),
    )


def token_encoder(features: TokenFeatures) -> TokenEncoder:
    """Returns a function that computes the inputs of all tokens of sentences, each [tokens, ...], in their order."""
    encode = tf.function(
        lambda tokens: {name: each.values for name, each in features(tokens).items()},
        input_signature=[tf.RaggedTensorSpec([None, None], tf.string)],
        autograph=False,
    )

    def encode_all(sentences: list[list[str]]) -> Inputs:
        parts = []
        for start in range(0, len(sentences), _SENTENCES_AT_ONCE):
            part = sentences[start : start + _SENTENCES_AT_ONCE]
            tokens = tf.constant([token for tokens in part for token in tokens], tf.string)
            parts.append(encode(tf.RaggedTensor.from_row_lengths(tokens, [len(tokens) for tokens in part])))
        return {name: tf.concat([part[name] for part in parts], axis=0) for name in parts[0]}

    return encode_all


def training_batches(config: TaggingConfig, encoded: EncodedSentences, epoch: int, skip: int) -> tf.data.Dataset:
    """Returns the batches of one epoch from step `skip` on, with the random changes of that epoch.

    Some words become unknown, some rows lose their final punctuation, and some continue with the next row.
    """
    rng = np.random.default_rng([config.seed, epoch, 1])  # bucketed_order has [seed, epoch]
    inputs = dict(encoded.inputs)
    if "words" in inputs:
        is_unknown = rng.random(len(encoded.tags)) < config.word_dropout
        inputs["words"] = tf.where(is_unknown, UNKNOWN, inputs["words"])
    is_joined = rng.random(len(encoded.starts)) < config.join_rate
    ends = np.where(is_joined, encoded.joined_ends, encoded.ends)
    is_cut = encoded.has_stop & ~is_joined & (rng.random(len(ends)) < config.final_stop_dropout)
    changed = dataclasses.replace(encoded, inputs=inputs, ends=ends - is_cut)
    order = batching.bucketed_order(changed.lengths, config.batch_size, config.seed, epoch)
    return batches(changed, order[skip * config.batch_size :], config.batch_size)


def batches(encoded: EncodedSentences, order: np.ndarray, batch_size: int) -> tf.data.Dataset:
    """Returns batches of the rows in the given order, padded to their longest row.

    Args:
        order: row numbers, int [m].

    Returns:
        Batches (inputs of the network, tags int32 [batch, time]); of one of several workers also the weights of its
        rows (see `batching.rows_of_part`).
    """
    starts, ends = tf.constant(encoded.starts), tf.constant(encoded.ends)
    values = encoded.inputs | {"tags": tf.constant(encoded.tags)}
    part = current()

    def gather(rows):
        rows, weights = batching.rows_of_part(part, rows)
        return *padded(values, tf.gather(starts, rows), tf.gather(ends, rows)), *weights

    rows = tf.data.Dataset.from_tensor_slices(order).batch(batch_size)
    return batching.prefetched(rows.map(gather, num_parallel_calls=batching.READERS, deterministic=True))


def padded(values: Inputs, starts: tf.Tensor, ends: tf.Tensor) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
    """Returns (inputs of the network, tags int32 [batch, time]) of rows, padded to the longest one.

    Args:
        values: inputs and "tags" of the tokens, each [tokens, ...].
        starts, ends: the first token of each row and the one after its last, int [batch].
    """
    tokens = tf.ragged.range(starts, ends)  # [batch, (time)]
    rows = {name: tf.gather(each, tokens).to_tensor() for name, each in values.items()}
    tags = rows.pop("tags")
    return rows, tags


def _is_punctuation(token: str) -> bool:
    return all(unicodedata.category(character).startswith("P") for character in visible(token))
