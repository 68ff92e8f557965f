"""BERT's tokenizer as graph operations: the ids of its reference implementation, the package `tokenizers`.

Source: Devlin et al. 2019, "BERT" (arXiv:1810.04805); Song et al. 2021, "Fast WordPiece Tokenization"
(arXiv:2012.15524), whose operation this uses for single words.
"""

import re
from collections.abc import Sequence

import tensorflow as tf
import tensorflow_text as tf_text

from pipelines.support.errors import UserError
from pipelines.support.quiet import capture_stderr_descriptor
from pipelines.text import bert_characters
from pipelines.text.bert_characters import PAGE, REMOVED, SPACE, PagedTable
from pipelines.text.special_tokens import SpecialIds
from pipelines.text.tokenizers import code_points, enclose, without_ids

MAX_CHARACTERS = 100  # a longer word is unknown
MAX_TOKEN_BYTES = 256  # of tf_text's operation
CONTINUES = "##"  # before a token that continues a word
_UNKNOWN_WORD = "\0"  # no text keeps it
# Stand for the names of special tokens while a text is split: code points that are no characters, and are words here.
_MARKS = ("\U000bfffe", "\U000bffff", "\U000cfffe", "\U000cffff", "\U000dfffe")
_NO_MARK = "\U000dffff"  # what becomes of them in a text


