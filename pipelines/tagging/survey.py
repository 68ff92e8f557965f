"""A first pass over tagged sentences that may be larger than memory: which to score on, and what training needs.

What it keeps has a bounded size, whatever the number of sentences.
"""

import collections
import dataclasses
import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipelines.data import tag_schemes, tagged_sentences, tagged_splits
from pipelines.data.splits import comparable, num_held_out
from pipelines.data.tag_schemes import Detector
from pipelines.data.tagged_sentences import TaggedSentences
from pipelines.shards import first_pass
from pipelines.shards.held_out import hash_of
from pipelines.support import paths
from pipelines.support.errors import UserError
from pipelines.tagging.config import TaggingConfig

MAX_HELD_OUT = 10_000  # validation sentences: they are scored after every epoch
MAX_TEST = 25_000
_MAX_FORMS = 2**20  # different tokens that are counted; the rarest of more are left out
_MAX_SAMPLE = 10_000  # training sentences from which the way to divide raw texts is chosen
_MAX_TAGS = 10_000  # different ones that are counted; a tagger has far fewer, but the message has their number


@dataclasses.dataclass(frozen=True)
class HeldOut:
    """Which sentences of the training files are held out for validation.

    Attributes:
        documents: numbers of documents.
        texts: hashes of texts, in the sense of `comparable`.
    """

    documents: frozenset[int] = frozenset()
    texts: frozenset[int] = frozenset()

    def mask(self, documents: list[int], texts: list[int]) -> np.ndarray:
        """Returns which sentences with these numbers of documents and hashes of texts are held out, bool [n]."""
        pairs = zip(documents, texts, strict=True)
        return np.array([document in self.documents or text in self.texts for document, text in pairs], bool)


@dataclasses.dataclass(frozen=True)
class Surveyed:
    """What is known after the first pass.

    Attributes:
        files: with the training sentences, and those that are held out.
        scheme: of the tags of all splits; None if they mark no spans.
        held_out: of the sentences in the files.
        valid, test: sentences to score on, their tags in IOB2; test is None if the data has none.
        tags: the tags of the training sentences, in alphabetical order.
        tokens: number of tokens in the files.
        forms: token -> how often it is in the training sentences.
        sample: random training sentences; all of them if they are few.
        notes: what was left out or repaired, and why: reason -> count.
    """

    files: list[Path]
    scheme: str | None
    held_out: HeldOut
    valid: TaggedSentences
    test: TaggedSentences | None
    tags: tuple[str, ...]
    tokens: int
    forms: collections.Counter
    sample: TaggedSentences
    notes: dict[str, int]


def survey(config: TaggingConfig) -> Surveyed:
    """Reads all sentences once.

    The validation sentences are those that `tagged_splits.split` chooses, at most about MAX_HELD_OUT.

    Raises:
        UserError: the data cannot be read, is too small to split, or has one tag or far too many.
    """
    files = tagged_sentences.files_of(config.data)
    tagged_splits.require_training(files)
    own = _own_validation(config) if config.valid else None
    detector = Detector()
    found = _Training(config.seed, hold_out=own is None and "valid" not in files)
    for chunk in tagged_sentences.read_chunks(files["train"], config.token_options()):
        detector.add(chunk.tags)
        found.add(chunk)
    limits = {"valid": MAX_HELD_OUT, "test": MAX_TEST}
    others = {name: _lowest(config, files[name], limits[name], detector) for name in files if name != "train"}
    scheme = detector.scheme()
    for part in others.values():
        tagged_sentences.convert_to_iob2(part, scheme)
    tags, notes = found.tags.in_scheme(scheme)
    tagged_splits.check_number_of_tags(paths.shown(config.data), len(tags), len(found.forms))
    notes = found.dropped | notes
    forms, held_out = found.forms, HeldOut()
    valid = own or others.get("valid")
    if valid is None:
        held_out, valid = found.held_out(config.valid_fraction)
        tagged_sentences.convert_to_iob2(valid, scheme)
        tags = tags - collections.Counter(tag for each in valid.tags for tag in each)
        forms = forms - collections.Counter(token for each in valid.tokens for token in each)
    else:
        notes |= {f"in validation, {reason}": count for reason, count in valid.dropped.items()}
    tagged_splits.require_tags(paths.shown(config.data), sorted(tags))
    sample = found.sample.training(held_out)
    return Surveyed(
        files["train"],
        scheme,
        held_out,
        valid,
        others.get("test"),
        tuple(sorted(tags)),
        found.num_tokens,
        forms,
        sample,
        notes,
    )


class _Sentence(NamedTuple):
    """A sentence that takes little memory.

    Attributes:
        number: in the order of reading.
        tokens, tags: with line ends between them.
    """

    number: int
    document: int
    tokens: str
    tags: str
    text: str


