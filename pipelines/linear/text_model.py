"""A linear model over the n-grams of texts as a function of strings, to stand beside a network that reads strings."""

import numpy as np
import tensorflow as tf

from layers import NGramLogits
from pipelines.data import batching
from pipelines.linear import limits, linear_model, ngrams
from pipelines.linear.linear_model import Choice
from pipelines.pretrained.vector_model import Vectors
from pipelines.text.tokenizers import Tokenizer, keep_ends, train_tokenizer

_MAX_NGRAMS, _MAX_TOKENS, _MAX_CHARACTERS, _VOCABULARY_SIZE = 200_000, 1000, 1000, 30_000


class TextModel(tf.Module):
    """string [batch] -> logits float32 [batch, classes]: `NGramLogits` of words and of characters.

    Args:
        texts: of the training, str [n]; its words and the number of its n-grams follow from them.
        num_classes: number of classes.
        max_bytes: number of bytes that are read of each text.
        fading: see `NGramLogits`.
    """

    def __init__(self, texts: np.ndarray, num_classes: int, max_bytes: int, fading: int):
        super().__init__()
        self._tokenizer = train_tokenizer("word", texts, _VOCABULARY_SIZE, max_bytes)
        self._num_ngrams = limits.num_ngrams(len(texts), _MAX_NGRAMS)
        self._lengths = limits.ngram_lengths(num_classes, with_characters=True)
        num_weightings = limits.num_weightings(num_classes)
        layer = NGramLogits(num_weightings * num_classes, self._num_ngrams, **self._lengths, fading=fading)
        layer.build((None, None), (None, None))
        self._layer = lambda: layer  # as an attribute, its variables would be in an export as copies
        self._variables = [weight.value for weight in layer.weights]
        self._encode = batching.of_texts(self._inputs)
        by_weighting = [-1, num_weightings, num_classes]
        self._logits = lambda ids, characters: tf.reduce_mean(tf.reshape(layer(ids, characters), by_weighting), axis=1)

    def fit(
        self,
        texts: np.ndarray,
        labels: np.ndarray,
        text_weight: np.ndarray | None,
        seed: int,
        choice: Choice | None = None,
        vectors: Vectors | None = None,
    ) -> Choice | None:
        """Fits the n-grams and, with `vectors`, the layer that reads them; see `linear_model.fit`."""
        hashed = ngrams.hash_texts(batching.encode_texts(self._encode, texts), **self._lengths)
        counted = ngrams.count(hashed, self._num_ngrams)
        return linear_model.fit(self._layer(), counted, labels, text_weight, seed, choice, vectors=vectors)

    def __call__(self, texts: tf.Tensor) -> tf.Tensor:
        """Returns the logits of texts."""
        inputs = self._inputs(texts)
        return self._logits(inputs["ids"].to_tensor(), inputs["characters"].to_tensor())

    def _inputs(self, texts: tf.Tensor) -> dict[str, tf.RaggedTensor]:
        ids = keep_ends(self._tokenizer.encode(texts), _MAX_TOKENS)
        return {"ids": ids, "characters": characters_of(self._tokenizer, texts, _MAX_TOKENS, _MAX_CHARACTERS)}


def characters_of(tokenizer: Tokenizer, texts: tf.Tensor, max_tokens: int, max_characters: int) -> tf.RaggedTensor:
    """Returns what the linear model counts n-grams of characters in: ragged int32 [batch, (length)], code points."""
    return keep_ends(tokenizer.spell(keep_ends(tokenizer.tokens(texts), max_tokens)), max_characters)
