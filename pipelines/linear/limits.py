"""How large a linear model over n-grams is. Imports no TensorFlow."""

from typing import Any

MAX_FEW_CLASSES = 20  # with more classes, the linear model has shorter n-grams and one weighting
MAX_DENSE_CLASSES = 100  # with more, most weights are zero and not stored, unless there is an encoder
MAX_CLASSES_WITH_ENCODER = 300  # all weights of these are stored, which are as many for each class
FADING, FADING_BESIDE_NETWORK = 4, 8  # see `NGramLogits`: texts shorter than those of training are left to a network
_MAX_LENGTH_OF_CHARACTERS = 5  # of their n-grams
_NGRAMS_PER_TEXT = 120  # known n-grams per training text


def num_weightings(num_classes: int) -> int:
    """Returns the number of weightings of the n-grams."""
    return 2 if num_classes <= MAX_FEW_CLASSES else 1


def num_ngrams(num_texts: int, most: int) -> int:
    """Returns how many n-grams the linear model knows at most: with few training texts, a smaller model."""
    return min(most, _NGRAMS_PER_TEXT * num_texts)


def ngram_lengths(num_classes: int, with_characters: bool, marks: tuple[int, int] | None = None) -> dict[str, Any]:
    """Returns the maximum lengths of n-grams: "max_n" of tokens, "max_characters" of characters; and "marks".

    Of many classes each has few texts: too few for n-grams of three tokens, and for ratios of a single class.
    """
    max_n = 3 if num_classes <= MAX_FEW_CLASSES else 2
    return {"max_n": max_n, "max_characters": _MAX_LENGTH_OF_CHARACTERS if with_characters else 0, "marks": marks}
