"""What is exported of a translator: sentences in, translations out; with knobs, with where it looked, and scores of given pairs."""

import keras
import tensorflow as tf

from pipelines import decoding, translation_models, translation_steps
from pipelines.configs.nmt import WITH_ATTENTION, NmtConfig
from pipelines.text import END, PAD, START, UNKNOWN, Tokenizer

MOST_BEAMS = 16
MOST_TOKENS = 1000
NEVER = (PAD, UNKNOWN, START)


def _inputs(**dtypes):
    return [tf.TensorSpec([None], dtype, name=name) for name, dtype in dtypes.items()]


class Translator(tf.Module):
    """The servable of a translation model.

    A sentence without a word has the empty translation. What a sentence gets does not depend on the others in the batch. Of a
    sentence of more than `config.max_tokens` pieces the first ones are read; a translation has at most twice as many pieces as
    its source, and ten.

    Args:
        config: of the run.
        model: made by `translation_models.build`.
        source, target: the tokenizers of the two languages.
    """

    def __init__(self, config: NmtConfig, model: keras.Model, source: Tokenizer, target: Tokenizer):
        super().__init__()
        self._config = config
        self._model = model
        self._parts = translation_models.parts_of(model)
        self._variables = [weight.value for weight in model.weights]  # so that the SavedModel holds them
        self._source, self._target = source, target
        if config.model in WITH_ATTENTION:  # a SavedModel traces all that a module has
            self.align = tf.function(self._align, input_signature=_inputs(text=tf.string))

    @tf.function(input_signature=_inputs(text=tf.string))
    def translate_text(self, text):
        """string [batch] -> translation: string [batch], and its score: float32 [batch]; with the config's beam."""
        outputs = self.translate(text, *self._defaults(text))
        return {name: outputs[name] for name in ("translation", "score")}

    @tf.function(input_signature=_inputs(text=tf.string, beam_width=tf.int32, length_penalty=tf.float32, max_length=tf.int32))
    def translate(self, text, beam_width, length_penalty, max_length):
        """Translates by beam search (decoding.beam); all inputs [batch].

        Args:
            beam_width: hypotheses kept, at most MOST_BEAMS; 1 is greedy.
            length_penalty: exponent of the length by which scores are divided; 0 for none.
            max_length: pieces of a translation at most.

        Returns:
            translation: string [batch] and score: float32 [batch], the best; translations: string [batch, n], scores and
            log_probabilities: float32 [batch, n], the different ones that were kept, the best first; n is the largest width. Behind as
            many as a row has there are empty ones with score -1e9. A log-probability is that of the text, as `score` gives it. cut: bool
            [batch], whether the text has more pieces than were read.

        Raises:
            InvalidArgumentError: a beam_width below 1, or a negative length_penalty or max_length.
        """
        with tf.control_dependencies(
            [
                tf.debugging.assert_positive(beam_width, "beam_width must be 1 or more"),
                tf.debugging.assert_non_negative(length_penalty, "length_penalty must be 0 or more"),
                tf.debugging.assert_non_negative(max_length, "max_length must be 0 or more"),
            ]
        ):  # all else needs the text or the lengths, so that nothing runs before the knobs are known to be good
            text, max_length = tf.identity(text), tf.clip_by_value(max_length, 0, MOST_TOKENS)
        all_pieces, source = self._source_ids(text)
        pieces = tf.cast(source.row_lengths(), tf.int32) - 1
        lengths = tf.where(pieces > 0, tf.minimum(max_length, 2 * pieces + 10), 0)
        source = source.to_tensor()
        state = translation_steps.start(self._config, self._parts, source)
        logits, state = self._step(tf.fill(tf.shape(text), START), state)
        width = tf.clip_by_value(beam_width, 1, MOST_BEAMS)
        tokens, _, _, kept = decoding.beam(
            self._step, logits, state, lengths, width, length_penalty, END, NEVER, MOST_BEAMS, fixed=("memory",)
        )
        n = tf.shape(tokens)[1]
        translations = tf.reshape(self._target.decode(tf.reshape(tokens, [-1, tf.shape(tokens)[2]])), [-1, n])
        # The same text can be written in several ways of cutting it into pieces: it counts once, and its score is that of the usual one.
        earlier = tf.linalg.band_part(tf.ones([n, n]), -1, 0) - tf.eye(n) > 0
        repeated = tf.reduce_any((translations[:, :, None] == translations[:, None, :]) & earlier, axis=2)
        real = (kept > -1e8) & ~repeated
        translations = tf.where(real, translations, "")
        log_probability, counts = self._score_each(source, translations)
        log_probability = tf.where(real, log_probability, -1e9)
        scores = tf.where(real, _normalised(log_probability, counts, length_penalty[:, None]), -1e9)
        scores, order = tf.math.top_k(scores, n)
        translations = tf.gather(translations, order, batch_dims=1)
        return {
            "translation": translations[:, 0],
            "score": scores[:, 0],
            "translations": translations,
            "scores": scores,
            "log_probabilities": tf.gather(log_probability, order, batch_dims=1),
            "cut": all_pieces > pieces,
        }

    @tf.function(input_signature=_inputs(text=tf.string, translation=tf.string))
    def score(self, text, translation):
        """How likely a translation is; both inputs [batch]. Of one of more than MOST_TOKENS pieces the first are read.

        Returns:
            log_probability: float32 [batch], in nats, its end included; score: float32 [batch], with the config's length penalty;
            tokens: int32 [batch], its pieces and the end.
        """
        log_probability, counts = self._score_each(self._source_ids(text)[1].to_tensor(), translation[:, None])
        log_probability, counts = log_probability[:, 0], counts[:, 0]
        score = _normalised(log_probability, counts, self._config.length_penalty)
        return {"log_probability": log_probability, "score": score, "tokens": counts}

    def _align(self, text):
        """Translates, and says where the model looked: `align`, of a model with attention.

        Returns:
            translation, score: as serving_default; source_tokens: string [batch, Ts] and target_tokens: string [batch, Tt], each with the
            end's token, "" behind it; weights: float32 [batch, heads, Tt, Ts], of each target token over the source (a transformer's
            are those of its last block).
        """
        outputs = self.translate_text(text)
        _, source = self._source_ids(text)
        target = self._target.encode(outputs["translation"])
        encoded = translation_models.encode(self._config, self._parts, source.to_tensor())
        _, weights = translation_models.decode(self._config, self._parts, encoded, target[:, :-1].to_tensor(), return_weights=True)
        lengths = target.row_lengths() - 1
        weights *= tf.cast(tf.sequence_mask(lengths), tf.float32)[:, None, :, None]
        source_tokens = tf.concat([self._source.tokens(text)[:, 1:-1][:, : self._config.max_tokens], tf.fill([source.nrows(), 1], "<end>")], 1)
        target_tokens = self._target.tokens(outputs["translation"])[:, 1:]
        return outputs | {
            "source_tokens": source_tokens.to_tensor(), "target_tokens": target_tokens.to_tensor(), "weights": weights,
        }  # fmt: skip

    def signatures(self) -> dict:
        named = {name: getattr(self, name).get_concrete_function() for name in ("translate", "score")}
        if self._config.model in WITH_ATTENTION:
            named["align"] = self.align.get_concrete_function()
        return {"serving_default": self.translate_text.get_concrete_function(), **named}

    def _defaults(self, text):
        values = (self._config.beam_width, self._config.length_penalty, MOST_TOKENS)
        return [tf.fill(tf.shape(text), value) for value in values]

    def _source_ids(self, text):
        """How many pieces a text has, int32 [rows]; those that are read, and END behind them, ragged int32 [rows, (pieces)]."""
        everything = self._source.encode(text)[:, 1:-1]
        pieces = everything[:, : self._config.max_tokens]
        return tf.cast(everything.row_lengths(), tf.int32), tf.concat([pieces, tf.fill([pieces.nrows(), 1], END)], axis=1)

    def _score_each(self, source, translations):
        """(log-probability float32 [rows, n], pieces and the end int32 [rows, n]) of translations, string [rows, n], of each source, int32
        ids [rows, Ts]."""
        encoded = translation_models.encode(self._config, self._parts, source)

        def score(translation):
            target = self._target.encode(translation)
            target = tf.concat([target[:, :-1][:, : MOST_TOKENS + 1], tf.fill([target.nrows(), 1], END)], axis=1)
            counts = tf.cast(target.row_lengths(), tf.int32) - 1
            logits = translation_models.decode(self._config, self._parts, encoded, target[:, :-1].to_tensor())
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(target[:, 1:].to_tensor(), logits)
            return -tf.reduce_sum(tf.where(tf.sequence_mask(counts, tf.shape(losses)[1]), losses, 0.0), axis=1), counts

        # One after the other: the logits of all at once, [rows, n, Tt, vocabulary], can be gigabytes.
        shapes = (tf.TensorSpec([None], tf.float32), tf.TensorSpec([None], tf.int32))
        scored = tf.map_fn(score, tf.transpose(translations), fn_output_signature=shapes, parallel_iterations=1)
        return tuple(tf.transpose(each) for each in scored)

    def _step(self, ids, state):
        return translation_steps.step(self._config, self._parts, ids, state)


def _normalised(log_probability, counts, length_penalty):
    return log_probability / decoding.length_divisor(counts, length_penalty)
