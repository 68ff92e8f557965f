"""Tokenizers that live in the graph: the object that trains is the object that serves.

Every tokenizer has the same six things:

    encode(texts)      string [batch] -> ragged int32 [batch, (tokens)], from START to END
    tokens(texts)      the same as strings; a token that is not in the vocabulary as it stands in the text
    decode(ids)        int32 [batch, tokens] or ragged -> string [batch]; special ids leave no trace
    vocabulary()       the tokens in the order of their ids
    vocabulary_size    how many there are
    save(folder)       writes what `load(folder)` needs

and special ids that are the same everywhere. An empty text is START and END: no sequence has zero tokens.
"""

import collections
import io
import itertools
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import tensorflow as tf
import tensorflow_text as tf_text

from pipelines import batching
from pipelines.errors import UserError
from pipelines.files import read_json, write_json
from pipelines.normalization import Normalizer, valid_utf8
from pipelines.quiet import descriptor_2_caught

PAD, UNKNOWN, START, END = range(4)
_SENTENCEPIECE = ("subword", "cased", "pieces")
SPECIAL_TOKENS = ("<pad>", "<unknown>", "<start>", "<end>")

# Letters, digits and apostrophes make words; anything else that is not a space stands alone, as does each character of a
# script written without spaces.
_ALONE = r"([^\p{L}\p{M}\p{N}'\s]|[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}])"


class VocabularyTokenizer(tf.Module):
    """Splits into words or characters and looks each one up in a vocabulary.

    Args:
        kind: "word" (normalised text; punctuation marks are words), "spaced" (the text as it is, cut at spaces; a line's end is a
            word) or "character" (the text as it is).
        tokens: the vocabulary without the special tokens, as UTF-8 bytes.
        max_bytes: bytes that are read of each text.
    """

    def __init__(self, kind: str, tokens: list[bytes], max_bytes: int):
        super().__init__()
        self.kind = kind
        self._tokens = [token.encode() for token in SPECIAL_TOKENS] + list(tokens)
        self._max_bytes = max_bytes
        self.vocabulary_size = len(self._tokens)
        self._split = Splitter(kind, max_bytes)
        # The special tokens are kept out of the table: "<end>" in a review is text.
        ids = np.arange(len(SPECIAL_TOKENS), self.vocabulary_size, dtype=np.int32)
        # A table needs one entry: with no tokens at all it gets one that no text contains.
        initializer = tf.lookup.KeyValueTensorInitializer(
            tf.constant(list(tokens) or [b"\0"], tf.string), tf.constant(ids if len(ids) else [UNKNOWN], tf.int32)
        )
        self._ids = tf.lookup.StaticHashTable(initializer, UNKNOWN)
        written = [b""] * len(SPECIAL_TOKENS) + list(tokens)
        self._written = tf.constant(written, tf.string)

    def encode(self, texts: tf.Tensor) -> tf.RaggedTensor:
        pieces = self._split(texts)
        return _between_marks(pieces.with_flat_values(self._ids.lookup(pieces.flat_values)), START, END)

    def tokens(self, texts: tf.Tensor) -> tf.RaggedTensor:
        return _between_marks(self._split(texts), SPECIAL_TOKENS[START], SPECIAL_TOKENS[END])

    def decode(self, ids) -> tf.Tensor:
        ids = _ragged(ids)
        ids = tf.ragged.boolean_mask(ids, ids > END)
        pieces = ids.with_flat_values(tf.gather(self._written, ids.flat_values))
        text = tf.strings.reduce_join(pieces, axis=-1, separator="" if self.kind == "character" else " ")
        return tf.strings.regex_replace(text, r" ?\n ?", "\n") if self.kind == "spaced" else text

    def vocabulary(self) -> list[str]:
        return [token.decode() for token in self._tokens]

    def save(self, folder: Path) -> None:
        tokens = self.vocabulary()[len(SPECIAL_TOKENS) :]
        write_json(Path(folder) / "tokenizer.json", {"kind": self.kind, "max_bytes": self._max_bytes, "tokens": tokens})