def _packed(chunk: TaggedSentences, first: int) -> Iterable[_Sentence]:
    """Yields the sentences of a chunk; `first` is the number of its first one."""
    rows = zip(chunk.documents, chunk.tokens, chunk.tags, chunk.texts, strict=True)
    for number, (document, tokens, tags, text) in enumerate(rows, first):
        yield _Sentence(number, document, "\n".join(tokens), "\n".join(tags), text)


def _unpacked(sentences: Iterable[_Sentence]) -> TaggedSentences:
    """Returns sentences in the order of reading."""
    rows = sorted(sentences)
    return TaggedSentences(
        [row.tokens.split("\n") for row in rows],
        [row.tags.split("\n") for row in rows],
        [row.text for row in rows],
        [row.document for row in rows],
        {},
    )


def _own_validation(config: TaggingConfig) -> TaggedSentences:
    """Returns the sentences of --valid with the lowest hashes, in IOB2."""
    files = tagged_sentences.files_of(config.valid)
    detector = Detector()
    parts = {name: _lowest(config, files[name], MAX_HELD_OUT, detector) for name in files}
    valid = parts[tagged_splits.own_validation(files)]
    tagged_sentences.convert_to_iob2(valid, detector.scheme())
    return valid


def _lowest(config: TaggingConfig, files: list[Path], limit: int, detector: Detector) -> TaggedSentences:
    """Returns the sentences whose texts have the lowest hashes, at most `limit`, in the order of reading.

    Args:
        detector: is given the tags of all sentences.
    """
    dropped: collections.Counter = collections.Counter()

    def rows() -> Iterator[tuple[str, _Sentence]]:
        first = 0
        for chunk in tagged_sentences.read_chunks(files, config.token_options()):
            detector.add(chunk.tags)
            dropped.update(chunk.dropped)
            yield from ((comparable(each.text), each) for each in _packed(chunk, first))
            first += len(chunk)

    kept, others = first_pass.lowest(rows(), limit)
    if others:
        dropped[f"more than {limit:,} sentences to score on"] = others
    return dataclasses.replace(_unpacked(each for _, each in kept), dropped=dict(dropped))


class _Training:
    """Collects what is to know about the sentences of the training files.

    Args:
        seed: of the sample.
        hold_out: whether to collect what may be held out.

    Attributes:
        tags: their numbers.
        forms: token -> number.
        num_tokens: number of all tokens.
        sample: random sentences.
        dropped: reason -> number of what was left out while reading.
    """

    def __init__(self, seed: int, hold_out: bool):
        self.tags = _Tags()
        self.forms: collections.Counter = collections.Counter()
        self.num_tokens = self._rows = 0
        self.sample = _Sample(seed)
        self.dropped: dict[str, int] = {}
        self._hold_out, self._texts, self._documents = hold_out, _Groups(), _Documents()

    def add(self, chunk: TaggedSentences) -> None:
        for reason, count in chunk.dropped.items():
            self.dropped[reason] = self.dropped.get(reason, 0) + count
        self.tags.add(chunk.tags)
        for tokens in chunk.tokens:
            self.forms.update(tokens)
            self.num_tokens += len(tokens)
        self._leave_out_rare_forms()
        for sentence in _packed(chunk, self._rows):
            self.sample.add(sentence)
            if self._hold_out:
                key = comparable(sentence.text)
                self._texts.add(hash_of(key), 1, [sentence])
                self._documents.add(sentence, key)
        self._rows += len(chunk)

    def held_out(self, fraction: float) -> tuple[HeldOut, TaggedSentences]:
        """Chooses whole documents, or groups of equal sentences if there are few documents or they are too long.

        Returns:
            (what is held out, its sentences).
        """
        rows = min(fraction * self._rows, MAX_HELD_OUT)
        self._documents.end()
        if self._documents.count >= tagged_splits.MIN_DOCUMENTS:
            chosen = self._documents.groups.lowest(rows)
            if all(len(group.sentences) == group.size for group in chosen.values()):
                documents = frozenset(each.document for group in chosen.values() for each in group.sentences)
                return HeldOut(documents=documents), _sentences_of(chosen)
        chosen = self._texts.lowest(rows)
        return HeldOut(texts=frozenset(chosen)), _sentences_of(chosen)

    def _leave_out_rare_forms(self) -> None:
        count = 1
        while len(self.forms) > _MAX_FORMS:
            self.forms = collections.Counter({form: n for form, n in self.forms.items() if n > count})
            count += 1