class WordPieceTokenizer(tf.Module):
    """Splits a text into words, and each word into the longest tokens of a vocabulary, from left to right.

    A word is what stands between spaces; each mark of punctuation is one, and with `split_cjk` each Han character. A
    word that no tokens make up, or of more than `MAX_CHARACTERS` characters, is one unknown token.

    The names of special tokens in a text are these tokens, as in Hugging Face's tokenizers: "[MASK]" is one token.

    Args:
        vocabulary: the tokens in the order of their ids. If two are equal, the later one counts.
        max_bytes: number of bytes that are read of each text.
        strip_accents: None for the value of `lowercase`, as BERT has it.
        pad, unknown, start, end, blank: the names of the special tokens. A vocabulary without `blank` has none.

    Raises:
        UserError: the vocabulary lacks another special token, or has a token that is too long.
    """

    kind = "wordpiece"

    def __init__(
        self,
        vocabulary: Sequence[str],
        max_bytes: int,
        lowercase: bool = True,
        strip_accents: bool | None = None,
        split_cjk: bool = True,
        pad: str = "[PAD]",
        unknown: str = "[UNK]",
        start: str = "[CLS]",
        end: str = "[SEP]",
        blank: str = "[MASK]",
    ):
        super().__init__()
        self._vocabulary = list(vocabulary)
        self._max_bytes = max_bytes
        self.vocabulary_size = len(self._vocabulary)
        ids = {token: i for i, token in enumerate(self._vocabulary)}
        for name in (pad, unknown, start, end):
            if name not in ids:
                raise UserError(f"the vocabulary has no token {name}: this is no vocabulary of a BERT model")
        self.special = SpecialIds(ids[pad], ids[unknown], ids[start], ids[end], ids.get(blank))
        self._names = (start, end)
        self._marks = {mark: name for mark, name in zip(_MARKS, (pad, unknown, start, end, blank)) if name in ids}
        self._ids_of_marks = tf.constant([ids[name] for name in self._marks.values()], tf.int32)
        self._words = BertWords(max_bytes, lowercase, strip_accents, split_cjk)
        with capture_stderr_descriptor():  # its C++ code writes a log line there
            self._wordpiece = tf_text.FastWordpieceTokenizer(
                _distinct(self._vocabulary, ids),
                suffix_indicator=CONTINUES,
                max_bytes_per_word=4 * MAX_CHARACTERS,
                token_out_type=tf.int32,
                unknown_token=unknown,
                no_pretokenization=True,
            )
        self._strings = tf.constant(self._vocabulary, tf.string)

    def encode(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Returns the ids of the tokens, ragged int32 [batch, (tokens)]."""
        words, pieces = self._pieces(texts)
        return enclose(words.with_values(pieces).merge_dims(1, 2), self.special.start, self.special.end)

    def tokens(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Returns the tokens, ragged string [batch, (tokens)]; an unknown word is returned as it is normalized."""
        words, pieces = self._pieces(texts)
        ids = pieces.flat_values
        of_word = tf.gather(words.flat_values, pieces.value_rowids())
        strings = tf.where(tf.equal(ids, self.special.unknown), of_word, tf.gather(self._strings, ids))
        return enclose(words.with_values(pieces.with_flat_values(strings)).merge_dims(1, 2), *self._names)

    def spell(self, tokens: tf.RaggedTensor) -> tf.RaggedTensor:
        """As `VocabularyTokenizer.spell`; a space is before each token that starts a word."""
        tokens = tokens[:, 1:-1]
        spaced = tf.strings.regex_replace(" " + tokens.flat_values, f"^ {CONTINUES}(.)", r"\1")
        return code_points(tokens.with_flat_values(spaced))

    def decode(self, ids) -> tf.Tensor:
        """Returns the words of ids with spaces between them, string [batch]; of the special tokens only the unknown."""
        ids = without_ids(ids, [id_ for id_ in self.special if id_ not in (None, self.special.unknown)])
        text = tf.strings.reduce_join(
            ids.with_flat_values(tf.gather(self._strings, ids.flat_values)), axis=-1, separator=" "
        )
        return tf.strings.regex_replace(text, f" {CONTINUES}", "")

    def vocabulary(self) -> list[str]:
        """Returns the tokens in the order of their ids."""
        return list(self._vocabulary)

    def shown(self) -> list[str]:
        """Returns the tokens as readers see them: "##" before one that continues a word, which they have."""
        return self.vocabulary()

    def _pieces(self, texts: tf.Tensor) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
        """Returns the words, ragged string [batch, (words)], and the ids of each: ragged int32 [words, (tokens)]."""
        texts = tf.strings.regex_replace(texts, f"[{''.join(_MARKS)}]", _NO_MARK)
        for mark, name in self._marks.items():
            texts = tf.strings.regex_replace(texts, re.escape(name), f" {mark} ")
        words = self._words(texts)
        is_long = tf.strings.length(words.flat_values, unit="UTF8_CHAR") > MAX_CHARACTERS
        pieces = self._wordpiece.tokenize(tf.where(is_long, _UNKNOWN_WORD, words.flat_values))
        is_mark = tf.equal(words.flat_values[:, None], tf.constant(list(self._marks)))  # [words, marks]
        ids = tf.where(is_mark, self._ids_of_marks, -1)
        # A mark is a word that no tokens make up: one unknown token.
        ids = tf.gather(tf.reduce_max(ids, axis=1), pieces.value_rowids())
        return words, pieces.with_flat_values(tf.where(ids >= 0, ids, pieces.flat_values))


class BertWords(tf.Module):
    """Normalizes texts as BERT does and splits them into words. Its arguments are those of `WordPieceTokenizer`."""

    def __init__(self, max_bytes: int, lowercase: bool, strip_accents: bool | None = None, split_cjk: bool = True):
        super().__init__()
        self._max_bytes = max_bytes
        self._strips = lowercase if strip_accents is None else strip_accents
        self._replacements = bert_characters.replacements(lowercase, self._strips)
        self._classes = bert_characters.classes(self._strips, split_cjk)

    def __call__(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Converts string [batch] to ragged string [batch, (words)]. Bytes that are not UTF-8 are left out."""
        # Half of a character becomes U+FFFD, which the table drops.
        codes = tf.strings.unicode_decode(tf.strings.substr(texts, 0, self._max_bytes), "UTF-8", errors="replace")
        num_rows = codes.nrows()
        codes, rows = self._replace(codes.flat_values, codes.value_rowids())  # [characters] each
        found = _look_up(self._classes, codes)
        if self._strips:
            codes, found, rows = _without_accents(codes, found, rows)
        class_ = found % 4
        is_letter = tf.equal(class_, bert_characters.LETTER)
        continues = is_letter[1:] & is_letter[:-1] & tf.equal(rows[1:], rows[:-1])
        starts = tf.concat([tf.ones_like(codes[:1], tf.bool), ~continues], axis=0)
        is_kept = tf.not_equal(class_, SPACE)
        word = tf.cumsum(tf.cast(starts & is_kept, tf.int64))
        codes, word = tf.boolean_mask(codes, is_kept), tf.boolean_mask(word, is_kept) - 1
        word_rows = tf.boolean_mask(rows, starts & is_kept)
        num_words = tf.size(word_rows, tf.int64)
        characters = tf.RaggedTensor.from_value_rowids(codes, word, nrows=num_words, validate=False)
        strings = tf.strings.unicode_encode(characters, "UTF-8")
        return tf.RaggedTensor.from_value_rowids(strings, word_rows, nrows=num_rows, validate=False)

    def _replace(self, codes: tf.Tensor, rows: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns what the characters become, int32 [characters], and their rows in the batch."""
        table = self._replacements
        number = _look_up(table.numbers, codes)
        # The characters themselves stand after the table's in the tensor from which both are gathered.
        own = len(table.codes) + tf.range(tf.size(codes))
        start = tf.where(tf.equal(number, 0), own, tf.gather(table.starts, number))
        places = tf.ragged.range(start, start + tf.gather(table.lengths, number))
        replaced = tf.gather(tf.concat([table.codes, codes], axis=0), places.flat_values)
        return replaced, tf.gather(rows, places.value_rowids())


def _look_up(table: PagedTable, codes: tf.Tensor) -> tf.Tensor:
    """Returns the numbers of characters, int32 with the shape of `codes`."""
    return tf.gather(table.rows.reshape(-1), tf.gather(table.pages, codes // PAGE) * PAGE + codes % PAGE)


def _without_accents(codes: tf.Tensor, found: tf.Tensor, rows: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Puts the combining characters in canonical order and removes the nonspacing marks.

    Args:
        codes, found: characters and what `classes` says of them, int32 [characters].
        rows: int64 [characters].
    """
    combining = found // 4

    def ordered():
        # Characters move between two that do not combine, and those with equal classes keep their order.
        starts = tf.equal(combining, 0) | tf.concat([[True], tf.not_equal(rows[1:], rows[:-1])], axis=0)
        number = tf.range(tf.size(codes, tf.int64))
        keys = tf.cumsum(tf.cast(starts, tf.int64)) * 256 + tf.cast(combining, tf.int64)
        order = tf.sort(keys * tf.size(codes, tf.int64) + number) % tf.size(codes, tf.int64)
        return tf.gather(codes, order), tf.gather(found, order)

    falls = (combining[1:] < combining[:-1]) & (combining[1:] > 0) & tf.equal(rows[1:], rows[:-1])
    codes, found = tf.cond(tf.reduce_any(falls), ordered, lambda: (codes, found))  # in few texts
    is_kept = tf.not_equal(found % 4, REMOVED)
    return tuple(tf.boolean_mask(values, is_kept) for values in (codes, found, rows))


def _distinct(vocabulary: Sequence[str], ids: dict[str, int]) -> list[str]:
    """Returns the vocabulary for tf_text's operation: tokens that no word has take the place of those it refuses."""
    tokens = []
    for i, token in enumerate(vocabulary):
        if len(token.removeprefix(CONTINUES).encode()) > MAX_TOKEN_BYTES:
            raise UserError(f"the vocabulary has a token of more than {MAX_TOKEN_BYTES} bytes: {token[:60]}...")
        is_used = ids[token] == i and token not in ("", CONTINUES)
        tokens.append(token if is_used else f" {i}")  # words have no spaces
    return tokens
