"""What the linear model reads of a token, as graph operations: hashes of its word, its shape and its affixes."""

import tensorflow as tf

_WORD, _SHAPE = 0, 1
_LENGTHS = (1, 2, 3, 4)  # of the affixes
_AFFIXES = tuple(pattern for n in _LENGTHS for pattern in (rf"(?s)^(.{{{n}}}).+$", rf"(?s)^.+(.{{{n}}})$"))
# All characters of a class become the same one, and of a run of these two stay: "McDonald" -> "XxXxx".
_CLASSES = ((r"[\p{Lu}\p{Lt}]", "X"), (r"[\p{Ll}\p{Lm}\p{Lo}]", "x"), (r"\p{M}", ""), (r"\p{Nd}", "0"))
_RUNS = tuple((f"{character}{{2,}}", character * 2) for character in "Xx0")
NUM_HASHES = 2 + len(_AFFIXES)
# The features of a token, see `TokenFeatureLogits`: of itself, of its neighbours, and of both.
TEMPLATES = (
    *(((0, which),) for which in range(NUM_HASHES)),
    *(((offset, which),) for offset in (-1, 1) for which in (_WORD, _SHAPE)),
    *(((offset, _WORD),) for offset in (-2, 2)),
    ((-1, _WORD), (0, _WORD)),
    ((0, _WORD), (1, _WORD)),
    ((-1, _SHAPE), (0, _SHAPE), (1, _SHAPE)),
)


def hashes_of(tokens: tf.Tensor, words: tf.Tensor) -> tf.Tensor:
    """Returns int32 [n, NUM_HASHES]: the hashes of each token's word, shape and affixes, from 1; 0 where it has none.

    Args:
        tokens: string [n].
        words: their normalized words, string [n]. An affix is shorter than its word.
    """
    values = [words, shapes_of(tokens)]
    hashes = [_hash(each) for each in values]
    for pattern in _AFFIXES:
        is_longer = tf.strings.regex_full_match(words, pattern)
        affix = tf.strings.regex_replace(words, pattern, r"\1")
        hashes.append(tf.where(is_longer, _hash(affix), 0))
    return tf.stack(hashes, axis=-1)


def shapes_of(tokens: tf.Tensor) -> tf.Tensor:
    """Returns the shapes of tokens, string [n]: X for capital letters, x for others, 0 for digits, two for a run."""
    for pattern, replacement in (*_CLASSES, *_RUNS):
        tokens = tf.strings.regex_replace(tokens, pattern, replacement)
    return tokens


def _hash(values: tf.Tensor) -> tf.Tensor:
    return tf.cast(tf.strings.to_hash_bucket_fast(values, 2**31 - 2), tf.int32) + 1
