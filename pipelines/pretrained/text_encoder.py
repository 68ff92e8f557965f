"""The export of an encoder: a SavedModel with TF Hub's interface for text, which is a servable as well.

encoder = hub.load(folder)                    encoder(text, training=False) -> dict
variables, trainable_variables, regularization_losses
"""

import functools
from collections.abc import Callable
from types import SimpleNamespace

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
        has_dropout: whether the network computes something else in training.
        encode: the tokenizer's function (`encode_once`); None: it is made here.
    """

    def __init__(
        self,
        network: keras.Model,
        tokenizer: Tokenizer,
        max_tokens: int,
        pretrained: keras.Model | None = None,
        fill: Callable | None = None,
        cut: Callable = keep_ends,
        has_dropout: bool = True,
        encode: Callable | None = None,
    ):
        super().__init__()
        self.max_tokens = max_tokens
        self.tokenizer = tokenizer
        self.variables = [variable.value for variable in network.variables]
        self.trainable_variables = [variable.value for variable in network.trainable_variables]
        self.regularization_losses: list = []
        self.pretrained_variables = [variable.value for variable in pretrained.variables] if pretrained else []
        reading = network.get_layer("layers")
        self._is_traceable = is_traceable(reading)
        read = encode or encode_once(tokenizer)
        in_inference = _network_once(network, training=False)
        in_training = _network_once(network, training=True) if has_dropout else in_inference
        self._make_trace = lambda: make_trace(reading, tokenizer, max_tokens, cut, read)

        def vectors_of(text, training=False):
            ids = cut(read(text), max_tokens).to_tensor(tokenizer.special.pad)
            return (in_training if training else in_inference)(ids)

        text = tf.TensorSpec([None], tf.string, name="text")
        # TF Hub calls the module itself: a function with the argument `training`, traced for both values.
        self.__call__ = tf.function(vectors_of, autograph=False)
        for training in (True, False):
            self.__call__.get_concrete_function(text, training=training)

        def encode_words(tokens):
            ragged = tf.RaggedTensor.from_tensor(tokens, padding="")
            pieces = _pieces_of_words(read, ragged.flat_values, tokenizer.special.unknown)  # [words, (pieces)]
            rows = ragged.with_values(pieces).merge_dims(1, 2)
            vectors = _piece_vectors(in_inference, rows, tokenizer.special)  # [pieces, units]
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
        # Functions that are attributes would be in an export twice: there, and as signatures.
        self._functions = SimpleNamespace(
            embed=tf.function(
                lambda text: {"embedding": vectors_of(text)["pooled_output"]}, input_signature=[text], autograph=False
            ),
            words=tf.function(encode_words, input_signature=[tokens], autograph=False),
            fill=fill,
        )

    @property
    def embed(self):
        """The signature serving_default."""
        return self._functions.embed

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
            "words": self._functions.words.get_concrete_function(),
        }
        if self._functions.fill:
            signatures["fill"] = saved_model.concrete_function(self._functions.fill)
        if self._is_traceable:
            signatures["trace"] = self.trace
        return signatures

    @functools.cached_property
    def trace(self):
        """The signature trace (trace.py) as a concrete function; only for networks that `is_traceable`."""
        return self._make_trace()


def encode_once(tokenizer: Tokenizer) -> Callable:
    """Returns `tokenizer.encode` as a concrete function.

    Each function of an encoder reads texts. The graph of a tokenizer has hundreds of operations: this way, a SavedModel
    has them once.
    """
    text = tf.TensorSpec([None], tf.string, name="text")
    return tf.function(tokenizer.encode, input_signature=[text], autograph=False).get_concrete_function()


def _network_once(network: keras.Model, training: bool) -> Callable:
    """Returns the network as a concrete function of ids, int32 [batch, time]."""
    ids = tf.TensorSpec([None, None], tf.int32, name="ids")
    call = tf.function(lambda ids: network(ids, training=training), input_signature=[ids], autograph=False)
    return call.get_concrete_function()


def _pieces_of_words(encode: Callable, words: tf.Tensor, unknown_id: int) -> tf.RaggedTensor:
    """Returns the ids of each word's tokens, at least one: ragged int32 [words, (pieces)]."""
    pieces = encode(words)[:, 1:-1]
    is_missing = tf.cast(tf.equal(pieces.row_lengths(), 0), tf.int64)  # such as a word of control characters
    unknowns = tf.fill([tf.reduce_sum(is_missing)], unknown_id)
    unknown = tf.RaggedTensor.from_row_lengths(unknowns, is_missing)
    return tf.concat([pieces, unknown], axis=1)


def _piece_vectors(network: Callable, pieces: tf.RaggedTensor, special: SpecialIds) -> tf.Tensor:
    """Returns the vectors of all pieces in the context of their row: [number of pieces, units].

    Args:
        pieces: ragged int32 [batch, (pieces)], without the special tokens at both ends.
    """
    rows = pieces.nrows()
    ids = tf.concat([tf.fill([rows, 1], special.start), pieces, tf.fill([rows, 1], special.end)], axis=1)
    vectors = network(ids.to_tensor(special.pad))["sequence_output"][:, 1:-1]  # [batch, time, units]
    return tf.boolean_mask(vectors, tf.sequence_mask(pieces.row_lengths(), tf.shape(vectors)[1]))
