import csv
import itertools
import lzma
import random

import numpy as np
import pytest
import tensorflow as tf

from pipelines.support.errors import UserError
from pipelines.text.wordpiece import BertWords, WordPieceTokenizer
from tests.conftest import CORPORA

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
VOCABULARY = [
    *SPECIAL,
    "un",
    "##aff",
    "##able",
    "the",
    "cat",
    "##s",
    ",",
    "!",
    "[",
    "]",
    "mask",
    "\u4e2d",
    "caf",
    "##e",
]
PAD, UNKNOWN, START, END, BLANK = range(5)


@pytest.fixture(scope="module")
def tokenizer():
    return WordPieceTokenizer(VOCABULARY, max_bytes=200)


def names(tokenizer, text):
    return [tokenizer.vocabulary()[i] for i in tokenizer.encode(tf.constant([text])).to_list()[0]]


def reference(vocabulary, lowercase, strip_accents=None):
    """The reference, which also finds special tokens in a text."""
    package = pytest.importorskip("tokenizers")
    ids = {token: i for i, token in enumerate(vocabulary)}
    model = package.models.WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=100)
    tokenizer = package.Tokenizer(model)
    tokenizer.normalizer = package.normalizers.BertNormalizer(lowercase=lowercase, strip_accents=strip_accents)
    tokenizer.pre_tokenizer = package.pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(SPECIAL)
    return tokenizer


def test_words_are_split_into_the_longest_tokens(tokenizer):
    assert names(tokenizer, "Unaffable caf\u00c9, the cats!") == [
        "[CLS]", "un", "##aff", "##able", "caf", "##e", ",", "the", "cat", "##s", "!", "[SEP]",
    ]  # fmt: skip
    assert names(tokenizer, "the dog\u4e2dcat") == ["[CLS]", "the", "[UNK]", "\u4e2d", "cat", "[SEP]"]


def test_the_special_ids_are_those_of_the_vocabulary(tokenizer):
    assert tokenizer.special == (PAD, UNKNOWN, START, END, BLANK) and tokenizer.vocabulary_size == len(VOCABULARY)
    other = WordPieceTokenizer(["the", *SPECIAL[:4]], 200)
    assert other.special == (1, 2, 3, 4, None)
    assert other.encode(tf.constant(["the", ""])).to_list() == [[3, 0, 4], [3, 4]]
    renamed = WordPieceTokenizer(["<s>", "<p>", "</s>", "?"], 9, pad="<p>", unknown="?", start="<s>", end="</s>")
    assert renamed.encode(tf.constant(["x"])).to_list() == [[0, 3, 2]]


def test_special_tokens_in_a_text_are_special_tokens(tokenizer):
    assert names(tokenizer, "[MASK]") == ["[CLS]", "[MASK]", "[SEP]"]
    assert names(tokenizer, "the[MASK],[SEP] [mask]")[1:5] == ["the", "[MASK]", ",", "[SEP]"]
    assert names(tokenizer, "the \U000bfffe")[2] == "[UNK]"


def test_tokens_that_are_not_in_the_vocabulary_are_returned_as_they_are_normalized(tokenizer):
    tokens = tokenizer.tokens(tf.constant(["The D\u00d6G, cats", ""])).to_list()
    assert tokens == [[b"[CLS]", b"the", b"dog", b",", b"cat", b"##s", b"[SEP]"], [b"[CLS]", b"[SEP]"]]


def test_decode_and_spell_join_the_tokens_of_a_word(tokenizer):
    texts = tf.constant(["The cats, unaffable dog!", ""])
    ids = tokenizer.encode(texts)
    expected = [b"the cat##s , un##aff##able [UNK] !".replace(b"##", b""), b""]
    assert tokenizer.decode(ids).numpy().tolist() == expected
    assert tokenizer.decode(ids.to_tensor(PAD)).numpy().tolist() == expected
    spelled = ["".join(map(chr, row)) for row in tokenizer.spell(tokenizer.tokens(texts)).to_list()]
    assert spelled == [" the cats , unaffable dog ! ", " "]


def test_a_word_of_more_than_100_characters_is_unknown():
    tokenizer = WordPieceTokenizer([*SPECIAL, "\u00e9", "##\u00e9"], 1000, strip_accents=False)
    for length, count in ((100, 100), (101, 1)):
        ids = tokenizer.encode(tf.constant(["\u00e9" * length])).to_list()[0]
        assert len(ids) == count + 2 and (ids[1] == UNKNOWN) == (count == 1)