class _Tags:
    """Counts tags, as they are and, if they may mark spans, in IOB2."""

    def __init__(self):
        self._as_read: collections.Counter = collections.Counter()
        self._in_iob2: collections.Counter = collections.Counter()
        self._num_changed = self._num_repaired = 0
        self._may_mark_spans = True

    def add(self, sentences: list[list[str]]) -> None:
        for tags in sentences:
            self._as_read.update(tags)
        if len(self._as_read) > _MAX_TAGS:
            raise UserError(
                f"more than {_MAX_TAGS:,} different tags: is the tag the first column? Name the right columns with "
                "--column and --token-column"
            )
        self._may_mark_spans = self._may_mark_spans and tag_schemes.may_mark_spans(self._as_read)
        if self._may_mark_spans:
            converted, num_changed, num_repaired = tagged_sentences.in_iob2(sentences)
            for tags in converted:
                self._in_iob2.update(tags)
            self._num_changed += num_changed
            self._num_repaired += num_repaired

    def in_scheme(self, scheme: str | None) -> tuple[collections.Counter, dict[str, int]]:
        """Returns (tag in IOB2 -> number, note -> number of changed tags); without a scheme, the tags as they are."""
        if scheme is None:
            return self._as_read, {}
        return self._in_iob2, tagged_sentences.conversion_notes(scheme, self._num_changed, self._num_repaired)


@dataclasses.dataclass
class _Group:
    """Sentences that stay together: a document, or equal sentences.

    Attributes:
        size: number of sentences.
        sentences: the first MAX_HELD_OUT of them.
    """

    size: int = 0
    sentences: list[_Sentence] = dataclasses.field(default_factory=list)


class _Groups:
    """The groups with the lowest hashes: those from which validation is chosen, and at least one more."""

    def __init__(self):
        self._groups: dict[int, _Group] = {}  # hash -> group
        self._highest = 2**64  # hash of a group that is kept
        self._kept, self._max_kept = 0, 2 * MAX_HELD_OUT  # sentences

    def add(self, key: int, size: int, sentences: list[_Sentence]) -> None:
        """Adds `size` sentences to the group with the hash `key`; `sentences` are the first ones of them."""
        if key > self._highest:
            return
        group = self._groups.setdefault(key, _Group())
        group.size += size
        added = sentences[: MAX_HELD_OUT - len(group.sentences)]
        group.sentences += added
        self._kept += len(added)
        if self._kept > self._max_kept:
            self._keep_lowest()

    def lowest(self, rows: float) -> dict[int, _Group]:
        """Returns hash -> group of those that have about `rows` sentences together, as `splits.validation_rows`."""
        keys = sorted(self._groups)
        sizes = np.array([self._groups[key].size for key in keys], np.int64)
        return {key: self._groups[key] for key in keys[: num_held_out(sizes, rows)]}

    def _keep_lowest(self) -> None:
        keys = sorted(self._groups)
        sizes = np.cumsum([self._groups[key].size for key in keys])
        kept = keys[: int((sizes < MAX_HELD_OUT).sum()) + 2]
        if len(kept) < len(keys):
            self._highest = kept[-1]
        self._groups = {key: self._groups[key] for key in kept}
        self._kept = sum(len(group.sentences) for group in self._groups.values())
        self._max_kept = self._kept + 2 * MAX_HELD_OUT


class _Documents:
    """Groups of the sentences of each document, whose sentences follow each other.

    Attributes:
        groups: of the documents before the last one.
        count: number of documents.
    """

    def __init__(self):
        self.groups, self.count = _Groups(), 0
        self._number, self._size, self._sentences, self._hash = -1, 0, [], hashlib.sha256()

    def add(self, sentence: _Sentence, key: str) -> None:
        """Adds a sentence; the `key` of its text is a part of the name of its document, as in `tagged_splits`."""
        if sentence.document != self._number:
            self.end()
            self.count += 1
            self._number, self._size, self._sentences, self._hash = sentence.document, 0, [], hashlib.sha256()
        self._hash.update(("\n" * bool(self._size) + key).encode("utf-8", "replace"))
        self._size += 1
        if self._size <= MAX_HELD_OUT:
            self._sentences.append(sentence)

    def end(self) -> None:
        """Adds the last document to the groups."""
        if self._size:
            self.groups.add(int.from_bytes(self._hash.digest()[:8], "big"), self._size, self._sentences)
        self._size = 0


def _sentences_of(groups: dict[int, _Group]) -> TaggedSentences:
    return _unpacked(each for group in groups.values() for each in group.sentences)


class _Sample:
    """A random sample of at most `_MAX_SAMPLE` sentences."""

    def __init__(self, seed: int):
        self._rng = np.random.default_rng(seed)
        self._rows: list[tuple[float, _Sentence]] = []
        self._limit = 1.0

    def add(self, sentence: _Sentence) -> None:
        draw = float(self._rng.random())
        if draw < self._limit:
            self._rows.append((draw, sentence))
        while len(self._rows) > _MAX_SAMPLE:
            self._limit /= 2
            self._rows = [row for row in self._rows if row[0] < self._limit]

    def training(self, held_out: HeldOut) -> TaggedSentences:
        """Returns those that are not held out."""
        sentences = _unpacked(sentence for _, sentence in self._rows)
        hashes = [hash_of(comparable(text)) for text in sentences.texts]
        return sentences.take(~held_out.mask(sentences.documents, hashes))
