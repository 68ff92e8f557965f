"""What --preset and --model decide about a classifier."""

import math

from pipelines.settings.config import Presets
from pipelines.settings.fields import RECURRENT

_ALL = {
    "max_tokens": 1000,
    "max_encoder_tokens": 1000,
    "vocabulary_size": 30_000,
    "max_ngrams": 0,
    "max_characters": 0,
    "ngram_buckets": 0,
    "word_vectors": "random",
    "num_negations": 0,
    "span_rate": 0.0,
    "word_dropout": 0.0,
    "embedding_size": 64,
    "embedding_dropout": 0.3,
    "hidden_size": 64,
    "num_layers": 1,
    "pooling": "max",
    "dropout": 0.5,
    "batch_size": 64,
    "learning_rate": 0.002,
}
_QUICK = {
    "max_tokens": 100,
    "max_encoder_tokens": 100,
    "vocabulary_size": 10_000,
    "dropout": 0.3,
    "batch_size": 32,
    "learning_rate": 0.005,
}
_SEQUENCE = {"max_tokens": 400, "max_encoder_tokens": 400, "word_vectors": "cooccurrence", "word_dropout": 0.1}
# "best": (below this number of training texts, batch size and learning rate).
FEEDFORWARD = (
    (10_000, {"batch_size": 64, "learning_rate": 0.005}),
    (math.inf, {"batch_size": 128, "learning_rate": 0.002}),
)
_BY_NUMBER_OF_TEXTS = {"batch_size": None, "learning_rate": None}
_BAG = {"embedding_size": 16, "dropout": 0.3}

# Chosen on IMDB's training reviews with a tenth of the films held out (benchmarks/classification.py measures them).
PRESETS: Presets = {
    ("linear", "quick"): _ALL | {"max_ngrams": 200_000, "max_characters": 1000, "epochs": 1},
    ("linear", "full"): _ALL | {"max_tokens": 3000, "max_ngrams": 400_000, "max_characters": 2000, "epochs": 1},
    ("bag", "quick"): _ALL | _BAG | {"ngram_buckets": 2**16, "batch_size": 32, "learning_rate": 0.02},
    ("bag", "full"): _ALL
    | _BAG
    | {"max_tokens": 3000, "max_encoder_tokens": 3000, "ngram_buckets": 2**18, "learning_rate": 0.01},
    **{(model, "quick"): _ALL | _QUICK for model in ("cnn", *RECURRENT, "transformer")},
    **{(model, "full"): _ALL | _SEQUENCE for model in RECURRENT},
    ("cnn", "full"): _ALL | {"max_tokens": 400, "max_encoder_tokens": 400},
    ("transformer", "full"): _ALL | _SEQUENCE | {"max_encoder_tokens": 200, "num_layers": 2, "learning_rate": 0.001},
    ("best", "quick"): _ALL | {"max_ngrams": 200_000, "max_characters": 1000} | _BY_NUMBER_OF_TEXTS,
    ("best", "full"): _ALL
    | {"max_tokens": 3000, "max_ngrams": 400_000, "max_characters": 1000, "num_negations": 6000}
    | _BY_NUMBER_OF_TEXTS,
}
