"""The export of an encoder: a SavedModel with TF Hub's interface for text, which is a servable as well.

encoder = hub.load(folder)                    encoder(text, training=False) -> dict
variables, trainable_variables, regularization_losses
"""

import functools
from collections.abc import Callable

import keras
import tensorflow as tf

from pipelines.export import saved_model
from pipelines.networks.traced import is_traceable
from pipelines.pretrained.trace import make_trace
from pipelines.text.special_tokens import SpecialIds
from pipelines.text.tokenizers import Tokenizer, keep_ends


class TextEncoder(tf.train.Checkpoint):
    """The servable of an encoder.

    Args:
        network: ids int32 [batch, time] -> a dict that has "pooled_output" (`networks.encoder_network`).
        tokenizer: of the run.
        max_tokens: maximum number of tokens of a text; longer ones are cut.
        pretrained: the whole pretrained network, whose outputs fill blanks; None for word vectors.
        fill: function of texts that calls it (`blanks.make_fill`).
        cut: limits ids to `max_tokens` (`keep_ends` or `keep_start`).
    """

    def __init__(
        self,
        network: keras.Model,
        tokenizer: Tokenizer,
        max_tokens: int,
        pretrained: keras.Model | None = None,
        fill: Callable | None = None,
        cut: Callable = keep_ends,
    ):
        super().__init__()
        self.max_tokens = max_tokens
        self.tokenizer = tokenizer
        self.variables = [variable.value for variable in network.variables]
        self.trainable_variables = [variable.value for variable in network.trainable_variables]
        self.regularization_losses: list = []
        self.pretrained_variables = [variable.value for variable in pretrained.variables] if pretrained else []
        self.fill = fill
        reading = network.get_layer("layers")
        self._is_traceable = is_traceable(reading)
        self._make_trace = lambda: make_trace(reading, tokenizer, max_tokens, cut)

        def encode(text, training=False):
            ids = cut(tokenizer.encode(text), max_tokens)
            return network(ids.to_tensor(tokenizer.special.pad), training=training)

        text = tf.TensorSpec([None], tf.string, name="text")
        # TF Hub calls the module itself: a function with the argument `training`, traced for both values.
        self.__call__ = tf.function(encode, autograph=False)
        for training in (True, False):
            self.__call__.get_concrete_function(text, training=training)
        self.embed = tf.function(
            lambda text: {"embedding": encode(text)["pooled_output"]}, input_signature=[text], autograph=False
        )

        def encode_words(tokens):
            ragged = tf.RaggedTensor.from_tensor(tokens, padding="")
            pieces = _pieces_of_words(tokenizer, ragged.flat_values)  # [words, (pieces)]
            rows = ragged.with_values(pieces).merge_dims(1, 2)
            vectors = _piece_vectors(network, rows, tokenizer.special)  # [pieces, units]
            embeddings = embedding(pieces.flat_values)  # [pieces, size]

            def mean_of_words(values):
                means = tf.math.segment_mean(values, pieces.value_rowids())  # [words, ...]
                means = ragged.with_flat_values(means).to_tensor()
                columns = tf.shape(tokens)[1] - tf.shape(means)[1]
                return tf.pad(means, [[0, 0], [0, columns], [0, 0]])

            return {"vectors": mean_of_words(vectors), "embeddings": mean_of_words(embeddings)}

        embedding = next(
            layer for layer in network.get_layer("layers").layers if isinstance(layer, keras.layers.Embedding)
        )

        tokens = tf.TensorSpec([None, None], tf.string, name="tokens")
        self.encode_words = tf.function(encode_words, input_signature=[tokens], autograph=False)

    def signatures(self) -> dict:
        """Returns the functions to export.

        serving_default: text, string [batch] -> embedding, float32 [batch, 3 units].
        words: tokens, string [batch, tokens], with "" after the last token of a row -> vectors, float32 [batch, tokens,
        units]: for each token the mean of the vectors of its pieces, in the context of the row; zeros for "";
        embeddings, float32 [batch, tokens, size]: the same of the token embeddings, which know no context.
        fill: text, string [batch], each with one [MASK] -> tokens, string [batch, k], and probabilities, float32
        [batch, k]; see blanks.py. Word vectors have none.
        trace: text, string [batch] -> the outputs of trace.py. Word vectors have none.
        """
        signatures = {
            "serving_default": self.embed.get_concrete_function(),
            "words": self.encode_words.get_concrete_function(),
        }
        if self.fill:
            signatures["fill"] = saved_model.concrete_function(self.fill)
        if self._is_traceable:
            signatures["trace"] = self.trace
        return signatures

    @functools.cached_property
    def trace(self):
        """The signature trace (trace.py) as a concrete function; only for networks that `is_traceable`."""
        return self._make_trace()


def _pieces_of_words(tokenizer: Tokenizer, words: tf.Tensor) -> tf.RaggedTensor:
    """Returns the ids of each word's tokens, at least one: ragged int32 [words, (pieces)]."""
    pieces = tokenizer.encode(words)[:, 1:-1]
    is_missing = tf.cast(tf.equal(pieces.row_lengths(), 0), tf.int64)  # such as a word of control characters
    unknowns = tf.fill([tf.reduce_sum(is_missing)], tokenizer.special.unknown)
    unknown = tf.RaggedTensor.from_row_lengths(unknowns, is_missing)
    return tf.concat([pieces, unknown], axis=1)


def _piece_vectors(network: keras.Model, pieces: tf.RaggedTensor, special: SpecialIds) -> tf.Tensor:
    """Returns the vectors of all pieces in the context of their row: [number of pieces, units].

    Args:
        pieces: ragged int32 [batch, (pieces)], without the special tokens at both ends.
    """
    rows = pieces.nrows()
    ids = tf.concat([tf.fill([rows, 1], special.start), pieces, tf.fill([rows, 1], special.end)], axis=1)
    vectors = network(ids.to_tensor(special.pad), training=False)["sequence_output"][:, 1:-1]  # [batch, time, units]
    return tf.boolean_mask(vectors, tf.sequence_mask(pieces.row_lengths(), tf.shape(vectors)[1]))
