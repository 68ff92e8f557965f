"""Keras layers for text: they know tensors, and nothing of text, files or pipelines."""

from layers.ngrams import HashedNGrams
from layers.pooling import MaskedMaxPooling, MaskedMeanPooling

__all__ = ["HashedNGrams", "MaskedMaxPooling", "MaskedMeanPooling"]