def test_bytes_that_are_not_utf8_are_left_out_and_texts_are_cut(tokenizer):
    texts = [b"the\xff cat\xed\xa0\x80s \xe4\xb8", b"\xff", "the \u4e2d".encode(), b"the " * 100]
    rows = tokenizer.encode(tf.constant(texts)).to_list()
    assert rows[0] == tokenizer.encode(tf.constant(["the cats"])).to_list()[0] and rows[1] == [START, END]
    assert len(rows[3]) == 52
    cut = WordPieceTokenizer(VOCABULARY, max_bytes=6)
    assert cut.encode(tf.constant(texts)).to_list()[2] == [START, VOCABULARY.index("the"), END]


def test_marks_are_put_in_canonical_order_within_their_row():
    # U+302E is a mark that stays, and moves behind one of a lower class.
    words = BertWords(100, lowercase=True)
    rows = words(tf.constant(["a\u302e\u1d165\u302e\u3099 \u0301", "\u0315\u0300b", "\u0300"])).to_list()
    assert rows[1:] == [[b"b"], []]


def test_other_texts_in_the_batch_change_nothing(tokenizer):
    texts = hostile(50)
    batch = tokenizer.encode(tf.constant(texts)).to_list()
    assert [tokenizer.encode(tf.constant([text])).to_list()[0] for text in texts] == batch
    assert tokenizer.encode(tf.constant([], tf.string)).shape[0] == 0


def test_an_export_takes_strings(tokenizer, tmp_path):
    module = tf.Module()
    module.tokenizer = tokenizer
    module.encode = tf.function(
        lambda texts: tokenizer.encode(texts).to_tensor(),
        input_signature=[tf.TensorSpec([None], tf.string)],
        autograph=False,
    )
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path)).encode(tf.constant(["Caf\u00e9 cats", "\u0315\u0300the"]))
    assert (
        loaded.numpy().tolist() == tokenizer.encode(tf.constant(["Caf\u00e9 cats", "the"])).to_tensor().numpy().tolist()
    )


def test_equal_and_empty_tokens_of_a_vocabulary_keep_their_ids():
    tokenizer = WordPieceTokenizer([*SPECIAL, "the", "", "##", "the"], 100)
    assert tokenizer.encode(tf.constant(["the #"])).to_list() == [[START, 8, UNKNOWN, END]]


@pytest.mark.parametrize(
    ("vocabulary", "message"),
    [(SPECIAL[2:], r"has no token \[PAD\]"), ([*SPECIAL, "a" * 257], "more than 256 bytes: aaa")],
)
def test_other_vocabularies_are_refused(vocabulary, message):
    with pytest.raises(UserError, match=message):
        WordPieceTokenizer(vocabulary, 100)


_BLOCKS = [
    (0x20, 0x7F), (0xA0, 0x24F), (0x300, 0x36F), (0x370, 0x3FF), (0x400, 0x52F), (0x590, 0x6FF), (0x900, 0xDFF),
    (0xE00, 0xFFF), (0x1100, 0x11FF), (0x1AB0, 0x1AFF), (0x1DC0, 0x1FFF), (0x2000, 0x206F), (0x20A0, 0x2BFF),
    (0x2E00, 0x2E7F), (0x3000, 0x30FF), (0x3400, 0x34FF), (0x4E00, 0x4FFF), (0xA640, 0xA7FF), (0xAC00, 0xACFF),
    (0xE000, 0xE0FF), (0xF900, 0xFAFF), (0xFB00, 0xFFFF), (0x10000, 0x11FFF), (0x16A00, 0x16FFF), (0x1BC00, 0x1BCFF),
    (0x1D100, 0x1D1FF), (0x1E000, 0x1E9FF), (0x1F300, 0x1F6FF), (0x20000, 0x2000F), (0x2B920, 0x2B92F),
    (0xE0000, 0xE01FF), (0xF0000, 0xF000F), (0x10FFF0, 0x10FFFF), (0, 0x1F), (0x7F, 0x9F), (0x378, 0x10FFFF),
]  # fmt: skip
_PIECES = [
    "\u0130stanbul", "\u0131", "\u039f\u0394\u039f\u03a3", "\u03a3", "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\u00a0", "\u3000", "\u200b", "\ufeff", "\u202e", "\ufffd", "\0", "\r\n", "\x85", "a" * 100, "b" * 101,
    "\u0315\u0300\u031b", "\u302e\u0334", "\U0001d15f\U0001d16d\U0001d165", "[SEP]", "[MASK]", "##s", "\uffff",
    "\ufdd0", "\u1e9e\u00df", "\u01c5", "\ufb01", "e\u0301\u0323", "\u1112\u1161\u11ab", "don't", "...", "$", "\u20ac",
]  # fmt: skip


