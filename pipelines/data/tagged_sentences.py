"""Sentences with a tag for each token, from any source: files, a folder, a named corpus, or the embedded sample."""

import dataclasses
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from pipelines.data import sample_tags, tag_schemes, tagged_files, token_options, token_positions
from pipelines.data.dropped import Dropped
from pipelines.data.token_options import TokenOptions
from pipelines.support.paths import Data

KIND = tagged_files.KIND
_CHUNK_TOKENS = 100_000

is_spans = tag_schemes.is_spans
character_spans = token_positions.character_spans
files_of = tagged_files.of


@dataclasses.dataclass
class TaggedSentences:
    """Sentences as tokens with a tag each.

    Attributes:
        tokens: of n sentences. No sentence is empty, and no token is "".
        tags: of the same lengths, as in the source; those that mark spans are in IOB2.
        texts: the raw text of each sentence; where the source has none, the tokens joined with spaces.
        documents: number of each sentence's document, ascending from 0.
        dropped: reason -> number of lines, tokens or tags that were left out or changed while reading.
    """

    tokens: list[list[str]]
    tags: list[list[str]]
    texts: list[str]
    documents: list[int]
    dropped: dict[str, int]

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def num_tokens(self) -> int:
        """Number of tokens of all sentences."""
        return sum(map(len, self.tokens))

    def take(self, rows: np.ndarray) -> "TaggedSentences":
        """Returns the sentences that the indices or the mask `rows` select."""
        chosen = np.arange(len(self))[rows].tolist()
        fields = (self.tokens, self.tags, self.texts, self.documents)
        return TaggedSentences(*([field[row] for row in chosen] for field in fields), self.dropped)


def read(data: Data | None, options: TokenOptions = token_options.DEFAULTS) -> dict[str, TaggedSentences]:
    """Reads all of `data`.

    Args:
        data: a file, a folder of files with train, dev or test in their names, or the name of a corpus; or several
            files; None is the embedded sample.

    Returns:
        split -> sentences: "train", "valid" and "test" as far as the source has them. Files are "train".

    Raises:
        UserError: the source is missing, empty or not readable, a line has the wrong number of columns, no token has a
            tag in the column, it is unclear which column has the tokens, or positions of spans do not fit to the texts.
    """
    if data is None:
        options.reject(token_options.FIELDS, "the embedded sample has one tag per token")
        return {name: TaggedSentences(*fields, {}) for name, fields in sample_tags.generate().items()}
    splits = {name: joined(read_chunks(files, options)) for name, files in tagged_files.of(data).items()}
    scheme = tag_schemes.detect([tags for part in splits.values() for tags in part.tags])
    for part in splits.values():
        convert_to_iob2(part, scheme)
    return splits


def read_chunks(files: list[Path], options: TokenOptions = token_options.DEFAULTS) -> Iterator[TaggedSentences]:
    """Yields the sentences of files, which may be larger than memory, in chunks of about `_CHUNK_TOKENS` tokens.

    The tags are those of the source: their scheme is known only after the last sentence. The documents of different
    files are different ones. The last chunk of a file has what was left out of the file, and may have no sentences.

    Raises:
        UserError: as `read`.
    """
    first_document, last_document = 0, -1
    for path in files:
        chunk, num_tokens, dropped = TaggedSentences([], [], [], [], {}), 0, Dropped()
        for tokens, tags, text, document in tagged_files.sentences(path, options, dropped):
            last_document = first_document + document
            chunk.tokens.append(tokens)
            chunk.tags.append(tags)
            chunk.texts.append(text)
            chunk.documents.append(last_document)
            num_tokens += len(tokens)
            if num_tokens >= _CHUNK_TOKENS:
                yield chunk
                chunk, num_tokens = TaggedSentences([], [], [], [], {}), 0
        yield dataclasses.replace(chunk, dropped=dropped)
        first_document = last_document + 1


def fresh_sample() -> TaggedSentences:
    """Returns sentences of the embedded sample that are in no training data."""
    return TaggedSentences(*sample_tags.fresh(), {})


def joined(chunks: Iterable[TaggedSentences]) -> TaggedSentences:
    """Returns the sentences of all chunks."""
    dropped = Dropped()
    whole = TaggedSentences([], [], [], [], dropped)
    for chunk in chunks:
        whole.tokens += chunk.tokens
        whole.tags += chunk.tags
        whole.texts += chunk.texts
        whole.documents += chunk.documents
        dropped.add(chunk.dropped)
    return whole


def convert_to_iob2(part: TaggedSentences, scheme: str | None) -> None:
    """Converts tags that mark spans to IOB2, and adds the number of changes to `dropped`.

    Args:
        scheme: that of all splits together, from `tag_schemes.detect`; None if the tags mark no spans.
    """
    if scheme is not None:
        part.tags, num_changed, num_repaired = in_iob2(part.tags)
        part.dropped |= conversion_notes(scheme, num_changed, num_repaired)


def in_iob2(sentences: list[list[str]]) -> tuple[list[list[str]], int, int]:
    """Returns (tags that mark spans in IOB2, number of changed ones, number of those that continued no span)."""
    converted, num_repaired = tag_schemes.to_iob2(sentences)
    num_changed = sum(old != new for pair in zip(sentences, converted) for old, new in zip(*pair))
    return converted, num_changed, num_repaired


def conversion_notes(scheme: str, num_changed: int, num_repaired: int) -> dict[str, int]:
    """Returns note -> number of tags, from what `in_iob2` returns."""
    if scheme == tag_schemes.IOB1:
        num_repaired = 0
    notes = {
        f"tags converted from {scheme} to IOB2": num_changed - num_repaired,
        "tags that continue no span, changed to B-": num_repaired,
    }
    return {note: count for note, count in notes.items() if count > 0}
