"""Words and sentences of raw texts, with their positions, as graph operations: the first step of a tagger.

All work is done on the characters of all texts of a batch in one row:

    characters    "It's", " ", "here" ...     the code points of the batch
    chunks        "It's"  "here."             what stands between white space
    tokens        "It" "'s"  "here" "."       each chunk divided by regular expressions that put spaces into it

The tokens contain each character that is not white space once and in order, so the position of a token is the number
of these characters before it, looked up in the positions of these characters in their texts. Invisible characters are
left out before that, and stand in a token again if the token stands on both sides of them.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
import tensorflow as tf

from pipelines.text import english_words, invisible
from pipelines.text.normalization import valid_utf8
from pipelines.text.sentences import SentenceRule

Kind = Literal["english", "unicode", "whitespace"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Spans = Sequence[tuple[int, int] | None]  # start and end of each token in its text; None: it is not in the text

# Unicode's property White_Space; and of the characters of width zero, those that separate for older runs.
_SPACES = [*range(9, 14), 32, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200C), 0x2028, 0x2029, 0x202F, 0x205F]
_SPACES += [0x3000, 0xFEFF]
_INVISIBLE = [*map(ord, invisible.CHARACTERS)]
_MAX_CHARACTERS = 500  # of a word, except between white space
_BATCH_SIZE, _MAX_EXAMPLES = 500, 2000  # texts
_HANDICAP = 0.1  # see `choose_splitter`

_MARKS = r"[\p{M}\x{1F3FB}-\x{1F3FF}]*"  # combining marks and skin tones belong to the character before them
_NO_SPACES = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"  # scripts without spaces
_LETTER = rf"[^\P{{L}}{_NO_SPACES}]"  # a letter of another script
_UNICODE_WORD = "|".join(
    [
        # A joiner in a word (Persian, Indic scripts) is a part of it.
        rf"(?:{_LETTER}|\p{{N}})(?:{_LETTER}|['\x{{2019}}]{_LETTER}|[\p{{M}}\p{{N}}\x{{200C}}\x{{200D}}])*",
        r"[\x{1F1E6}-\x{1F1FF}]{2}",  # a flag
        rf".{_MARKS}(?:\x{{200D}}.{_MARKS})*",  # a symbol, a sequence of joined emoji, a character without spaces
    ]
)


class Words(NamedTuple):
    """The words of texts. All but the characters are ragged, [batch, (tokens)].

    Attributes:
        tokens: string; as in the text.
        start: int32; the position of the first character of each token. Positions count Unicode characters (code
            points) of the text as it was sent. A byte that is not UTF-8 is no character: `start` is an index into what
            `bytes.decode("utf-8", errors="ignore")` returns.
        end: int32; the position after the last character.
        sentence: int32; the number of the token's sentence in its text, from 0.
        characters: int32 [batch, (characters)]; the code points that positions count, and a line end after each text.
    """

    tokens: tf.RaggedTensor
    start: tf.RaggedTensor
    end: tf.RaggedTensor
    sentence: tf.RaggedTensor
    characters: tf.RaggedTensor


class WordSplitter(tf.Module):
    """Divides raw texts into words with their positions, and numbers the sentences.

    Args:
        kind: "english" (the words of the Penn Treebank and of Universal Dependencies: `do n't`, `Mr.`, `third -
            party`), "unicode" (runs of letters and digits; each other character is a word, and so is each character of
            a script without spaces) or "whitespace" (what stands between white space).
        max_bytes: number of bytes that are read of each text.
        removes_invisible: whether the words are those of the text without its invisible characters (invisible.py).
    """

    def __init__(self, kind: Kind, max_bytes: int, removes_invisible: bool = True):
        super().__init__()
        self.kind = kind
        self._removes_invisible = removes_invisible
        self._max_bytes = max_bytes
        self._number_sentences = SentenceRule(kind)

    def __call__(self, texts: tf.Tensor) -> Words:
        """Divides string [batch]. A text of white space has no tokens."""
        # With a line end after each text, no chunk reaches into the next text.
        texts = tf.strings.join([valid_utf8(texts, self._max_bytes), "\n"])
        characters = tf.strings.unicode_decode(texts, "UTF-8")
        all_codes = codes = characters.flat_values  # [characters]
        if self._removes_invisible:
            kept = tf.where(~_is_in(_INVISIBLE, codes))[:, 0]  # indices of the characters that are read
            codes = tf.gather(codes, kept)
        visible = tf.where(~_is_in(_SPACES, codes))[:, 0]  # indices of the characters of the tokens
        tokens = self._divide(codes, visible)  # string [tokens]

        length = tf.cast(tf.strings.length(tokens, unit="UTF8_CHAR"), tf.int64)
        first = tf.gather(visible, tf.cumsum(length, exclusive=True))  # index of the first character
        begin, end = first, first + length  # in the batch with all its characters
        if self._removes_invisible:
            begin, end = tf.gather(kept, begin), tf.gather(kept, end - 1) + 1
        row = tf.searchsorted(characters.row_splits, begin, side="right", out_type=tf.int64) - 1
        sentence = self._number_sentences(codes, tokens, row, first, first + length)
        if self._removes_invisible:
            tokens = characters_between(all_codes, begin, end)
        ragged = tf.RaggedTensor.from_value_rowids(tokens, row, characters.nrows(), validate=False)
        offset = tf.gather(characters.row_starts(), row)
        start, end = (ragged.with_flat_values(tf.cast(each - offset, tf.int32)) for each in (begin, end))
        return Words(ragged, start, end, ragged.with_flat_values(sentence), characters)

    def _divide(self, codes: tf.Tensor, visible: tf.Tensor) -> tf.Tensor:
        """Returns the tokens of all texts, string [tokens]."""
        codes = tf.gather(codes, visible)
        starts_chunk = tf.concat([tf.ones_like(visible[:1], tf.bool), visible[1:] != visible[:-1] + 1], axis=0)
        starts = tf.where(starts_chunk)[:, 0]
        if self.kind != "whitespace":
            # The regular expressions do not see what is longer: their work grows with the square of the length.
            chunk = tf.cumsum(tf.cast(starts_chunk, tf.int32)) - 1
            position = tf.range(tf.size(visible, tf.int64)) - tf.gather(starts, chunk)
            starts = tf.where(position % _MAX_CHARACTERS == 0)[:, 0]
        chunks = tf.RaggedTensor.from_row_starts(codes, starts, validate=False)
        chunks = tf.strings.unicode_encode(chunks, "UTF-8")
        if self.kind == "whitespace":
            return chunks
        if self.kind == "unicode":
            marked = tf.strings.regex_replace(chunks, _UNICODE_WORD, r"\0 ")
        else:
            marked = english_words.mark_words(chunks)
        return tf.strings.split(marked).flat_values


def rebuilt_fraction(splitter: WordSplitter, texts: Sequence[str], spans: Sequence[Spans]) -> float:
    """Returns the share of the tokens of annotated texts that the splitter finds with the same start and end.

    Args:
        splitter: called in batches.
        texts: the raw text of each sentence; at least one.
        spans: for each text, the positions of its tokens. A token that is not in the text as it is counts as not found.
    """
    num_found = 0
    for first in range(0, len(texts), _BATCH_SIZE):
        words = splitter(tf.constant(texts[first : first + _BATCH_SIZE], tf.string))
        rows = zip(words.start.to_list(), words.end.to_list(), spans[first : first + _BATCH_SIZE], strict=True)
        num_found += sum(len({*zip(start, end, strict=True)} & set(expected)) for start, end, expected in rows)
    return num_found / sum(map(len, spans))


def choose_splitter(texts: Sequence[str], spans: Sequence[Spans]) -> tuple[Kind, dict[Kind, float]]:
    """Returns the kind of splitter that finds most tokens of annotated texts, and the share that each kind finds.

    A corpus of tokens alone has no raw text but its tokens with a space between them. There, "whitespace" finds all
    tokens, which shows nothing about raw text. So it is chosen only if it finds a tenth of all tokens more than the
    others do, as with the words of a language that has its own rules.

    Args:
        texts: as of `rebuilt_fraction`. At most 2,000 of them are read, evenly spaced.
        spans: as of `rebuilt_fraction`.
    """
    rows = np.linspace(0, len(texts) - 1, min(len(texts), _MAX_EXAMPLES)).astype(int)
    texts, spans = [texts[row] for row in rows], [spans[row] for row in rows]
    max_bytes = max(len(text.encode()) for text in texts)
    shares = {kind: rebuilt_fraction(WordSplitter(kind, max_bytes), texts, spans) for kind in KINDS}
    return max(KINDS, key=lambda kind: shares[kind] - _HANDICAP * (kind == "whitespace")), shares


def characters_between(codes: tf.Tensor, begin: tf.Tensor, end: tf.Tensor) -> tf.Tensor:
    """Returns the characters from each index `begin` up to the index `end`, string [n]."""
    index = tf.ragged.range(begin, end)
    return tf.strings.unicode_encode(index.with_flat_values(tf.gather(codes, index.flat_values)), "UTF-8")


def _is_in(characters: list[int], codes: tf.Tensor) -> tf.Tensor:
    """Returns which of the code points are some characters, bool [n]."""
    table = np.isin(np.arange(max(characters) + 2), characters)
    return tf.gather(tf.constant(table), tf.minimum(codes, len(table) - 1))
