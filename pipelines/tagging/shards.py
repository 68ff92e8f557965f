"""The shards of prepared data for tagging: a row for each sentence, or for each part of one that is divided.

words, spellings, tags    of each token
affixes                   NUM_AFFIXES of each token
characters                of all tokens, and `character_lengths`: how many of them each token has
length                    number of tokens of the row; those after them are of the next row, if both can be joined
has_stop                  1 if the last of several tokens of the row is punctuation, else 0
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import tensorflow as tf

from pipelines.data import prepared, tagged_sentences
from pipelines.data.prepared import Contents, Prepared
from pipelines.data.tagged_sentences import TaggedSentences
from pipelines.shards import shard_batches, shard_writer
from pipelines.shards.shard_writer import Row
from pipelines.support import console
from pipelines.tagging import batches as sentence_batches
from pipelines.tagging import features
from pipelines.tagging.batches import EncodedSentences
from pipelines.tagging.config import TaggingConfig
from pipelines.tagging.features import NUM_AFFIXES, UNKNOWN, TokenFeatures
from pipelines.tagging.sharded import TrainingSentences
from pipelines.tagging.survey import Surveyed

_BYTES_PER_TOKEN = 60  # of the rows, about; for the number of shards
_SETTINGS = (
    "column", "token_column", "encoding", "separator", "tag_names",
    "valid_fraction", "vocabulary_size", "max_characters", "max_tokens", "max_bytes",
)  # fmt: skip


def write(config: TaggingConfig, surveyed: Surveyed, folder: Path) -> Contents:
    """Makes the vocabulary, and writes the shards and the sentences to score on.

    Args:
        folder: is empty.
    """
    (folder / prepared.TOKENIZER).mkdir()
    kind, shares = features.choose_splitter(surveyed.sample)
    kind = config.tokenizer or kind
    limits = (config.vocabulary_size, config.max_characters, config.max_bytes)
    features.from_counts(kind, surveyed.forms, *limits).save(folder / prepared.TOKENIZER)
    tokenizer = features.load(folder / prepared.TOKENIZER)
    training = TrainingSentences(config, surveyed)
    rows = _Rows(config, tokenizer, surveyed.tags)
    num_shards = shard_writer.num_shards(_BYTES_PER_TOKEN * surveyed.tokens)
    shards = shard_writer.write(folder, rows.of(training.chunks()), num_shards, config.seed)
    parts = {"valid": surveyed.valid} | ({"test": surveyed.test} if surveyed.test else {})
    for name, part in parts.items():
        prepared.write_rows(folder, name, training.rows(part))
    num_rows = {"train": sum(shard.rows for shard in shards)} | {name: len(part) for name, part in parts.items()}
    details = {
        "tags": list(surveyed.tags),
        "sentences": training.count,
        "divided": rows.divided,
        "splitters": shares,
    }
    settings = {name: getattr(config, name) for name in _SETTINGS} | {"tokenizer": kind}
    return Contents(settings, shards, num_rows, surveyed.notes | training.notes(), details)


class _Rows:
    """Encodes the training sentences.

    Attributes:
        divided: number of sentences so far that have more than `max_tokens` tokens.
    """

    def __init__(self, config: TaggingConfig, tokenizer: TokenFeatures, tags: tuple[str, ...]):
        self._encoder = sentence_batches.token_encoder(tokenizer)
        self._tags, self._max_tokens = tags, config.max_tokens
        self.divided = 0

    def of(self, chunks: Iterable[TaggedSentences]) -> Iterator[Row]:
        """Yields the rows of the shards."""
        with console.bar(None, "sentences", "writing") as bar:
            for chunk, count in with_next(chunks):
                encoded = sentence_batches.encode_with(self._encoder, chunk, self._tags, self._max_tokens)
                lengths = [len(tokens) for tokens in chunk.tokens[:count]]
                self.divided += sum(length > self._max_tokens for length in lengths)
                yield from _rows(encoded, sum(-(-length // self._max_tokens) for length in lengths))
                bar.update(count)


def with_next(chunks: Iterable[TaggedSentences]) -> Iterator[tuple[TaggedSentences, int]]:
    """Yields the sentences again, each with the one that follows it, also where that is in the next chunk.

    Yields:
        (chunk, number of its sentences that are new: all but the last one, until that is the only one).
    """
    last = None
    for chunk in chunks:
        chunk = tagged_sentences.joined([last, chunk] if last else [chunk])
        yield chunk, len(chunk) - 1
        last = chunk.take([len(chunk) - 1])
    if last:
        yield last, 1


def _rows(encoded: EncodedSentences, count: int) -> Iterator[Row]:
    """Yields the first `count` rows of encoded sentences."""
    words, spellings, affixes = (encoded.inputs[name].numpy() for name in ("words", "spellings", "affixes"))
    ragged = encoded.inputs["characters"]
    characters, splits = ragged.values.numpy(), ragged.row_splits.numpy()
    fields = (encoded.starts, encoded.ends, encoded.joined_ends, encoded.has_stop)
    for start, end, joined_end, has_stop in zip(*(field[:count].tolist() for field in fields), strict=True):
        row = slice(start, joined_end)
        example = shard_writer.features(
            words=words[row].tolist(),
            spellings=spellings[row].tolist(),
            affixes=affixes[row].ravel().tolist(),
            characters=characters[splits[start] : splits[joined_end]].tolist(),
            character_lengths=(splits[start + 1 : joined_end + 1] - splits[start:joined_end]).tolist(),
            tags=encoded.tags[row].tolist(),
            length=[end - start],
            has_stop=[int(has_stop)],
        )
        yield Row(example, end - start)


def batches(config: TaggingConfig, data: Prepared, epoch: int, skip: int) -> tf.data.Dataset:
    """Returns the batches of an epoch from step `skip` on, with random changes as in `batches.training_batches`.

    They are a function of (config.seed, epoch, step), whatever the number of workers. Rows of similar length are in a
    batch by their lengths without changes.
    """

    def parse(examples: tf.Tensor, draws: tf.Tensor) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
        values, starts, lengths, stored, has_stop = _parsed(examples, with_characters=config.characters != "none")
        of_joining, of_stops, of_words = draws[:, 0], draws[:, 1], draws[:, 2:]
        is_joined = of_joining < config.join_rate
        is_cut = has_stop & ~is_joined & (of_stops < config.final_stop_dropout)
        ends = starts + tf.where(is_joined, stored, lengths) - tf.cast(is_cut, tf.int32)
        is_unknown = tf.RaggedTensor.from_tensor(of_words < config.word_dropout, lengths=stored).values  # [tokens]
        values["words"] = tf.where(is_unknown, UNKNOWN, values["words"])
        return sentence_batches.padded(values, starts, ends)

    num_draws = 2 + config.max_tokens
    return shard_batches.batches(data, config.batch_size, config.seed, epoch, skip, parse, num_draws)


def _parsed(examples: tf.Tensor, with_characters: bool) -> tuple[sentence_batches.Inputs, *tuple[tf.Tensor, ...]]:
    """Parses serialized examples, string [batch].

    Returns:
        ("words", "spellings", "affixes", "characters" and "tags" of all tokens, each [tokens, ...]; int32 [batch]: the
        first token of each row, the number of its tokens, and that with those of the next row; bool [batch]: whether it
        ends with punctuation).
    """
    per_token = ("words", "spellings", "affixes", "tags")
    expected = {name: tf.io.RaggedFeature(tf.int64) for name in per_token} | {
        "length": tf.io.FixedLenFeature([], tf.int64),
        "has_stop": tf.io.FixedLenFeature([], tf.int64),
    }
    if with_characters:
        lengths = tf.io.RaggedFeature.RowLengths("character_lengths")
        expected["characters"] = tf.io.RaggedFeature(tf.int64, partitions=[lengths], row_splits_dtype=tf.int64)
    parsed = tf.io.parse_example(examples, expected)
    values = {name: tf.cast(parsed[name].values, tf.int32) for name in per_token}
    values["affixes"] = tf.reshape(values["affixes"], [-1, NUM_AFFIXES])
    if with_characters:
        values["characters"] = tf.cast(parsed["characters"].values, tf.int32)
    words = parsed["words"]
    has_stop = tf.cast(parsed["has_stop"], tf.bool)
    return values, words.row_starts(), tf.cast(parsed["length"], tf.int32), words.row_lengths(), has_stop
