"""What is exported of a text classifier: strings in; a label with its probability out, or the weights of its words."""

import functools

import keras
import tensorflow as tf

from pipelines.classification import columns
from pipelines.classification.networks import VECTORS
from pipelines.classification.reader import Reader
from pipelines.classification.trace import make_trace
from pipelines.data.fields import Field, read_fields
from pipelines.labelled.outputs import (
    CLASSES,
    MOST_PROBABLE,
    NUMBER_OF_CLASSES,
    TEXT,
    Decision,
    classes_signature,
    label_index,
    label_outputs,
    with_top_classes,
)
from pipelines.networks.traced import is_traceable
from pipelines.text.tokenizers import Tokenizer, keep_ends

MAX_PIECES = 200  # of an explanation: the model labels the text once per piece
_MAX_PIECES_WITH_ENCODER = 20  # which then reads the text as often


def network_inputs(inputs: dict[str, tf.RaggedTensor]) -> dict[str, tf.RaggedTensor] | tf.RaggedTensor:
    """Returns the inputs as the network takes them: the ids alone if there are no others."""
    return inputs if len(inputs) > 1 else inputs["ids"]


class Classifier(tf.Module):
    """The servable of a classifier.

    Args:
        model: ids int32 [batch, time] -> logits [batch, classes].
        tokenizer: makes the ids.
        max_tokens: maximum number of tokens per text; longer texts keep their first and last half.
        max_characters: maximum number of characters for the linear model; 0 if it counts none.
        classes: names of the classes.
        decision: how labels follow from probabilities.
        max_encoder_tokens: maximum number of tokens that the encoder reads; `max_tokens` if not given.
        fields: the columns that the model reads, if there are several.
    """

    def __init__(
        self,
        model: keras.Model,
        tokenizer: Tokenizer | Reader,
        max_tokens: int,
        max_characters: int,
        classes: tuple[str, ...],
        decision: Decision = MOST_PROBABLE,
        max_encoder_tokens: int | None = None,
        fields: tuple[Field, ...] = (),
    ):
        super().__init__()
        self.fields = fields
        self._classify_columns = columns.columns_signature(fields, self.classify) if fields else None
        self.decision = decision
        self._tokenizer = tokenizer
        self._classes = tf.constant(classes, tf.string)
        self._max_tokens = max_tokens
        self._max_characters = max_characters
        self.has_encoder = isinstance(tokenizer, Reader)
        self._max_pieces = _MAX_PIECES_WITH_ENCODER if self.has_encoder else MAX_PIECES
        self._top_classes = self._make_top_classes()
        # The SavedModel holds the variables of tf.Module's attributes.
        self._variables = [weight.value for weight in model.weights]
        self._model = lambda ids: model(ids, training=False)
        self._is_traceable = is_traceable(model)
        self._make_trace = lambda **options: make_trace(
            model, tokenizer, min(max_tokens, max_encoder_tokens or max_tokens), self._inputs, self._outputs, **options
        )

    @tf.function(input_signature=[TEXT], autograph=False)
    def classify(self, text):
        """Labels texts: string [batch] -> the outputs of `label_outputs`, with the most probable classes."""
        ids = keep_ends(self._tokenizer.encode(text), self._max_tokens)  # [batch, (tokens)]
        tokens = keep_ends(self._tokenizer.tokens(text), self._max_tokens)
        return with_top_classes(self._outputs(self._logits(ids, tokens, text)), self._classes)

    def _make_top_classes(self):
        """The signature `classes`; None of numbers, and where a column of the model has the name of its input."""
        classify = self._classify_columns or self.classify
        inputs = classify.input_signature if self.fields else (TEXT,)
        if self.decision.number or NUMBER_OF_CLASSES in (each.name for each in inputs):
            return None
        return classes_signature(classify, self._classes, inputs)

    @functools.cached_property
    def trace(self):
        """The signature trace (trace.py) as a concrete function; only for networks that `is_traceable`."""
        return self._make_trace()

    @functools.cached_property
    def intervene(self):
        """The signature intervene: `trace` with interventions (networks/interventions.py)."""
        return self._make_trace(with_interventions=True)

    @tf.function(input_signature=[TEXT], autograph=False)
    def explain(self, text):
        """Labels texts and weights their tokens. A weight is what the label's log-odds lose when the token is deleted.

        In a text with more than `MAX_PIECES` tokens (20 with an encoder), neighbouring tokens are deleted together, as
        one piece.

        Args:
            text: string [batch].

        Returns:
            The outputs of `label_outputs`, with pieces: string [batch, pieces], and weights: float32 [batch, pieces],
            positive for a piece that counts for the label. After the last piece of a text there are "" and 0. With
            several labels per text, weights: float32 [batch, pieces, classes], for every class. Of several columns,
            fields: string [batch, pieces], the field of each piece; a number is one piece, such as "price >= 2".
        """
        by_class = [len(self._classes)] if self.decision.multi_label else []
        ids = keep_ends(self._tokenizer.encode(text), self._max_tokens)
        all_tokens = self._tokenizer.tokens(text)
        tokens = keep_ends(all_tokens, self._max_tokens)
        read = read_fields(self.fields) or [Field("")]
        ranges = columns.ranges_of(read, text)
        if self.fields:
            field_of = tf.minimum(keep_ends(columns.field_of(all_tokens), self._max_tokens), len(read) - 1)
        else:
            field_of = tokens.with_flat_values(tf.zeros_like(tokens.flat_values, tf.int32))
        logits, pieces, weights, fields = tf.map_fn(
            lambda row: self._explain_one(*row),
            (ids, tokens, field_of, ranges),
            fn_output_signature=(
                tf.TensorSpec(self._classes.shape, tf.float32),
                tf.RaggedTensorSpec([None], tf.string, ragged_rank=0),
                tf.RaggedTensorSpec([None, *by_class], tf.float32, ragged_rank=0),
                tf.RaggedTensorSpec([None], tf.int32, ragged_rank=0),
            ),
        )
        outputs = {**self._outputs(logits), "pieces": pieces.to_tensor(), "weights": weights.to_tensor()}
        if self.fields:
            names = tf.constant([field.name for field in read])
            outputs["fields"] = tf.ragged.map_flat_values(lambda each: tf.gather(names, each), fields).to_tensor()
        return outputs

    def _explain_one(self, ids, tokens, field_of, ranges):
        """Explains one text of these ids and tokens: -> logits [classes]; pieces, weights and their fields, [n] each.

        Args:
            field_of, ranges: see `_pieces`, with START and END.
        """
        fields, piece_of = self._pieces(tokens[1:-1], field_of[1:-1], ranges)
        num_pieces = tf.size(fields)
        piece_of = tf.concat([[-1], piece_of, [-1]], axis=0)  # START and END are in no piece
        # Row 0 is the whole text; row i + 1 is the text without piece i.
        kept = piece_of[None, :] != tf.range(-1, num_pieces)[:, None]  # [pieces + 1, tokens]
        kept = tf.concat([tf.ones_like(kept[:1]), kept[1:]], axis=0)
        variants = tf.ragged.boolean_mask(tf.repeat(ids[None], num_pieces + 1, axis=0), kept)
        token_variants = tf.ragged.boolean_mask(tf.repeat(tokens[None], num_pieces + 1, axis=0), kept)
        logits = self._logits(variants, token_variants)  # [pieces + 1, classes]
        is_of_piece = piece_of >= 0
        tokens_of_piece = tf.RaggedTensor.from_value_rowids(
            tf.boolean_mask(tokens, is_of_piece), tf.boolean_mask(piece_of, is_of_piece), num_pieces, validate=False
        )
        pieces = tf.strings.reduce_join(tokens_of_piece, axis=-1, separator=" ")
        numbers = tf.gather(ranges, fields)  # [pieces]
        log_odds = self._log_odds(self.decision.scale * logits)
        return logits[0], tf.where(numbers == "", pieces, numbers), log_odds[0] - log_odds[1:], fields

    def _pieces(self, tokens, field_of, ranges):
        """Divides a text into pieces of one token, or of several, of one field. Marks are in no piece.

        Args:
            tokens, field_of: string and int32 [tokens].
            ranges: string [fields], see `columns.ranges_of`; the words of a number are one piece.

        Returns:
            The field of each piece, int32 [pieces], and the piece of each token, int32 [tokens]; -1 of a mark.
        """
        num_tokens = tf.size(tokens)
        length = tf.maximum(1, -(-num_tokens // self._max_pieces))  # tokens per piece
        is_mark = columns.is_field_mark(tokens) if self.fields else tf.zeros_like(field_of, tf.bool)
        row = tf.range(num_tokens)
        starts = tf.math.unsorted_segment_min(tf.where(is_mark, num_tokens, row), field_of, tf.size(ranges))
        position = row - tf.gather(starts, field_of)
        is_number = tf.gather(ranges, field_of) != ""
        is_first = ~is_mark & tf.where(is_number, position == 0, position % length == 0)
        piece_of = tf.where(is_mark, -1, tf.cumsum(tf.cast(is_first, tf.int32)) - 1)
        return tf.boolean_mask(field_of, is_first), piece_of

    def _log_odds(self, logits):
        """Logits [n, classes] -> the log-odds of row 0's label, [n]; with several labels, of every class."""
        if self.decision.multi_label:
            return logits
        label = label_index(tf.nn.softmax(logits[:1]), self.decision, self._classes.shape[0])[0]
        is_label = tf.one_hot(label, tf.shape(logits)[1], on_value=True, off_value=False)
        others = tf.reduce_logsumexp(tf.where(is_label, -float("inf"), logits), axis=-1)
        return logits[:, label] - others

    def _logits(self, ids: tf.RaggedTensor, tokens: tf.RaggedTensor, texts: tf.Tensor | None = None) -> tf.Tensor:
        """The logits, [batch, classes], of texts of these ids, which spell these tokens."""
        return self._model(self._inputs(ids, tokens, texts))

    def _inputs(self, ids: tf.RaggedTensor, tokens: tf.RaggedTensor, texts: tf.Tensor | None = None):
        """What the network reads, padded, of texts of these ids, which spell these tokens.

        Args:
            texts: string [batch], which an encoder reads; None: the tokens, with spaces between them.
        """
        inputs = {"ids": ids.to_tensor()}
        if self._max_characters:
            inputs["characters"] = keep_ends(self._tokenizer.spell(tokens), self._max_characters).to_tensor()
        if self.has_encoder:
            if texts is None:
                texts = tf.strings.reduce_join(tokens[:, 1:-1], axis=-1, separator=" ")
            inputs[VECTORS] = self._tokenizer.vectors(texts)
        return network_inputs(inputs)

    def _outputs(self, logits: tf.Tensor) -> dict:
        """The labels and probabilities that follow from logits [batch, classes]."""
        return label_outputs(logits, self._classes, self.decision)

    def signatures(self) -> dict:
        """Returns the functions to export. None is traced before its first use."""
        signatures = {"serving_default": self.classify}
        if self.fields:
            signatures = {"serving_default": self._classify_columns, "composed": self.classify}
            signatures["columns"] = columns.inputs_signature(self.fields)
        if self.decision.number:
            return signatures
        if self._top_classes:
            signatures[CLASSES] = self._top_classes
        signatures["explain"] = self.explain
        return signatures | ({"trace": self.trace, "intervene": self.intervene} if self._is_traceable else {})