class SubwordTokenizer(tf.Module):
    """SentencePiece (Kudo and Richardson 2018, arXiv:1808.06226).

    Args:
        kind: "subword" (normalised text), "cased" (in NFKC alone) or "pieces" (the text as it is, spaces and line ends included).
        model: a serialized SentencePiece model with this module's special ids.
        max_bytes: bytes that are read of each text.
    """

    def __init__(self, kind: str, model: bytes, max_bytes: int):
        super().__init__()
        self.kind = kind
        self._model = model
        self._max_bytes = max_bytes
        self._normalize = _normalizer(kind, max_bytes)
        self._pieces = tf_text.SentencepieceTokenizer(model, out_type=tf.int32)
        self.vocabulary_size = int(self._pieces.vocab_size())

    def encode(self, texts: tf.Tensor) -> tf.RaggedTensor:
        return _between_marks(self._pieces.tokenize(self._normalize(texts)), START, END)

    def tokens(self, texts: tf.Tensor) -> tf.RaggedTensor:
        ids = self._pieces.tokenize(self._normalize(texts))
        pieces = ids.with_flat_values(self._pieces.id_to_string(ids.flat_values))
        return _between_marks(pieces, SPECIAL_TOKENS[START], SPECIAL_TOKENS[END])

    def decode(self, ids) -> tf.Tensor:
        ids = _ragged(ids)
        return self._pieces.detokenize(tf.ragged.boolean_mask(ids, ids > END))

    def vocabulary(self) -> list[str]:
        pieces = self._pieces.id_to_string(tf.range(len(SPECIAL_TOKENS), self.vocabulary_size)).numpy()
        return [*SPECIAL_TOKENS, *(piece.decode() for piece in pieces)]

    def save(self, folder: Path) -> None:
        (Path(folder) / "sentencepiece.model").write_bytes(self._model)
        write_json(Path(folder) / "tokenizer.json", {"kind": self.kind, "max_bytes": self._max_bytes})


Tokenizer = VocabularyTokenizer | SubwordTokenizer


class Sampler:
    """Cuts texts into other pieces each time: subword regularisation (Kudo 2018, arXiv:1804.10959).

    Of the ways to cut a word, the most likely _WAYS of them, one is drawn with chance p(pieces)^alpha, p as the SentencePiece model has
    it; no piece reaches from one word into the next. (SentencePiece can sample as well, but its seed does not hold from one
    process to the next.)

    Args:
        tokenizer: whose pieces they are.
        texts: to be cut.
        alpha: above 0.
    """

    _WAYS = 16

    def __init__(self, tokenizer: SubwordTokenizer, texts: np.ndarray, alpha: float):
        import sentencepiece

        words = [text.decode().split() for batch in _in_batches(texts) for text in tokenizer._normalize(batch).numpy()]
        flat = [word for row in words for word in row]
        different = dict(zip(dict.fromkeys(flat), itertools.count()))
        self._words = np.array([different[word] for word in flat], np.int64)
        self._rows = np.repeat(np.arange(len(words)), [len(row) for row in words])
        self._texts = len(words)

        pieces = sentencepiece.SentencePieceProcessor(model_proto=tokenizer._model)
        scores = [pieces.get_score(piece) for piece in range(tokenizer.vocabulary_size)]  # logarithms of p
        ways, self._chances = [], np.zeros((len(different), self._WAYS))
        for i, word in enumerate(different):
            found = pieces.nbest_encode(word, nbest_size=self._WAYS)
            logs = np.array([sum(scores[piece] for piece in way) for way in found])
            likelihoods = np.exp(alpha * (logs - logs.max()))
            self._chances[i, : len(found)] = likelihoods / likelihoods.sum()
            ways += found + [[]] * (self._WAYS - len(found))
        self._ways = tf.ragged.constant(ways, tf.int32, row_splits_dtype=tf.int64)
        self._chances = self._chances.cumsum(axis=1)

    def __call__(self, seed) -> tf.RaggedTensor:
        """The pieces of each text, int32 [texts, (pieces)]; the same for the same seed (anything that NumPy takes for one)."""
        chance = np.random.default_rng(seed).random(len(self._words))
        way = (self._chances[self._words] < chance[:, None]).sum(axis=1)
        by_word = tf.gather(self._ways, self._words * self._WAYS + np.minimum(way, self._WAYS - 1))
        lengths = np.bincount(self._rows, weights=by_word.row_lengths(), minlength=self._texts)
        return tf.RaggedTensor.from_row_lengths(by_word.flat_values, lengths.astype(np.int64))


