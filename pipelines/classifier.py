"""What is exported of a text classifier: strings in; a label with its probability out, or the words that speak for it."""

import keras
import tensorflow as tf

from pipelines.text import Tokenizer, window

MOST_PIECES = 200  # that an explanation tells apart: each costs an answer of its own


class Classifier(tf.Module):
    """The servable of a classifier.

    Args:
        model: ids int32 [batch, time] -> logits [batch, classes].
        tokenizer: makes the ids.
        max_tokens: the window.
        classes: their names.
    """

    def __init__(self, model: keras.Model, tokenizer: Tokenizer, max_tokens: int, classes: tuple[str, ...]):
        super().__init__()
        self._tokenizer = tokenizer
        self._classes = tf.constant(classes, tf.string)
        self._max_tokens = max_tokens
        self._variables = [weight.value for weight in model.weights]  # so that the SavedModel holds them
        self._model = lambda ids: model(ids, training=False)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def classify(self, text):
        """string [batch] -> label: string [batch], score: float32 [batch], probabilities: float32 [batch, classes]."""
        return self._answer(self._model(window(self._tokenizer.encode(text), self._max_tokens).to_tensor()))

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def explain(self, text):
        """Why a text gets its label: what each word adds to the label's log-odds, which is what they lose when it is deleted.

        Of a text with more than `MOST_PIECES` tokens, neighbours are deleted together.

        Returns:
            those of `classify`, and pieces: string [batch, pieces], weights: float32 [batch, pieces], positive for what speaks
            for the label; behind the last piece of a text there are "" and 0.
        """
        ids = window(self._tokenizer.encode(text), self._max_tokens)
        tokens = window(self._tokenizer.tokens(text), self._max_tokens)
        logits, pieces, weights = tf.map_fn(
            lambda row: self._explain_one(*row),
            (ids, tokens),
            fn_output_signature=(
                tf.TensorSpec(self._classes.shape, tf.float32),
                tf.RaggedTensorSpec([None], tf.string, ragged_rank=0),
                tf.RaggedTensorSpec([None], tf.float32, ragged_rank=0),
            ),
        )
        return {**self._answer(logits), "pieces": pieces.to_tensor(), "weights": weights.to_tensor()}

    def _answer(self, logits) -> dict[str, tf.Tensor]:
        probabilities = tf.nn.softmax(logits)
        label = tf.gather(self._classes, tf.argmax(probabilities, axis=-1))
        return {"label": label, "score": tf.reduce_max(probabilities, axis=-1), "probabilities": probabilities}

    def _explain_one(self, ids, tokens):
        """ids int32 [time] and tokens string [time], from START to END -> logits [classes], pieces [n], weights [n]."""
        inner = tf.size(ids) - 2  # START and END are in no piece
        length = tf.maximum(1, -(-inner // MOST_PIECES))
        pieces = -(-inner // length)
        piece_of = tf.concat([[-1], tf.range(inner) // length, [-1]], axis=0)
        # Row 0 is the whole text; in row i + 1 piece i is left out.
        kept = piece_of[None, :] != tf.range(-1, pieces)[:, None]
        kept = tf.concat([tf.ones_like(kept[:1]), kept[1:]], axis=0)
        variants = tf.ragged.boolean_mask(tf.repeat(ids[None], pieces + 1, axis=0), kept)
        logits = self._model(variants.to_tensor())
        label = tf.argmax(logits[0], output_type=tf.int32)
        chosen = tf.one_hot(label, tf.shape(logits)[1], on_value=True, off_value=False)
        others = tf.reduce_logsumexp(tf.where(chosen, -float("inf"), logits), axis=-1)
        log_odds = logits[:, label] - others
        words = tf.strings.reduce_join(
            tf.RaggedTensor.from_value_rowids(tokens[1:-1], piece_of[1:-1], pieces, validate=False),
            axis=-1, separator=" ",
        )  # fmt: skip
        return logits[0], words, log_odds[0] - log_odds[1:]

    def signatures(self) -> dict:
        return {"serving_default": self.classify.get_concrete_function(), "explain": self.explain.get_concrete_function()}
