"""Tagged sentences of prepared data: the second pass over the sentences, and the splits of a training."""

from collections.abc import Iterator

from pipelines.data import tag_schemes, tagged_sentences, tagged_splits
from pipelines.data.prepared import Prepared
from pipelines.data.splits import comparable
from pipelines.data.tagged_sentences import TaggedSentences
from pipelines.shards import shard_order
from pipelines.shards.held_out import hash_of
from pipelines.tagging.config import TaggingConfig
from pipelines.tagging.splits import ShardedSentences, Splits
from pipelines.tagging.survey import Surveyed
from pipelines.text.invisible import visible


class TrainingSentences:
    """The second pass over the sentences: yields those for training, and compares them with those to score on.

    Attributes:
        count: number of training sentences so far.
    """

    def __init__(self, config: TaggingConfig, surveyed: Surveyed):
        self._config, self._surveyed = config, surveyed
        self.count = 0
        self._valid_hashes = [hash_of(comparable(text)) for text in surveyed.valid.texts]
        self._hashes_to_score = frozenset(self._valid_hashes)
        parts = [part for part in (surveyed.valid, surveyed.test) if part]
        self._words_to_score = {visible(token) for part in parts for tokens in part.tokens for token in tokens}
        self._seen_hashes: set[int] = set()
        self._seen_words: set[str] = set()

    def chunks(self) -> Iterator[TaggedSentences]:
        """Yields the training sentences with their tags in IOB2."""
        surveyed = self._surveyed
        config = self._config
        for chunk in tagged_sentences.read_chunks(surveyed.files, config.token_options()):
            hashes = [hash_of(comparable(text)) for text in chunk.texts]
            in_training = ~surveyed.held_out.mask(chunk.documents, hashes)
            self._seen_hashes |= self._hashes_to_score.intersection(
                each for each, chosen in zip(hashes, in_training, strict=True) if chosen
            )
            chunk = chunk.take(in_training)
            for tokens in chunk.tokens:
                self._seen_words |= self._words_to_score.intersection(map(visible, tokens))
            if surveyed.scheme:
                chunk.tags, _ = tag_schemes.to_iob2(chunk.tags)
            self.count += len(chunk)
            if len(chunk):
                yield chunk

    def notes(self) -> dict[str, int]:
        """Returns what there is to know about the sentences to score on, after the last chunk: note -> number."""
        repeated = sum(each in self._seen_hashes for each in self._valid_hashes)
        surveyed = self._surveyed
        return tagged_splits.notes_to_score(surveyed.valid, surveyed.test, repeated, surveyed.tags)

    def rows(self, sentences: TaggedSentences) -> list[dict]:
        """Returns sentences to score on, each with the positions of its words that are in no training sentence."""
        fields = zip(sentences.tokens, sentences.tags, sentences.texts, sentences.documents, strict=True)
        return [
            {
                "tokens": tokens,
                "tags": tags,
                "text": text,
                "document": document,
                "unknown": [i for i, token in enumerate(tokens) if visible(token) not in self._seen_words],
            }
            for tokens, tags, text, document in fields
        ]


def load(data: Prepared, batch_size: int | None) -> Splits:
    """Returns the splits of prepared data; the training sentences stay in its shards.

    For `batch_size` and what is raised, see `shard_order.check_files`.
    """
    shard_order.check_files(data, batch_size)
    valid, test = data.read_rows("valid"), data.read_rows("test")
    known = set()
    for row in [*valid, *(test or [])]:
        words = [visible(token) for token in row["tokens"]]
        known |= set(words) - {words[i] for i in row["unknown"]}
    tags = tuple(data.details["tags"])
    return Splits(
        ShardedSentences(data, frozenset(known)),
        _sentences(valid),
        _sentences(test) if test else None,
        tags,
        tagged_sentences.is_spans(tags),
        dict(data.notes),
    )


def _sentences(rows: list[dict]) -> TaggedSentences:
    columns = ([row[name] for row in rows] for name in ("tokens", "tags", "text", "document"))
    return TaggedSentences(*columns, {})