class Splitter(tf.Module):
    """Text -> its words or characters, before any vocabulary: string [batch] -> ragged string [batch, (pieces)]."""

    def __init__(self, kind: str, max_bytes: int):
        super().__init__()
        self._kind = kind
        self._max_bytes = max_bytes
        self._normalize = Normalizer(max_bytes)
        self._spaces = tf_text.WhitespaceTokenizer()

    def __call__(self, texts: tf.Tensor) -> tf.RaggedTensor:
        if self._kind == "character":
            return tf.strings.unicode_split(valid_utf8(texts, self._max_bytes), "UTF-8")
        if self._kind == "spaced":
            words = tf.strings.split(tf.strings.regex_replace(valid_utf8(texts, self._max_bytes), "\n", " \n "), " ")
            return tf.ragged.boolean_mask(words, words != "")
        return self._spaces.tokenize(tf.strings.regex_replace(self._normalize(texts), _ALONE, r" \1 "))


def train(kind: str, texts: Iterable[str], vocabulary_size: int, max_bytes: int) -> Tokenizer:
    """Learns a tokenizer from training texts.

    Args:
        kind: "word", "spaced", "character", "subword", "cased" or "pieces".
        texts: read once, in constant memory.
        vocabulary_size: tokens in all, the special ones included; fewer where the texts do not have as many.
        max_bytes: bytes that are read of each text, now and later.
    """
    if kind in _SENTENCEPIECE:
        return SubwordTokenizer(kind, _train_sentencepiece(kind, texts, vocabulary_size, max_bytes), max_bytes)
    # A word seen once teaches nothing that lasts; left out, it gives the unknown token something to learn from.
    tokens = _most_frequent(Splitter(kind, max_bytes), texts, vocabulary_size, least=1 if kind == "character" else 2)
    return VocabularyTokenizer(kind, tokens, max_bytes)


def load(folder: Path) -> Tokenizer:
    """The tokenizer that `save` wrote to `folder`."""
    saved = read_json(Path(folder) / "tokenizer.json")
    if saved["kind"] in _SENTENCEPIECE:
        return SubwordTokenizer(saved["kind"], (Path(folder) / "sentencepiece.model").read_bytes(), saved["max_bytes"])
    return VocabularyTokenizer(saved["kind"], [token.encode() for token in saved["tokens"]], saved["max_bytes"])


def encode_all(tokenizer: Tokenizer, texts: np.ndarray, batch_size: int = 1000) -> tf.RaggedTensor:
    """Encodes texts once for all epochs: ragged int32 [n, (tokens)], in the order of `texts`."""
    encode = tf.function(tokenizer.encode, input_signature=[tf.TensorSpec([None], tf.string)])
    batches = tf.data.Dataset.from_tensor_slices(tf.constant(texts, tf.string)).batch(batch_size)
    encoded = batches.map(encode, num_parallel_calls=batching.READERS)
    return tf.concat(list(batching.prefetched(encoded)), axis=0)


