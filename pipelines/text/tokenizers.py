"""Tokenizers as graph operations: the tokenizer that trains is the tokenizer that is exported and serves.

Every tokenizer has the same interface:

    encode(texts)      string [batch] -> ragged int32 [batch, (tokens)], with START first and END last
    tokens(texts)      the same as strings; a token that is not in the vocabulary is returned as it is in the text
    decode(ids)        int32 [batch, tokens] or ragged -> string [batch]; special ids are left out
    spell(tokens)      ragged string [batch, (tokens)] -> ragged int32 [batch, (characters)], with a space around words
    vocabulary()       the tokens in the order of their ids
    shown()            the same for readers: "##" before a token that continues a word
    vocabulary_size    number of tokens
    special            the special ids, `SpecialIds`
    save(folder)       writes the files that `load_tokenizer(folder)` reads

The special ids are the same in every tokenizer of this module. The tokenizers of pretrained checkpoints (wordpiece.py,
unigram.py) have the same interface, and the special ids of their checkpoint. An empty text is encoded as START and END:
no sequence has zero tokens.
"""

import collections
import hashlib
import io
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf
import tensorflow_text as tf_text

from pipelines.support.errors import UserError
from pipelines.support.quiet import capture_stderr_descriptor
from pipelines.support.records import read_record, write_record
from pipelines.text.normalization import Cutter, Normalizer
from pipelines.text.special_tokens import END, PAD, SPECIAL_TOKENS, START, UNKNOWN, WORD_START, SpecialIds

_SENTENCEPIECE_KINDS = ("subword", "cased", "pieces")

# Letters, digits and apostrophes form words. Any other character that is not a space is a token of its own, and so is
# each character of a script that is written without spaces.
_SINGLE_CHARACTER_TOKEN = (
    r"([^\p{L}\p{M}\p{N}'\s]|[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}])"
)


