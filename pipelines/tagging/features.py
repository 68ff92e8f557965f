"""What the network reads of a token, as graph operations: its word, its spelling, its characters.

words        id of the normalized word: NFKC, lower case, digits as 0
spellings    capitalization and digits, which the normalized word has lost
characters   ids of the characters as they are in the text
hashes       of its word, its shape and its affixes, for the linear model (hashed.py)

Invisible characters (text/invisible.py) are left out of all of them.
"""

import collections
from collections.abc import Collection, Iterable
from pathlib import Path

import tensorflow as tf
import tensorflow_text as tf_text

from pipelines.data.tagged_sentences import TaggedSentences, character_spans
from pipelines.pretrained import frozen
from pipelines.pretrained.frozen import WordEncoder
from pipelines.support.records import read_record, write_record
from pipelines.tagging import hashed
from pipelines.text.invisible import visible
from pipelines.text.normalization import without_invisible
from pipelines.text.tokenizers import keep_ends
from pipelines.text.words import WordSplitter
from pipelines.text.words import choose_splitter as choose_kind

PAD, UNKNOWN = 0, 1
_NUM_SPECIAL = 2  # PAD and UNKNOWN
_MIN_WORD_COUNT = 2  # a rarer word is the unknown word in training, which trains that
_MIN_CHARACTER_COUNT = 3
_ENCODER = "encoder"  # folder of the encoder's copy
_REMEDY = "delete the run's folder to train from scratch"
# The first pattern that matches a token is its spelling; no pattern matches "McDonald" or "iPhone".
SPELLINGS = (
    r"\p{Nd}+",  # 2006
    r".*\p{Nd}.*",  # 3,000, B2B
    r"\p{Lu}",  # I, A
    r"[\p{Lu}\p{M}.]+",  # USA, U.S.
    r"\p{Lu}[^\p{Lu}]*",  # Paris
    r"[^\p{Lu}]*[\p{Ll}\p{Lo}\p{Lm}\p{Lt}][^\p{Lu}]*",  # paper, n't
    r"[^\p{L}]+",  # ", $
)
NUM_SPELLINGS = len(SPELLINGS) + 2  # with 0 for padding and a last one for all other tokens
# Each pattern becomes its group. A word that is too short for a pattern stays as it is.
_AFFIXES = (
    *(rf"(?s)^(.{{{length}}}).*$" for length in (1, 2, 3)),
    *(rf"(?s)^.*(.{{{length}}})$" for length in (1, 2, 3, 4)),
)
NUM_AFFIXES = len(_AFFIXES)
NUM_AFFIX_HASHES = 4096  # with 0 for padding


