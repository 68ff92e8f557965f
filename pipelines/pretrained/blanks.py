"""The most likely tokens of a blank, as graph operations: "I am [MASK]." -> "hungry", "sure", ...

p(w | the text) = softmax(logits at the blank)_w

A bidirectional encoder reads the tokens on both sides of the blank, a causal one those before it.
"""

from collections.abc import Callable

import tensorflow as tf

from pipelines.text.special_tokens import BLANK, MASK
from pipelines.text.tokenizers import Tokenizer

MAX_CANDIDATES = 100
# A character that no text has stands before the text on the right, so that a comma there does not become the start of a
# word. The tokenizer does not know it: its token and the ones before it are left out.
_PLACEHOLDER = "\ufdd0"
_PATTERN = r"\[MASK\]"


def make_fill(
    tokenizer: Tokenizer, next_or_masked: Callable, is_causal: bool, window: int, encode: Callable | None = None
) -> Callable:
    """Returns a function of texts, string [batch], to their candidates.

    Its outputs are tokens: string [batch, k], with "##" before a token that continues a word, and probabilities:
    float32 [batch, k], the highest first. k is `MAX_CANDIDATES`, or the number of tokens if there are fewer.
    It raises InvalidArgumentError if a text has not exactly one `BLANK`.

    Args:
        next_or_masked: (ids int32 [batch, time], positions int32 [batch, 1]) -> logits float32 [batch, 1, vocabulary]:
            of the token at the position; for a causal network of the token after it.
        window: number of tokens around the blank that are read.
        encode: the tokenizer's function, if it is not `tokenizer.encode`.
    """
    encode = encode or tokenizer.encode
    special = tokenizer.special
    blank_id = MASK if special.blank is None else special.blank
    vocabulary = tf.constant(tokenizer.shown())
    special_ids = sorted({each for each in (*special, blank_id) if each is not None})
    is_special = tf.reduce_any(tf.range(tokenizer.vocabulary_size)[:, None] == tf.constant(special_ids), axis=1)
    count = min(MAX_CANDIDATES, tokenizer.vocabulary_size - len(special_ids))
    # A WordPiece tokenizer starts a word at each text and each comma: it needs no placeholder, and would read it and
    # the letters that follow as one unknown word.
    placeholder = "" if tokenizer.kind == "wordpiece" else _PLACEHOLDER

    def fill(text):
        without = tf.strings.regex_replace(text, _PATTERN, "")
        num_blanks = (tf.strings.length(text) - tf.strings.length(without)) // len(BLANK)
        check = tf.debugging.assert_equal(num_blanks, 1, f"each text needs exactly one {BLANK}")
        with tf.control_dependencies([check]):
            before = tf.strings.regex_replace(text, rf"(?s){_PATTERN}.*", "")
        after = tf.strings.regex_replace(text, rf"(?s)^.*{_PATTERN}", placeholder)
        right = encode(after)
        right = _after_placeholder(right, special.unknown) if placeholder else right[:, 1:]
        left = encode(before)[:, :-1][:, -(window // 2) :]  # with START
        ids, blank = (left, left) if is_causal else _around(left, blank_id, right[:, : window // 2])
        positions = tf.cast(blank.row_lengths(), tf.int32)[:, None] - 1
        logits = tf.cast(next_or_masked(ids.to_tensor(special.pad), positions)[:, 0], tf.float32)
        probabilities = tf.nn.softmax(tf.where(is_special, float("-inf"), logits))
        values, candidates = tf.math.top_k(probabilities, count)
        return {"tokens": tf.gather(vocabulary, candidates), "probabilities": values}

    return tf.function(fill, input_signature=[tf.TensorSpec([None], tf.string, name="text")], autograph=False)


def _around(left: tf.RaggedTensor, blank_id: int, right: tf.RaggedTensor) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
    """Returns the ids of the text with `blank_id` in the blank, and those up to the blank."""
    up_to_blank = tf.concat([left, tf.fill([left.nrows(), 1], blank_id)], axis=1)
    return tf.concat([up_to_blank, right], axis=1), up_to_blank


def _after_placeholder(ids: tf.RaggedTensor, unknown: int) -> tf.RaggedTensor:
    """Returns the ids after the placeholder, the first unknown token: ragged [batch, (tokens)]."""
    is_unknown = tf.cast(tf.equal(ids, unknown).to_tensor(), tf.int32)  # [batch, time]
    is_after = (tf.cumsum(is_unknown, axis=1) - is_unknown) > 0
    return tf.ragged.boolean_mask(ids, tf.RaggedTensor.from_tensor(is_after, lengths=ids.row_lengths()))
