import numpy as np
import pytest
import tensorflow as tf

from pipelines.pretrained import blanks
from pipelines.text.special_tokens import MASK
from pipelines.text.tokenizers import END, SPECIAL_TOKENS, START, train_tokenizer
from pipelines.text.unigram import UnigramTokenizer, model_of_pieces
from pipelines.text.wordpiece import WordPieceTokenizer

TEXTS = ["The cat sat on the mat, because it was tired.", "A dog barks!"] * 20


@pytest.fixture(scope="module")
def tokenizer():
    return train_tokenizer("subword", TEXTS, 60, 1000)


def ids_of(tokenizer, text):
    return tokenizer.encode(tf.constant([text])).to_list()[0][1:-1]


def read(tokenizer, texts, is_causal, window=100):
    """The ids and positions that the network reads, and what `fill` returns."""
    seen = []
    size = tokenizer.vocabulary_size

    def logits(ids, positions):
        seen.append((ids, positions))
        return tf.tile(tf.range(size, dtype=tf.float32)[None, None] / 10, [tf.shape(ids)[0], 1, 1])

    fill = blanks.make_fill(tokenizer, logits, is_causal, window)
    outputs = fill.python_function(tf.constant(texts))
    ((ids, positions),) = seen
    return ids.numpy().tolist(), positions.numpy().ravel().tolist(), outputs


def test_a_bidirectional_network_reads_both_sides_of_the_blank(tokenizer):
    (ids,), (position,), _ = read(tokenizer, ["the cat sat on the [MASK], because"], is_causal=False)
    left, whole = ids_of(tokenizer, "the cat sat on the"), ids_of(tokenizer, "the mat, because")
    right = whole[len(ids_of(tokenizer, "the mat")) :]  # the comma does not start a word
    assert ids == [START, *left, MASK, *right, END]
    assert ids[position] == MASK


def test_a_word_after_the_blank_starts_a_word(tokenizer):
    (ids,), _, _ = read(tokenizer, ["a [MASK] barks!"], is_causal=False)
    assert ids == [START, *ids_of(tokenizer, "a"), MASK, *ids_of(tokenizer, "barks!"), END]


def test_a_causal_network_reads_what_stands_before_the_blank(tokenizer):
    ids, positions, _ = read(tokenizer, ["the cat [MASK] on", "[MASK]"], is_causal=True)
    left = [START, *ids_of(tokenizer, "the cat")]
    assert ids == [left, [START] + [0] * (len(left) - 1)] and positions == [len(left) - 1, 0]


def test_a_text_longer_than_the_window_is_read_around_the_blank(tokenizer):
    (ids,), (position,), _ = read(tokenizer, ["cat " * 50 + "[MASK]" + " dog" * 50], is_causal=False, window=6)
    left, right = ids_of(tokenizer, "cat cat cat cat"), ids_of(tokenizer, "dog dog dog dog")
    assert ids == [*left[-3:], MASK, *right[:3]] and ids[position] == MASK


def test_the_candidates_are_the_softmax_without_special_tokens(tokenizer):
    _, _, outputs = read(tokenizer, ["the [MASK]"], is_causal=False)
    size = tokenizer.vocabulary_size
    expected = np.exp(np.arange(len(SPECIAL_TOKENS), size) / 10)
    expected = (expected / expected.sum())[::-1][: blanks.MAX_CANDIDATES]
    np.testing.assert_allclose(outputs["probabilities"].numpy()[0], expected, rtol=1e-5)
    shown = [token.decode() for token in outputs["tokens"].numpy()[0]]
    names = tokenizer.vocabulary()[len(SPECIAL_TOKENS) :][::-1][: blanks.MAX_CANDIDATES]
    assert shown == [name[1:] if name[0] == "\u2581" and len(name) > 1 else f"##{name}" for name in names]


@pytest.mark.parametrize("text", ["no blank", "[MASK] and [MASK]", ""])
def test_a_text_without_exactly_one_blank_is_refused(tokenizer, text):
    fill = blanks.make_fill(tokenizer, lambda ids, positions: tf.zeros([1, 1, tokenizer.vocabulary_size]), True, 10)
    with pytest.raises(tf.errors.InvalidArgumentError, match="exactly one"):
        fill(tf.constant([text]))


def test_a_wordpiece_tokenizer_has_its_own_mask_and_marks_of_continuation():
    vocabulary = ["[PAD]", "the", "cat", "##s", ",", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    start, end, mask = (vocabulary.index(f"[{name}]") for name in ("CLS", "SEP", "MASK"))
    tokenizer = WordPieceTokenizer(["[X]", *vocabulary[1:], "[PAD]"], 100)
    pad = len(vocabulary)
    ids, positions, outputs = read(tokenizer, ["the [MASK], cats", "[MASK]"], is_causal=False)
    assert ids == [[start, 1, mask, 4, 2, 3, end], [start, mask, end, *[pad] * 4]] and positions == [2, 1]
    assert [token.decode() for token in outputs["tokens"].numpy()[0]] == [",", "##s", "cat", "the", "[X]"]
    # Letters after the blank start a word, as in the reference; they are not lost.
    assert read(tokenizer, ["the [MASK]cat"], is_causal=False)[0] == [[start, 1, mask, 2, end]]


def test_a_unigram_tokenizer_has_its_own_mask():
    pieces = [("\u2581the", -1.0), ("\u2581cat", -1.0), ("s", -1.0), (",", -1.0), ("\u2581", -3.0)]
    tokenizer = UnigramTokenizer(model_of_pieces(pieces, b""), 100)
    special = tokenizer.special
    ids, positions, outputs = read(tokenizer, ["the [MASK], cats", "[MASK]"], is_causal=False)
    assert ids[0] == [special.start, 4, special.blank, 7, 5, 6, special.end]  # the comma does not start a word
    assert ids[1] == [special.start, special.blank, special.end, *[special.pad] * 4] and positions == [2, 1]
    shown = [token.decode() for token in outputs["tokens"].numpy()[0]]
    assert shown == ["##\u2581", "##,", "##s", "cat", "the"]