class TokenFeatures(tf.Module):
    """Converts tokens to the inputs of the network, and divides raw texts into tokens.

    Args:
        kind: how raw texts are divided; see `WordSplitter`.
        words: the vocabulary of normalized words, without the special ones.
        characters: the known characters.
        max_characters: maximum number of characters per token; a longer one keeps its first and last half. 0 reads no
            characters.
        max_bytes: number of bytes that are read of each text.
        encoder: gives each token a pretrained vector; None for none.
        removes_invisible: False for a run that was trained with invisible characters.
        reads: what the model reads: "ids" for a network, "hashes" for the linear model; "best" reads both.
    """

    def __init__(
        self,
        kind: str,
        words: list[str],
        characters: list[str],
        max_characters: int,
        max_bytes: int,
        encoder: WordEncoder | None = None,
        removes_invisible: bool = True,
        reads: Collection[str] = ("ids",),
    ):
        super().__init__()
        self._removes_invisible, self._reads = removes_invisible, tuple(reads)
        self.encoder = encoder
        self.kind = kind
        self._lists = {"words": list(words), "characters": list(characters)}
        self._max_characters = max_characters
        self._max_bytes = max_bytes
        self.split: WordSplitter = WordSplitter(kind, max_bytes, removes_invisible)
        self._word_ids = _table(words, tf.string)
        self._character_ids = _table([ord(character) for character in characters], tf.int32)
        self.vocabulary_size = len(words) + _NUM_SPECIAL
        self.num_characters = len(characters) + _NUM_SPECIAL

    def __call__(self, tokens: tf.RaggedTensor) -> dict[str, tf.RaggedTensor]:
        """Returns the inputs of the network, before padding.

        Args:
            tokens: ragged string [batch, (tokens)].

        Returns:
            {"words": ragged int32 [batch, (tokens)], "spellings": the same, "affixes": ragged int32 [batch, (tokens),
            NUM_AFFIXES], "characters": ragged int32 [batch, (tokens), (characters)]}. Each token has a character: that
            of an empty token is UNKNOWN. If `max_characters` is 0, there is no "characters". With an encoder also
            "vectors": ragged float32 [batch, (tokens), size]. The linear model reads "hashes", ragged int32
            [batch, (tokens), NUM_HASHES], and none of the others.
        """
        flat = without_invisible(tokens.flat_values) if self._removes_invisible else tokens.flat_values
        words = normalized(flat)
        inputs = {}
        if "hashes" in self._reads:
            inputs["hashes"] = tokens.with_flat_values(hashed.hashes_of(flat, words))
        if "ids" in self._reads:
            inputs["words"] = tokens.with_flat_values(self._word_ids.lookup(words))
            inputs["spellings"] = tokens.with_flat_values(spelling_of(flat))
            inputs["affixes"] = tokens.with_flat_values(affixes_of(words))
        if self._max_characters:
            codes = tf.strings.unicode_decode(tf.where(flat == "", "\N{REPLACEMENT CHARACTER}", flat), "UTF-8")
            codes = keep_ends(codes, self._max_characters)
            ids = self._character_ids.lookup(codes.flat_values)
            inputs["characters"] = tokens.with_values(codes.with_flat_values(ids))
        if self.encoder:
            # Not the empty string, which is padding to the encoder.
            inputs["vectors"] = self.encoder(tokens.with_flat_values(tf.where(flat == "", tokens.flat_values, flat)))
        return inputs

    def grown(self, words: Iterable[str], characters: Iterable[str]) -> "TokenFeatures":
        """Returns what also knows these words and characters; those that it knows already keep their ids."""
        lists = [list(dict.fromkeys([*self._lists["words"], *words]))]
        lists.append(list(dict.fromkeys([*self._lists["characters"], *characters])))
        limits = self._max_characters, self._max_bytes, self.encoder, self._removes_invisible
        return TokenFeatures(self.kind, *lists, *limits, reads=self._reads)

    def save(self, folder: Path) -> None:
        """Writes what `load` reads to the existing `folder`: a file, and a copy of the encoder."""
        settings = {
            "kind": self.kind,
            "max_characters": self._max_characters,
            "max_bytes": self._max_bytes,
            "removes_invisible": self._removes_invisible,
            "reads": self._reads,
        }
        files = self.encoder.save(Path(folder) / _ENCODER) if self.encoder else None
        write_record(Path(folder) / "tokens.json", settings | self._lists | {"encoder_files": files})


def train(
    kind: str,
    sentences: Iterable[list[str]],
    vocabulary_size: int,
    max_characters: int,
    max_bytes: int,
    encoder: WordEncoder | None = None,
    reads: Collection[str] = ("ids",),
) -> TokenFeatures:
    """Collects the words and characters of the training sentences; see `from_counts`."""
    tokens = collections.Counter(token for sentence in sentences for token in sentence)
    return from_counts(kind, tokens, vocabulary_size, max_characters, max_bytes, encoder, reads)


def from_counts(
    kind: str,
    tokens: collections.Counter,
    vocabulary_size: int,
    max_characters: int,
    max_bytes: int,
    encoder: WordEncoder | None = None,
    reads: Collection[str] = ("ids",),
) -> TokenFeatures:
    """Collects the words and characters of tokens.

    Args:
        tokens: token -> how often it is in the training sentences.
        vocabulary_size: maximum number of words.
    """
    words, characters = collections.Counter(), collections.Counter()
    forms = [visible(token) for token in tokens]
    normal = normalized(tf.constant(forms, tf.string)).numpy().tolist()
    for form, word, count in zip(forms, normal, tokens.values(), strict=True):
        if word:
            words[word.decode()] += count
        for character in form:
            characters[character] += count
    return TokenFeatures(
        kind,
        _frequent(words, _MIN_WORD_COUNT)[:vocabulary_size],
        _frequent(characters, _MIN_CHARACTER_COUNT),
        max_characters,
        max_bytes,
        encoder,
        reads=reads,
    )


