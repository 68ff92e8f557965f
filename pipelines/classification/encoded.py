"""What a classifier reads in training: the texts as ids and characters, and their n-grams."""

import dataclasses
import functools
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from pipelines.classification.config import ClassificationConfig
from pipelines.classification.linear_start import SparseStart, Start
from pipelines.classification.networks import VECTORS
from pipelines.classification.reader import Reader
from pipelines.classification.sizes import MAX_WEIGHTS, Sizes
from pipelines.data import batching
from pipelines.labelled.labelled_splits import Labelled, LabelledSplits
from pipelines.linear import linear_model, ngrams
from pipelines.linear.text_model import characters_of
from pipelines.text.tokenizers import Tokenizer, keep_ends

_MAX_GROWTH = 2  # times --max-ngrams: where the linear model of trainings that continue ends to grow
# "ids" [n, (tokens)]; with `max_characters` "characters" [n, (length)]; with an encoder "vectors", float32 [n, size].
Inputs = dict[str, tf.RaggedTensor | tf.Tensor]


@dataclasses.dataclass
class Encoded:
    """What training reads.

    Attributes:
        splits: the texts and labels.
        train, valid: the inputs of the network for the texts (see `inputs_of`). Of prepared data, `train` has only a
            sample of the training texts, and none where no weights are computed from them.
        cut: what `max_tokens` cuts off the training texts: "texts_cut", "tokens_lost" (fractions).
        hashed: the hashes of the n-grams of each training text that is not generated; None without a linear model.
        hashed_valid: those of the validation texts.
        counted: these n-grams; None once the linear model is fitted.
        telling: the n-grams that the network of "best" reads, if it does not continue another run.
        columns: those of each training text in memory, see `ngrams.columns_of`.
        choice: of the linear model, once it is fitted.
        sizes: of the layers over n-grams of a training that continues, once they are known.
        start: the linear model of the run to continue from, which the new texts correct.
    """

    splits: LabelledSplits
    train: Inputs
    valid: Inputs
    cut: dict[str, float]
    hashed: list[np.ndarray] | None = None
    hashed_valid: list[np.ndarray] | None = None
    counted: ngrams.Counted | None = None
    telling: ngrams.Telling | None = None
    columns: tf.RaggedTensor | None = None
    choice: linear_model.Choice | None = None
    sizes: Sizes | None = None
    start: Start | SparseStart | None = None

    def __len__(self) -> int:
        return len(self.splits.train)


def with_ngrams(config: ClassificationConfig, encoded: Encoded, num_texts: int) -> Encoded:
    """Finds the n-grams of training texts in memory, where a new linear model needs them; returns `encoded`.

    Args:
        num_texts: of the training; it limits the number of n-grams.
    """
    if not config.max_ngrams or config.start_weights or encoded.splits.sharded:
        return encoded
    train = encoded.splits.train
    lengths = config.ngram_lengths(len(encoded.splits.classes))
    hashed, encoded.hashed_valid = (ngrams.hash_texts(each, **lengths) for each in (encoded.train, encoded.valid))
    # Generated sentences are not counted: their n-grams have labels that they do not have in real texts.
    encoded.hashed = hashed[: train.num_real]
    encoded.counted = ngrams.count(encoded.hashed, config.num_ngrams(num_texts))
    if config.model == "best":
        occurrences = encoded.counted.occurrences
        encoded.telling = ngrams.most_telling(
            encoded.counted.hashes,
            ngrams.num_texts_with(occurrences),
            occurrences.shape[0],
            ngrams.by_class(occurrences, train.labels[: train.num_real]),
            Sizes.of(config, len(encoded.splits.classes), num_texts).num_telling,
        )
        encoded.columns = ngrams.columns_of(hashed, encoded.telling.hashes)
    return encoded


def inputs_of(
    config: ClassificationConfig, tokenizer: Tokenizer | Reader, data: Labelled
) -> tuple[Inputs, dict[str, float]]:
    """Encodes all texts and cuts them to `max_tokens` and `max_characters`.

    Returns:
        ({"ids": ragged int32 [n, (tokens)], with `max_characters` also "characters": ragged int32 [n, (length)]},
        {"texts_cut": fraction of the texts that have more tokens, "tokens_lost": fraction of all tokens that are cut
        off}). With an encoder the inputs have "vectors": float32 [n, size].
    """
    encode = _encode(tokenizer, config.max_tokens, config.max_characters)
    encoded = batching.encode_texts(encode, data.texts)
    inputs: Inputs = {name: encoded[name] for name in ("ids", "characters") if name in encoded}
    if isinstance(tokenizer, Reader):
        inputs[VECTORS] = tf.constant(tokenizer.encode_all(data.texts), tf.float32)
    lengths = encoded["length"].numpy()
    texts_cut = float((lengths > config.max_tokens).mean())
    tokens_lost = 1 - float(inputs["ids"].row_lengths().numpy().sum() / lengths.sum())
    return inputs, {"texts_cut": texts_cut, "tokens_lost": tokens_lost}


@functools.lru_cache(maxsize=1)  # tracing takes longer than encoding a thousand texts
def _encode(tokenizer: Tokenizer | Reader, max_tokens: int, max_characters: int) -> Callable:
    def encode(texts):
        ids = tokenizer.encode(texts)
        inputs = {"length": ids.row_lengths(), "ids": keep_ends(ids, max_tokens)}
        if max_characters:
            inputs["characters"] = characters_of(tokenizer, texts, max_tokens, max_characters)
        return inputs

    return batching.of_texts(encode)


def find_continued(config: ClassificationConfig, encoded: Encoded) -> None:
    """Finds the n-grams of the training texts beside those of the linear model of the run to continue from.

    `encode` does not call this, because it also encodes the validation texts of that run.
    """
    if encoded.hashed is not None:
        return
    known, classes = Sizes.of_run(config), encoded.splits.classes
    encoded.start = start = (SparseStart if known.is_sparse else Start).of_run(config, len(classes))
    lengths = config.ngram_lengths(known.num_classes)
    hashed, encoded.hashed_valid = (ngrams.hash_texts(each, **lengths) for each in (encoded.train, encoded.valid))
    encoded.hashed = hashed[: encoded.splits.train.num_real]
    most = encoded.sizes.num_ngrams if encoded.sizes else _MAX_GROWTH * config.max_ngrams
    num_new = max(0, min(config.num_ngrams(len(encoded.hashed)), most - len(start.hashes)))
    encoded.counted = ngrams.count(encoded.hashed, num_new, start.hashes)
    if encoded.sizes is None:
        of_texts = Sizes.of(config, len(classes), len(encoded.hashed)) if known.is_sparse else known
        encoded.sizes = known._replace(
            num_ngrams=max(known.num_ngrams, len(encoded.counted.hashes)),
            num_weights=min(known.num_weights + of_texts.num_weights, MAX_WEIGHTS),
        )