def window(ids: tf.RaggedTensor, max_tokens: int) -> tf.RaggedTensor:
    """At most `max_tokens` of each row; of a longer row its start and its end, half each."""
    head = max_tokens // 2
    lengths = ids.row_lengths()
    kept = tf.minimum(lengths, max_tokens)
    position = tf.ragged.range(kept)
    left_out = tf.gather(lengths - kept, position.value_rowids())
    jump = tf.where(position.flat_values >= head, left_out, 0)
    source = tf.gather(ids.row_starts(), position.value_rowids()) + position.flat_values + jump
    return position.with_flat_values(tf.gather(ids.flat_values, source))


def _between_marks(tokens: tf.RaggedTensor, start, end) -> tf.RaggedTensor:
    return tf.concat([tf.fill([tokens.nrows(), 1], start), tokens, tf.fill([tokens.nrows(), 1], end)], axis=1)


def _ragged(ids) -> tf.RaggedTensor:
    return ids if isinstance(ids, tf.RaggedTensor) else tf.RaggedTensor.from_tensor(tf.cast(ids, tf.int32))


def _in_batches(texts: Iterable[str]):
    texts = iter(texts)
    while batch := list(itertools.islice(texts, 1000)):
        yield tf.constant(batch, tf.string)


def _most_frequent(split: Splitter, texts: Iterable[str], vocabulary_size: int, least: int) -> list[bytes]:
    pieces_of = tf.function(split.__call__, input_signature=[tf.TensorSpec([None], tf.string)])
    counts = collections.Counter()
    for batch in _in_batches(texts):
        counts.update(pieces_of(batch).flat_values.numpy().tolist())
    # By frequency, ties by spelling: the same texts in any order give the same ids.
    ranked = sorted((token for token, count in counts.items() if count >= least), key=lambda t: (-counts[t], t))
    return ranked[: vocabulary_size - len(SPECIAL_TOKENS)]


def _normalizer(kind: str, max_bytes: int):
    if kind == "subword":
        return Normalizer(max_bytes)
    if kind == "cased":
        return lambda texts: tf_text.normalize_utf8(valid_utf8(texts, max_bytes), "NFKC")
    return lambda texts: valid_utf8(texts, max_bytes)


def _train_sentencepiece(kind: str, texts: Iterable[str], vocabulary_size: int, max_bytes: int) -> bytes:
    import sentencepiece  # here: the other tokenizers do without

    normalize = _normalizer(kind, max_bytes)
    as_it_is = dict(
        normalization_rule_name="identity", remove_extra_whitespaces=False, add_dummy_prefix=False, user_defined_symbols=["\n"]
    )  # fmt: skip

    def sentences():
        for batch in _in_batches(texts):
            for text in normalize(batch).numpy():
                yield text.decode()

    model = io.BytesIO()
    options = dict(
        vocab_size=vocabulary_size, hard_vocab_limit=False,
        model_type="unigram", character_coverage=0.9995, max_sentence_length=max_bytes * 4,
        pad_id=PAD, unk_id=UNKNOWN, bos_id=START, eos_id=END,
        pad_piece=SPECIAL_TOKENS[PAD], unk_piece=SPECIAL_TOKENS[UNKNOWN],
        bos_piece=SPECIAL_TOKENS[START], eos_piece=SPECIAL_TOKENS[END],
        num_threads=1,  # the same texts give the same pieces
        minloglevel=2,
        **(as_it_is if kind == "pieces" else dict(normalization_rule_name="nfkc")),
    )  # fmt: skip
    try:
        with descriptor_2_caught():  # its C++ writes a log line there
            sentencepiece.SentencePieceTrainer.train(sentence_iterator=sentences(), model_writer=model, **options)
    except RuntimeError as error:
        characters = re.search(r"required_chars\. \d+ vs (\d+)", str(error))
        if characters:
            raise UserError(
                f"--vocabulary-size {vocabulary_size}: these texts have so many different characters that it must be {characters[1]} or more"
            ) from error
        raise
    return model.getvalue()