def hostile(count):
    rng = random.Random(1)

    def piece():
        if rng.random() < 0.2:
            return rng.choice(_PIECES)
        block = rng.choice(_BLOCKS)
        codes = (rng.randint(*block) for _ in range(rng.randint(1, 5)))
        return "".join(chr(code) for code in codes if not 0xD800 <= code < 0xE000) + rng.choice(["", "", " ", "x"])

    return ["".join(piece() for _ in range(rng.randint(1, 20))) for _ in range(count)]


def real(count):
    """Texts of as many corpora as there are: reviews, sentences and tweets of several languages."""
    if not (CORPORA / "imdb").exists():
        pytest.skip("the corpora are not on this machine")

    def cells(path, limit=None):
        with lzma.open(path, "rt", encoding="utf-8", newline="") as file:
            yield from (row[0] for row in itertools.islice(csv.reader(file), 1, limit))

    with lzma.open(CORPORA / "tatoeba" / "spa.txt.xz", "rt", encoding="utf-8") as file:
        pairs = [side for line in itertools.islice(file, 10_000) for side in line.rstrip("\n").split("\t")[:2]]
    columns = [cells(path, 6000) for path in sorted((CORPORA / "classification").glob("*.csv.xz"))]
    reviews = (text for text in cells(CORPORA / "imdb" / "train.csv.xz"))
    sentences = (sentence for text in reviews for sentence in text.split(". "))
    return list(itertools.islice(itertools.chain(*columns, pairs, sentences), count))


def bert_vocabulary():
    path = CORPORA / "bert_uncased_vocab.txt"
    if not path.exists():
        pytest.skip("BERT's vocabulary is not on this machine")
    return path.read_text(encoding="utf-8").splitlines()


def differing(vocabulary, texts, **flags):
    encode = tf.function(
        WordPieceTokenizer(vocabulary, 1_000_000, **flags).encode,
        input_signature=[tf.TensorSpec([None], tf.string)],
        autograph=False,
    )
    expected = reference(vocabulary, flags["lowercase"], flags.get("strip_accents"))
    wrong = []
    for start in range(0, len(texts), 500):
        batch = texts[start : start + 500]
        for text, row, other in zip(batch, encode(tf.constant(batch)).to_list(), expected.encode_batch(batch)):
            if row[1:-1] != other.ids:
                wrong.append(text)
    return wrong


FLAGS = [
    {"lowercase": True},
    {"lowercase": False},
    {"lowercase": True, "strip_accents": False},
    {"lowercase": False, "strip_accents": True},
]


@pytest.mark.parametrize("flags", FLAGS, ids=str)
def test_hostile_texts_have_the_ids_of_the_reference(flags):
    # A vocabulary of single characters tells every character of the normalized texts apart.
    texts = hostile(500)
    words = {word for text in texts for word, _ in reference_words(text, flags)}
    characters = sorted({character for word in words for character in word})
    vocabulary = [*SPECIAL, *characters, *(f"##{character}" for character in characters)]
    assert differing(vocabulary, texts, **flags) == []


def reference_words(text, flags):
    tokenizer = reference(SPECIAL, flags["lowercase"], flags.get("strip_accents"))
    return tokenizer.pre_tokenizer.pre_tokenize_str(tokenizer.normalizer.normalize_str(text))


@pytest.mark.long
@pytest.mark.parametrize(
    "flags", [*FLAGS[:2], *(pytest.param(flags, marks=pytest.mark.exhaustive) for flags in FLAGS[2:])], ids=str
)
def test_10_000_hostile_texts_have_the_ids_of_the_reference(flags):
    texts = hostile(10_000)
    words = {word for text in texts for word, _ in reference_words(text, flags)}
    characters = sorted({character for word in words for character in word})
    vocabulary = [*SPECIAL, *characters, *(f"##{character}" for character in characters)]
    assert differing(vocabulary, texts, **flags) == []
    assert differing(bert_vocabulary(), texts, **flags) == []


@pytest.mark.long
@pytest.mark.parametrize("flags", FLAGS[:2], ids=str)
def test_100_000_real_texts_have_the_ids_of_the_reference(flags):
    texts = real(100_000)
    assert len(texts) == 100_000
    assert differing(bert_vocabulary(), texts, **flags) == []


def test_the_words_of_all_ids_are_distinct(tokenizer):
    assert len(np.unique(tokenizer.shown())) == tokenizer.vocabulary_size