class VocabularyTokenizer(tf.Module):
    """Splits a text into words or characters and looks each one up in a vocabulary.

    Args:
        kind: "word" (normalized text; punctuation marks are words), "spaced" (unchanged text, split at spaces; a line
            end is a word) or "character" (unchanged text).
        tokens: the vocabulary without the special tokens, as UTF-8 bytes.
        max_bytes: number of bytes that are read of each text.
        removes_invisible: whether words lose their invisible characters (invisible.py). Characters stay.
    """

    def __init__(self, kind: str, tokens: list[bytes], max_bytes: int, removes_invisible: bool = True):
        super().__init__()
        self.kind = kind
        self.special = SpecialIds()
        self._removes_invisible = removes_invisible
        self._tokens = [token.encode() for token in SPECIAL_TOKENS] + list(tokens)
        self._max_bytes = max_bytes
        self.vocabulary_size = len(self._tokens)
        self._split = Splitter(kind, max_bytes, removes_invisible)
        # The special tokens are not in the table: "<end>" in a text is text.
        ids = np.arange(len(SPECIAL_TOKENS), self.vocabulary_size, dtype=np.int32)
        # A table needs at least one entry: without tokens, it gets one that no text contains.
        initializer = tf.lookup.KeyValueTensorInitializer(
            tf.constant(list(tokens) or [b"\0"], tf.string), tf.constant(ids if len(ids) else [UNKNOWN], tf.int32)
        )
        self._ids = tf.lookup.StaticHashTable(initializer, UNKNOWN)
        self._strings = tf.constant([b""] * len(SPECIAL_TOKENS) + list(tokens), tf.string)

    def encode(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Returns the ids of the tokens, ragged int32 [batch, (tokens)]."""
        tokens = self._split(texts)
        return enclose(tokens.with_flat_values(self._ids.lookup(tokens.flat_values)), START, END)

    def tokens(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Returns the tokens, ragged string [batch, (tokens)]."""
        return enclose(self._split(texts), SPECIAL_TOKENS[START], SPECIAL_TOKENS[END])

    def spell(self, tokens: tf.RaggedTensor) -> tf.RaggedTensor:
        """Returns the code points of `tokens`, the START and END of each row left out.

        There is one space before each word, and one at the end. A token of a single character that is no letter of a
        script with spaces, such as a comma or a Han character, follows the previous token without a space.
        """
        tokens = tokens[:, 1:-1]
        if self.kind != "character":
            is_attached = tf.strings.regex_full_match(tokens.flat_values, _SINGLE_CHARACTER_TOKEN)
            tokens = tokens.with_flat_values(tf.where(is_attached, "", " ") + tokens.flat_values)
        return code_points(tokens)

    def decode(self, ids) -> tf.Tensor:
        """Returns the texts of ids, string [batch]."""
        ids = _without_special_ids(ids)
        tokens = ids.with_flat_values(tf.gather(self._strings, ids.flat_values))
        text = tf.strings.reduce_join(tokens, axis=-1, separator="" if self.kind == "character" else " ")
        return tf.strings.regex_replace(text, r" ?\n ?", "\n") if self.kind == "spaced" else text

    def vocabulary(self) -> list[str]:
        """Returns the tokens in the order of their ids."""
        return [token.decode() for token in self._tokens]

    def shown(self) -> list[str]:
        """Returns the tokens as readers see them: each is a whole word or a character."""
        return self.vocabulary()

    def grown(self, tokens: Iterable[str]) -> "VocabularyTokenizer":
        """Returns the tokenizer that also has those of `tokens` that it does not have; the others keep their ids."""
        joined = dict.fromkeys([*self._tokens[len(SPECIAL_TOKENS) :], *(token.encode() for token in tokens)])
        return VocabularyTokenizer(self.kind, list(joined), self._max_bytes, self._removes_invisible)

    def save(self, folder: Path) -> None:
        """Writes the files that `load_tokenizer` reads to the existing `folder`."""
        tokens = self.vocabulary()[len(SPECIAL_TOKENS) :]
        values = {"kind": self.kind, "max_bytes": self._max_bytes, "tokens": tokens}
        write_record(Path(folder) / "tokenizer.json", values | {"removes_invisible": self._removes_invisible})


class SubwordTokenizer(tf.Module):
    """Splits a text into subword tokens with a SentencePiece model.

    Source: Kudo and Richardson 2018, "SentencePiece" (arXiv:1808.06226).

    Args:
        kind: "subword" (normalized text), "cased" (text in NFKC) or "pieces" (unchanged text, with spaces and line
            ends).
        model: serialized SentencePiece model that has the special ids of this module.
        max_bytes: number of bytes that are read of each text.
        removes_invisible: whether texts lose their invisible characters (invisible.py).
    """

    def __init__(self, kind: str, model: bytes, max_bytes: int, removes_invisible: bool = True):
        super().__init__()
        self._removes_invisible = removes_invisible
        self.kind = kind
        self.special = SpecialIds()
        self.model = model
        self._max_bytes = max_bytes
        self.normalize = _normalizer(kind, max_bytes, removes_invisible)  # string [batch] -> string [batch]
        # A loaded SavedModel finds SentencePiece models by the names of their operations: two tokenizers with one name
        # would both use the first model.
        name = f"sentencepiece_{hashlib.sha256(model).hexdigest()[:16]}"
        with capture_stderr_descriptor():  # its C++ code writes a log line there
            self._sentencepiece = tf_text.SentencepieceTokenizer(model, out_type=tf.int32, name=name)
            self.vocabulary_size = int(self._sentencepiece.vocab_size())

    def encode(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Returns the ids of the tokens, ragged int32 [batch, (tokens)]."""
        return enclose(self._sentencepiece.tokenize(self.normalize(texts)), START, END)

    def tokens(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Returns the tokens, ragged string [batch, (tokens)]."""
        ids = self._sentencepiece.tokenize(self.normalize(texts))
        tokens = ids.with_flat_values(self._sentencepiece.id_to_string(ids.flat_values))
        return enclose(tokens, SPECIAL_TOKENS[START], SPECIAL_TOKENS[END])

    def spell(self, tokens: tf.RaggedTensor) -> tf.RaggedTensor:
        """As `VocabularyTokenizer.spell`; words are what the text has between spaces."""
        tokens = tokens[:, 1:-1]
        return code_points(tokens.with_flat_values(tf.strings.regex_replace(tokens.flat_values, WORD_START, " ")))

    def decode(self, ids) -> tf.Tensor:
        """Returns the texts of ids, string [batch]."""
        return self._sentencepiece.detokenize(_without_special_ids(ids))

    def vocabulary(self) -> list[str]:
        """Returns the tokens in the order of their ids."""
        tokens = self._sentencepiece.id_to_string(tf.range(len(SPECIAL_TOKENS), self.vocabulary_size)).numpy()
        return [*SPECIAL_TOKENS, *(token.decode() for token in tokens)]

    def shown(self) -> list[str]:
        """Returns the tokens as readers see them: "##" before one that continues a word."""
        return shown_pieces(self.vocabulary())

    def save(self, folder: Path) -> None:
        """Writes the files that `load_tokenizer` reads to the existing `folder`."""
        (Path(folder) / "sentencepiece.model").write_bytes(self.model)
        checksum = hashlib.sha256(self.model).hexdigest()
        values = {"kind": self.kind, "max_bytes": self._max_bytes, "model_sha256": checksum}
        write_record(Path(folder) / "tokenizer.json", values | {"removes_invisible": self._removes_invisible})


Tokenizer = VocabularyTokenizer | SubwordTokenizer


class Splitter(tf.Module):
    """Splits texts into words or characters, without a vocabulary. Its arguments are those of `VocabularyTokenizer`."""

    def __init__(self, kind: str, max_bytes: int, removes_invisible: bool = True):
        super().__init__()
        self._kind = kind
        self._normalize = Normalizer(max_bytes, removes_invisible)
        self._cut = Cutter(max_bytes, removes_invisible and kind != "character")
        self._whitespace = tf_text.WhitespaceTokenizer()

    def __call__(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Converts string [batch] to ragged string [batch, (tokens)]."""
        if self._kind == "character":
            return tf.strings.unicode_split(self._cut(texts), "UTF-8")
        if self._kind == "spaced":
            lines = tf.strings.regex_replace(self._cut(texts), "\n", " \n ")
            words = tf.strings.split(lines, " ")
            return tf.ragged.boolean_mask(words, words != "")
        spaced = tf.strings.regex_replace(self._normalize(texts), _SINGLE_CHARACTER_TOKEN, r" \1 ")
        return self._whitespace.tokenize(spaced)


def train_tokenizer(kind: str, texts: Iterable[str], vocabulary_size: int, max_bytes: int) -> Tokenizer:
    """Learns a tokenizer from training texts.

    Args:
        kind: "word", "spaced", "character", "subword", "cased" or "pieces".
        texts: read once, in constant memory.
        vocabulary_size: maximum number of tokens, special tokens included.
        max_bytes: number of bytes that are read of each text, in training and in use.

    Raises:
        UserError: `vocabulary_size` is too small for the characters of the texts.
    """
    if kind in _SENTENCEPIECE_KINDS:
        return SubwordTokenizer(kind, _train_sentencepiece(kind, texts, vocabulary_size, max_bytes), max_bytes)
    # A word that occurs once cannot be learned. Left out of the vocabulary, it trains the unknown token.
    min_count = 1 if kind == "character" else 2
    tokens = _most_frequent(Splitter(kind, max_bytes), texts, vocabulary_size, min_count)
    return VocabularyTokenizer(kind, tokens, max_bytes)


def load_tokenizer(folder: Path) -> Tokenizer:
    """Loads the tokenizer that `save` wrote to `folder`.

    Raises:
        UserError: one of its files is damaged.
    """
    remedy = "delete the run's folder to train from scratch"
    saved = read_record(Path(folder) / "tokenizer.json", remedy)
    limits = saved["max_bytes"], saved.get("removes_invisible", False)  # no record: an older run, which keeps them
    if saved["kind"] in _SENTENCEPIECE_KINDS:
        path = Path(folder) / "sentencepiece.model"
        model = path.read_bytes()
        if hashlib.sha256(model).hexdigest() != saved["model_sha256"]:
            raise UserError(f"{path} is damaged: {remedy}")
        return SubwordTokenizer(saved["kind"], model, *limits)
    return VocabularyTokenizer(saved["kind"], [token.encode() for token in saved["tokens"]], *limits)


def shown_pieces(pieces: Iterable[str]) -> list[str]:
    """Returns the pieces of a SentencePiece model as readers see them: "##" before one that continues a word."""
    return [piece[1:] if piece.startswith(WORD_START) and len(piece) > 1 else f"##{piece}" for piece in pieces]


def append(rows: tf.RaggedTensor, token) -> tf.RaggedTensor:
    """Appends `token` to each row."""
    return tf.concat([rows, tf.fill([rows.nrows(), 1], token)], axis=1)


def keep_ends(ids: tf.RaggedTensor, max_tokens: int) -> tf.RaggedTensor:
    """Limits each row to `max_tokens` tokens; a longer row keeps its first and its last half of them.

    Args:
        ids: ragged [batch, (tokens)] of any dtype.
    """
    head = max_tokens // 2
    lengths = ids.row_lengths()
    kept_lengths = tf.minimum(lengths, max_tokens)
    position = tf.ragged.range(kept_lengths)
    removed = tf.gather(lengths - kept_lengths, position.value_rowids())
    skip = tf.where(position.flat_values >= head, removed, 0)
    source = tf.gather(ids.row_starts(), position.value_rowids()) + position.flat_values + skip
    return position.with_flat_values(tf.gather(ids.flat_values, source))


def keep_start(ids: tf.RaggedTensor, max_tokens: int) -> tf.RaggedTensor:
    """Limits each row to `max_tokens` tokens; a longer row keeps its first ones and the last one, END.

    Args:
        ids: ragged [batch, (tokens)] of any dtype; each row has a token.
    """
    return tf.concat([ids[:, :-1][:, : max_tokens - 1], ids[:, -1:]], axis=1)


def in_batches(texts: Iterable[str], batch_size: int = 1000) -> Iterator[tf.Tensor]:
    """Yields the texts as string tensors of at most `batch_size`."""
    texts = iter(texts)
    while batch := list(itertools.islice(texts, batch_size)):
        yield tf.constant(batch, tf.string)


def enclose(tokens: tf.RaggedTensor, start, end) -> tf.RaggedTensor:
    """Puts `start` before and `end` after each row."""
    return tf.concat([tf.fill([tokens.nrows(), 1], start), tokens, tf.fill([tokens.nrows(), 1], end)], axis=1)


def code_points(tokens: tf.RaggedTensor) -> tf.RaggedTensor:
    """Returns the Unicode code points of the joined tokens of each row and a space, ragged int32 [batch, (length)]."""
    return tf.strings.unicode_decode(tf.strings.reduce_join(tokens, axis=-1) + " ", "UTF-8")


def without_ids(ids, left_out: Sequence[int | None]) -> tf.RaggedTensor:
    """Returns the rows of `ids` without the ids of `left_out`.

    Args:
        ids: int32 [batch, tokens] or ragged.
    """
    if not isinstance(ids, tf.RaggedTensor):
        ids = tf.RaggedTensor.from_tensor(tf.cast(ids, tf.int32))
    is_left_out = tf.reduce_any(ids.flat_values[:, None] == tf.constant(left_out, tf.int32), axis=1)
    return tf.ragged.boolean_mask(ids, ids.with_flat_values(~is_left_out))


def _without_special_ids(ids) -> tf.RaggedTensor:
    return without_ids(ids, [PAD, UNKNOWN, START, END])


def _normalizer(kind: str, max_bytes: int, removes_invisible: bool = True) -> Callable[[tf.Tensor], tf.Tensor]:
    """Returns what a SentencePiece tokenizer of this kind does to a text before it splits it."""
    if kind == "subword":
        return Normalizer(max_bytes, removes_invisible)
    cut = Cutter(max_bytes, removes_invisible)
    return (lambda texts: tf_text.normalize_utf8(cut(texts), "NFKC")) if kind == "cased" else cut


def _most_frequent(split: Splitter, texts: Iterable[str], vocabulary_size: int, min_count: int) -> list[bytes]:
    """Returns the most frequent tokens that occur at least `min_count` times."""
    split_batch = tf.function(split.__call__, input_signature=[tf.TensorSpec([None], tf.string)], autograph=False)
    counts: collections.Counter[bytes] = collections.Counter()
    for batch in in_batches(texts):
        counts.update(split_batch(batch).flat_values.numpy().tolist())
    # Ordered by frequency, then alphabetically: the same texts in any order give the same ids.
    frequent = (token for token, count in counts.items() if count >= min_count)
    ranked = sorted(frequent, key=lambda token: (-counts[token], token))
    return ranked[: vocabulary_size - len(SPECIAL_TOKENS)]


def _train_sentencepiece(kind: str, texts: Iterable[str], vocabulary_size: int, max_bytes: int) -> bytes:
    """Trains a SentencePiece model and returns it serialized."""
    import sentencepiece  # the other tokenizers do not need it

    normalize = _normalizer(kind, max_bytes)

    def sentences():
        for batch in in_batches(texts):
            for text in normalize(batch).numpy():
                yield text.decode()

    model = io.BytesIO()
    try:
        with capture_stderr_descriptor():  # its C++ code writes a log line there
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=sentences(),
                model_writer=model,
                **_sentencepiece_options(kind, vocabulary_size, max_bytes),
            )
    except RuntimeError as error:
        characters = re.search(r"required_chars\. \d+ vs (\d+)", str(error))
        if characters:
            raise UserError(
                f"--vocabulary-size {vocabulary_size}: it must be at least {characters[1]} for the different "
                "characters of these texts"
            ) from error
        raise
    return model.getvalue()


def _sentencepiece_options(kind: str, vocabulary_size: int, max_bytes: int) -> dict:
    options = {
        "vocab_size": vocabulary_size,
        "hard_vocab_limit": False,
        "model_type": "unigram",
        "character_coverage": 0.9995,
        "max_sentence_length": max_bytes * 4,
        "pad_id": PAD,
        "unk_id": UNKNOWN,
        "bos_id": START,
        "eos_id": END,
        "pad_piece": SPECIAL_TOKENS[PAD],
        "unk_piece": SPECIAL_TOKENS[UNKNOWN],
        "bos_piece": SPECIAL_TOKENS[START],
        "eos_piece": SPECIAL_TOKENS[END],
        "num_threads": 1,  # the same texts give the same tokens
        "minloglevel": 2,
    }
    if kind != "pieces":
        return options | {"normalization_rule_name": "nfkc"}
    return options | {
        "normalization_rule_name": "identity",
        "remove_extra_whitespaces": False,
        "add_dummy_prefix": False,
        "user_defined_symbols": ["\n"],
    }