def load(folder: Path, with_characters: bool = True) -> TokenFeatures:
    """Loads what `TokenFeatures.save` wrote to `folder`.

    Args:
        with_characters: whether to read characters if those that were saved do.

    Raises:
        UserError: a file is damaged.
    """
    saved = read_record(Path(folder) / "tokens.json", _REMEDY)
    if not with_characters:
        saved["max_characters"] = 0
    files = saved.pop("encoder_files")
    saved.setdefault("removes_invisible", False)  # no record: an older run, which keeps them
    saved.setdefault("reads", ["ids"])
    encoder = frozen.load(Path(folder) / _ENCODER, files, _REMEDY, WordEncoder) if files else None
    return TokenFeatures(**saved, encoder=encoder)


def grown(features: TokenFeatures, sentences: Iterable[list[str]], vocabulary_size: int) -> TokenFeatures:
    """Returns features that also know the words and characters of other sentences; see `train`."""
    others = train(features.kind, sentences, vocabulary_size, 0, 0)
    return features.grown(**others._lists)


def choose_splitter(sentences: TaggedSentences) -> tuple[str, dict[str, float]]:
    """Returns the kind of splitter that gives most tokens of some sentences, and the share of each kind."""
    pairs = zip(sentences.tokens, sentences.texts, strict=True)
    return choose_kind(sentences.texts, [character_spans(tokens, text) for tokens, text in pairs])


def normalized(tokens: tf.Tensor) -> tf.Tensor:
    """Returns the words of tokens, string [n]: NFKC, lower case, each digit as 0."""
    words = tf.strings.lower(tf_text.normalize_utf8(tokens, "NFKC"), encoding="utf-8")
    return tf.strings.regex_replace(words, r"\p{Nd}", "0")


def spelling_of(tokens: tf.Tensor) -> tf.Tensor:
    """Returns the number of the first of SPELLINGS that each token matches, from 1: int32 [n]."""
    spelling = tf.fill(tf.shape(tokens), NUM_SPELLINGS - 1)
    for i, pattern in reversed(list(enumerate(SPELLINGS, 1))):
        spelling = tf.where(tf.strings.regex_full_match(tokens, f"(?s){pattern}"), i, spelling)
    return spelling


def affixes_of(words: tf.Tensor) -> tf.Tensor:
    """Returns the hashes of the affixes of normalized words, from 1: int32 [n, NUM_AFFIXES]."""
    hashes = []
    for i, pattern in enumerate(_AFFIXES):
        # The number of the pattern makes a prefix and a suffix of the same characters different.
        affix = tf.strings.join([f"{i} ", tf.strings.regex_replace(words, pattern, r"\1")])
        hashes.append(tf.strings.to_hash_bucket_fast(affix, NUM_AFFIX_HASHES - 1))
    return tf.cast(tf.stack(hashes, axis=-1), tf.int32) + 1


def _frequent(counts: collections.Counter, min_count: int) -> list[str]:
    """Returns what occurs at least `min_count` times, the most frequent first, equals in alphabetical order."""
    return sorted((each for each in counts if counts[each] >= min_count), key=lambda each: (-counts[each], each))


def _table(keys: list, dtype) -> tf.lookup.StaticHashTable:
    """A table from the keys to the ids from 2 on; all others are UNKNOWN."""
    ids = tf.range(_NUM_SPECIAL, _NUM_SPECIAL + max(1, len(keys)), dtype=tf.int32)
    # A table needs at least one entry: without keys, it gets one that no text contains.
    keys = tf.constant(keys or [b"\xff" if dtype == tf.string else -1], dtype)
    return tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, ids), UNKNOWN)
