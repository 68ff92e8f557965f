import numpy as np
import pytest
import tensorflow as tf

from pipelines import text
from pipelines.normalization import Normalizer

TEXTS = np.array(
    ["The plot was not bad, it wasn't!", "A dull film. The plot was dull.", "Caf\u00e9 &amp; film", "the film the film"],
    dtype=object,
)
KINDS = ["word", "spaced", "character", "subword", "pieces"]


def strings(tensor):
    return [value.decode() for value in tensor.numpy()]


@pytest.fixture(params=KINDS)
def tokenizer(request):
    return text.train(request.param, np.repeat(TEXTS, 5), 100, max_bytes=200)


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("One<br />two<BR>three</p>", "one two three "),
        ("I &lt;3 <i>this</i>", "i <3  this "),
        ("Tom &amp; Jerry&#39;s &quot;film&quot; &#x27;x&#X27; &#8217; &eacute; &nbsp;", "tom & jerry's \"film\" 'x' \u2019 \u00e9  "),
        ("&nosuch; &#; & AT&T; a < b > c", "&nosuch; &#; & at&t; a < b > c"),
        ("\ufb01lm \uff26\uff55\uff4c\uff4c \u2460 e\u0301", "film full 1 \u00e9"),  # NFKC
        ("\u00c9T\u00c9 \u0130", "\u00e9t\u00e9 i\u0307"),
        ("", ""),
    ],
)
def test_normalizer(raw, clean):
    assert strings(Normalizer(1000)(tf.constant([raw]))) == [clean]


def test_bytes_that_are_no_utf8_are_dropped_and_a_cut_leaves_no_half_character():
    assert strings(Normalizer(100)(tf.constant([b"caf\xe9 \xff ok"]))) == ["caf  ok"]
    assert strings(Normalizer(4)(tf.constant(["abc\u00e9"]))) == ["abc"]


def test_special_ids_are_the_same_everywhere(tokenizer):
    assert (text.PAD, text.UNKNOWN, text.START, text.END) == (0, 1, 2, 3)
    assert tuple(tokenizer.vocabulary()[:4]) == text.SPECIAL_TOKENS
    ids = tokenizer.encode(tf.constant(TEXTS))
    assert ids.dtype == tf.int32
    for row in ids.to_list():
        assert row[0] == text.START and row[-1] == text.END
        assert not {text.PAD, text.START, text.END} & set(row[1:-1])
        assert max(row) < tokenizer.vocabulary_size == len(tokenizer.vocabulary())


def test_no_text_has_zero_tokens(tokenizer):
    assert tokenizer.encode(tf.constant(["", "  "])).to_list()[0] == [text.START, text.END]
    assert tokenizer.encode(tf.constant([], tf.string)).shape[0] == 0


def test_special_tokens_in_a_text_are_text(tokenizer):
    for row in tokenizer.encode(tf.constant(["<pad> <start> <end>"])).to_list():
        assert not {text.PAD, text.START, text.END} & set(row[1:-1])


def test_decode_undoes_encode(tokenizer):
    decoded = strings(tokenizer.decode(tokenizer.encode(tf.constant(TEXTS))))
    if tokenizer.kind in ("character", "pieces"):
        assert decoded == TEXTS.tolist()  # as it is: no normalisation
    elif tokenizer.kind == "spaced":
        assert decoded[1] == "A dull film. The plot was dull."
    elif tokenizer.kind == "subword":
        assert decoded == strings(Normalizer(200)(tf.constant(TEXTS)))
    else:
        assert decoded[1] == "a dull film . the plot was dull ."


def test_decode_takes_padded_ids(tokenizer):
    ids = tokenizer.encode(tf.constant(TEXTS))
    assert strings(tokenizer.decode(ids.to_tensor())) == strings(tokenizer.decode(ids))


def test_saved_and_loaded(tokenizer, tmp_path):
    tokenizer.save(tmp_path)
    again = text.load(tmp_path)
    assert again.vocabulary() == tokenizer.vocabulary()
    assert again.encode(tf.constant(TEXTS)).to_list() == tokenizer.encode(tf.constant(TEXTS)).to_list()


def test_alone_or_in_a_batch(tokenizer):
    together = tokenizer.encode(tf.constant(TEXTS)).to_list()
    assert [tokenizer.encode(tf.constant([one])).to_list()[0] for one in TEXTS] == together


def test_the_order_of_the_training_texts_does_not_matter():
    for kind in ("word", "character"):
        forward, backward = (text.train(kind, texts, 30, 200).vocabulary() for texts in (TEXTS, TEXTS[::-1]))
        assert forward == backward


def test_words():
    tokenizer = text.train("word", np.array(["It wasn't (all) bad: \u597d\u7684 film...", "it wasn't bad"] * 2, object), 100, 200)
    words = tokenizer.vocabulary()[4:]
    assert {"it", "wasn't", "bad", ":", "(", ")", "\u597d", "\u7684", "."} <= set(words)
    assert tokenizer.encode(tf.constant(["zzz"])).to_list() == [[text.START, text.UNKNOWN, text.END]]


@pytest.mark.parametrize("kind", ["spaced", "character", "pieces"])
def test_line_ends_and_case_stay(kind):
    play = "KING:\nWhat news from Oxford?\n\nKING:\nWhat news from Oxford?\n"
    tokenizer = text.train(kind, [play] * 20, 60, 1000)
    assert strings(tokenizer.decode(tokenizer.encode(tf.constant([play])))) == [play]


def test_spaced_words_are_what_stands_between_spaces():
    tokenizer = text.train("spaced", ["a <unk> @-@ b.\na  b. "] * 2, 100, 200)
    assert set(tokenizer.vocabulary()[4:]) == {"a", "<unk>", "@-@", "b.", "\n"}
    assert tokenizer.encode(tf.constant(["a  zzz\n"])).to_list()[0][2] == text.UNKNOWN


def test_a_word_seen_once_is_unknown_and_the_size_is_kept():
    tokenizer = text.train("word", np.array(["a a b b b c"], object), 100, 200)
    assert tokenizer.vocabulary()[4:] == ["b", "a"]
    assert text.train("word", np.array(["a a b b b c"], object), 5, 200).vocabulary()[4:] == ["b"]


def test_texts_without_any_known_token():
    tokenizer = text.train("word", np.array(["once", ""], object), 100, 200)
    assert tokenizer.encode(tf.constant(["once"])).to_list() == [[text.START, text.UNKNOWN, text.END]]


def test_10_megabytes_are_cut_before_they_are_split():
    tokenizer = text.train("subword", np.repeat(TEXTS, 5), 100, max_bytes=50)
    assert tokenizer.encode(tf.constant(["film " * 2_000_000])).row_lengths().numpy()[0] <= 52


def test_encode_all_keeps_the_order():
    tokenizer = text.train("word", TEXTS, 100, 200)
    many = np.tile(TEXTS, 7)
    assert text.encode_all(tokenizer, many, batch_size=3).to_list() == tokenizer.encode(tf.constant(many)).to_list()


@pytest.mark.parametrize("max_tokens", [4, 5, 9, 10, 11, 100])
def test_window(max_tokens):
    rows = [list(range(n)) for n in (0, 1, 4, 5, 9, 10, 30)]
    got = text.window(tf.ragged.constant(rows, dtype=tf.int32), max_tokens).to_list()
    head = max_tokens // 2
    for row, kept in zip(rows, got, strict=True):
        assert kept == (row if len(row) <= max_tokens else row[:head] + row[len(row) - (max_tokens - head) :])
