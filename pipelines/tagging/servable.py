"""What is exported of a tagger: texts or tokens in; tokens with their tags, scores and positions out."""

import functools

import keras
import tensorflow as tf

from layers import CRF
from pipelines.data.tag_schemes import is_spans
from pipelines.networks.traced import is_traceable
from pipelines.tagging import entity_ops
from pipelines.tagging.features import TokenFeatures
from pipelines.tagging.trace import make_trace

_ROWS = 64  # sentences that the network reads at once: this bounds the memory of a request


class Tagger(tf.Module):
    """The servable of a tagger.

    Args:
        model: the inputs of `TokenFeatures`, each int32 [batch, time] or [batch, time, characters] -> logits [batch,
            time, tags].
        crf: decodes the logits.
        features: makes the inputs.
        tags: names of the tags.
        max_tokens: maximum number of tokens that the network reads at once; longer sentences are divided.
    """

    def __init__(self, model: keras.Model, crf: CRF, features: TokenFeatures, tags: tuple[str, ...], max_tokens: int):
        super().__init__()
        self.tokenizer = features.kind
        self._features = features
        self._tags = tf.constant(tags, tf.string)
        self._max_tokens = max_tokens
        self._marks_spans = is_spans(tags)
        self._group = lambda *tagged: entity_ops.entities(tags, *tagged)
        # The SavedModel holds the variables of tf.Module's attributes.
        self._variables = [weight.value for weight in (*model.weights, *crf.weights)]
        self._model = lambda inputs: model(inputs, training=False)
        self._is_traceable = is_traceable(model)
        self._make_trace = lambda **options: make_trace(
            model, features, max_tokens, self._tags, self._decode, **options
        )
        self._decode = lambda logits, mask: (crf.decode(logits, mask)[0], crf.marginals(logits, mask))
        self._member = lambda crf: Tagger(keras.Model(model.input, crf.output), crf, features, tags, max_tokens)
        self._layer = lambda name: model.get_layer(name)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")], autograph=False)
    def tag_text(self, text):
        """Divides texts into tokens and tags these.

        Args:
            text: string [batch].

        Returns:
            tokens, tags: string [batch, tokens]; scores: float32, the probability of each tag; start, end: int32, the
            first character of a token in its text and the one after its last, counted in Unicode characters; sentence:
            int32, the number of its sentence in the text, from 0. After the last token of a text there are "" and 0.
            num_tokens: int32 [batch].
        """
        words = self._features.split(text)
        ids, scores = self._tag(words.tokens, _starts_sentence(words.sentence))
        by_token = {
            "tokens": words.tokens,
            "tags": ids.with_flat_values(tf.gather(self._tags, ids.flat_values)),
            "scores": scores,
            "start": words.start,
            "end": words.end,
            "sentence": words.sentence,
        }
        return {
            **{name: values.to_tensor() for name, values in by_token.items()},
            "num_tokens": tf.cast(words.tokens.row_lengths(), tf.int32),
        }

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.string, name="tokens")], autograph=False)
    def tag_tokens(self, tokens):
        """Tags tokens.

        Args:
            tokens: string [batch, tokens], one sentence per row, with "" after the last token of a sentence.

        Returns:
            tags: string [batch, tokens]; scores: float32 [batch, tokens], the probability of each tag; num_tokens:
            int32 [batch]. After the last token of a sentence there are "" and 0.
        """
        ragged = tf.RaggedTensor.from_tensor(tokens, padding="")
        is_first = tf.equal(tf.ragged.range(ragged.row_lengths()).flat_values, 0)
        ids, scores = self._tag(ragged, is_first)
        tags = ids.with_flat_values(tf.gather(self._tags, ids.flat_values)).to_tensor()  # [batch, most tokens of a row]
        columns = [[0, 0], [0, tf.shape(tokens)[1] - tf.shape(tags)[1]]]
        return {
            "tags": tf.pad(tags, columns, constant_values=""),
            "scores": tf.pad(scores.to_tensor(), columns),
            "num_tokens": tf.cast(ragged.row_lengths(), tf.int32),
        }

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")], autograph=False)
    def find_entities(self, text):
        """Returns the entities of texts, string [batch]; see `entity_ops.entities`. Only for tags that mark spans."""
        words = self._features.split(text)
        starts_sentence = _starts_sentence(words.sentence)
        ids, scores = self._tag(words.tokens, starts_sentence)
        return self._group(words, ids.flat_values, scores.flat_values, starts_sentence)

    @functools.cached_property
    def trace(self):
        """The signature trace (trace.py) as a concrete function; only for networks that `is_traceable`."""
        return self._make_trace()

    @functools.cached_property
    def intervene(self):
        """The signature intervene: `trace` with interventions (networks/interventions.py)."""
        return self._make_trace(with_interventions=True)

    def _tag(self, tokens: tf.RaggedTensor, starts_sentence: tf.Tensor) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
        """Tags the tokens of each sentence.

        Args:
            tokens: ragged string [batch, (tokens)].
            starts_sentence: bool [n], whether a sentence starts at each of the n tokens of the batch.

        Returns:
            The numbers of the tags, ragged int32 [batch, (tokens)], and their probabilities, ragged float32.
        """
        # One more sentence, whose tag is dropped below: without a row, the network would multiply empty matrices.
        flat_tokens = tf.concat([tokens.flat_values, [""]], axis=0)
        rows = _divided(flat_tokens, tf.concat([starts_sentence, [True]], axis=0), self._max_tokens)
        num_rows = rows.nrows(out_type=tf.int32)
        num_batches = -(-num_rows // _ROWS)

        def tag_batch(i, ids, probabilities):
            ids_of_rows, scores_of_rows = self._tag_rows(rows[i * _ROWS : (i + 1) * _ROWS])
            return i + 1, ids.write(i, ids_of_rows), probabilities.write(i, scores_of_rows)

        def flat(dtype):
            return tf.TensorArray(dtype, num_batches, infer_shape=False, element_shape=[None])

        _, ids, probabilities = tf.while_loop(
            lambda i, *_: i < num_batches,
            tag_batch,
            (0, flat(tf.int32), flat(tf.float32)),
            parallel_iterations=1,  # several batches at once would need as many times the memory
        )
        return tokens.with_flat_values(ids.concat()[:-1]), tokens.with_flat_values(probabilities.concat()[:-1])

    def _tag_rows(self, tokens: tf.RaggedTensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the ids of the tags of all tokens, int32 [n], and their probabilities, float32 [n]."""
        inputs = {name: values.to_tensor() for name, values in self._features(tokens).items()}
        mask = tf.sequence_mask(tokens.row_lengths())  # [rows, time]
        ids, marginals = self._decode(self._model(inputs), mask)
        scores = tf.gather(marginals, ids, batch_dims=2)
        return tf.boolean_mask(ids, mask), tf.boolean_mask(scores, mask)

    def member(self, name: str) -> "Tagger":
        """Returns the tagger whose scores are those of the model's inner layer `name`, another CRF."""
        return self._member(self._layer(name))

    def signatures(self) -> dict:
        """Returns the functions to export."""
        signatures = {
            "serving_default": self.tag_text.get_concrete_function(),
            "tokens": self.tag_tokens.get_concrete_function(),
        }
        if self._marks_spans:
            signatures["entities"] = self.find_entities.get_concrete_function()
        return signatures | ({"trace": self.trace, "intervene": self.intervene} if self._is_traceable else {})


def _starts_sentence(sentence: tf.RaggedTensor) -> tf.Tensor:
    """Returns whether a token is the first of a sentence, bool [n].

    Args:
        sentence: ragged int32 [batch, (tokens)], number of each token's sentence in its text.
    """
    numbers = sentence.flat_values
    text = tf.cast(sentence.value_rowids(), tf.int32)
    differs = tf.logical_or(numbers[1:] != numbers[:-1], text[1:] != text[:-1])
    return tf.concat([tf.ones_like(numbers[:1], tf.bool), differs], axis=0)


def _divided(tokens: tf.Tensor, starts_sentence: tf.Tensor, max_tokens: int) -> tf.RaggedTensor:
    """Returns the sentences as rows of at most `max_tokens` tokens: ragged string [rows, (tokens)].

    Args:
        tokens: string [n].
        starts_sentence: bool [n]; the first is True.
    """
    sentence = tf.cumsum(tf.cast(starts_sentence, tf.int32)) - 1
    first = tf.cast(tf.where(starts_sentence)[:, 0], tf.int32)  # [sentences]
    position = tf.range(tf.size(tokens)) - tf.gather(first, sentence)
    starts_row = tf.equal(position % max_tokens, 0)
    row = tf.cumsum(tf.cast(starts_row, tf.int64)) - 1
    return tf.RaggedTensor.from_value_rowids(tokens, row, validate=False)
