"""What is exported of a translator: sentences in; translations, their scores and attention weights out."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import keras
import tensorflow as tf

from pipelines.decoding import sampling, streaming
from pipelines.decoding.beam_search import Hypotheses, beam_search, length_divisor, num_columns
from pipelines.decoding.loop import weights_read_once
from pipelines.decoding.options import (
    MAX_BEAM_WIDTH,
    MAX_TRANSLATION_LENGTH,
    SAMPLED_TRANSLATION,
    TRANSLATION,
    clipped,
    filled,
    in_range,
    signature_specs,
    with_defaults,
)
from pipelines.text.tokenizers import END, PAD, SPECIAL_TOKENS, START, UNKNOWN, Tokenizer, append
from pipelines.translation import networks, steps
from pipelines.translation.config import WITH_ATTENTION, TranslationConfig
from pipelines.translation.trace import make_trace

BANNED_IDS = (PAD, UNKNOWN, START)
NO_TRANSLATION_SCORE = -1e9  # of the empty translations that fill up a row

_TEXT = tf.TensorSpec([None], tf.string, name="text")
_TRANSLATION = tf.TensorSpec([None], tf.string, name="translation")


class _Source(NamedTuple):
    """The sources of a batch."""

    encoded: dict  # of the ids; see `networks.encode`
    lengths: tf.Tensor  # int32 [batch], number of tokens without END
    cut: tf.Tensor  # bool [batch], whether the text has more tokens than are read


class Translator(tf.Module):
    """The servable of a translator.

    A text without words has the empty translation. The translation of a text does not depend on the other texts in the
    batch. Of a text with more than `config.max_tokens` tokens the first ones are read. A translation has at most 2 n +
    10 tokens, where n is the number of tokens that are read.

    Args:
        config: config of the run.
        model: made by `networks.build`.
        source, target: tokenizers of the two languages.
    """

    def __init__(self, config: TranslationConfig, model: keras.Model, source: Tokenizer, target: Tokenizer):
        super().__init__()
        self._config = config
        self._parts = networks.layers_by_name(model)
        self._model = model
        self._variables = [weight.value for weight in model.weights]  # so that the SavedModel holds them
        self._source, self._target = source, target
        self._defaults = with_defaults(
            TRANSLATION, {"beam_width": config.beam_width, "length_penalty": config.length_penalty}, {}
        )

    def signatures(self) -> dict:
        """Returns the functions to export: serving_default, translate, sample, in pieces, score, trace, maybe align."""

        @tf.function(autograph=False)
        def translate(text, **options):
            return self.translate(text, options)

        @tf.function(autograph=False)
        def sample(text, **options):
            return self.sample(text, options)

        functions = {
            "serving_default": self.translate_text.get_concrete_function(),
            "translate": translate.get_concrete_function(text=_TEXT, **signature_specs(TRANSLATION)),
            "sample": sample.get_concrete_function(text=_TEXT, **signature_specs(SAMPLED_TRANSLATION)),
            "score": self.score.get_concrete_function(),
            "decode": self.decode.get_concrete_function(),
            **self.in_pieces,
        }
        if self._config.model in WITH_ATTENTION:
            functions["align"] = self.align.get_concrete_function()
        functions["trace"] = self.trace
        return functions

    @functools.cached_property
    def trace(self):
        """The signature trace (trace.py) as a concrete function."""
        config = self._config
        return make_trace(
            self._model, self._source, self._target, config.max_tokens, self.translate_text, config.reverse_source
        )

    @tf.function(input_signature=[_TEXT], autograph=False)
    def translate_text(self, text):
        """Translates with the config's beam width and length penalty: the signature serving_default.

        Args:
            text: string [batch].

        Returns:
            translation: string [batch]; score: float32 [batch].
        """
        outputs = self._translate(text, filled(TRANSLATION, self._defaults, text), 1)
        return {name: outputs[name] for name in ("translation", "score")}

    def translate(self, text, options):
        """Translates by beam search (beam_search): the signature translate.

        Args:
            text: string [batch].
            options: option of `TRANSLATION` -> values [batch]. Values above an option's maximum are set to the maximum.

        Returns:
            translation: string [batch] and score: float32 [batch], those of the best hypothesis.
            translations: string [batch, n], scores and log_probabilities: float32 [batch, n], those of all different
                translations, the best first, where n is the largest number of them of a row. A row with fewer
                translations is filled up with empty ones whose score is -1e9. A log-probability is that of the text,
                as `score` returns it.
            cut: bool [batch], whether the text has more tokens than are read.

        Raises:
            InvalidArgumentError: an option is below its minimum.
        """
        return self._translate(text, options, MAX_BEAM_WIDTH)

    @tf.function(input_signature=[_TEXT, signature_specs(TRANSLATION), tf.TensorSpec([], tf.int32)], autograph=False)
    def _translate(self, text, options, num_best):
        """As `translate`; the search ends when it cannot find better ones than the `num_best` best hypotheses."""
        # All operations below need the text or the maximum length, so none runs before the options are checked.
        with tf.control_dependencies(in_range(TRANSLATION, options)):
            text, options = tf.identity(text), clipped(TRANSLATION, options)
        source = self._read_source(text)
        hypotheses = self._search(source, options, num_best)
        ranked = self._rank(source, hypotheses, options["length_penalty"])
        n = num_columns(ranked[1])
        translations, scores, log_probabilities = (each[:, :n] for each in ranked)
        return {
            "translation": translations[:, 0],
            "score": scores[:, 0],
            "translations": translations,
            "scores": scores,
            "log_probabilities": log_probabilities,
            "cut": source.cut,
        }

    @tf.function(input_signature=[_TEXT, signature_specs(SAMPLED_TRANSLATION)], autograph=False)
    def sample(self, text, options):
        """Translates by sampling (sampling.py): the signature sample.

        Args:
            text: string [batch].
            options: option of `SAMPLED_TRANSLATION` -> values [batch].

        Returns:
            translation: string [batch]; log_probability: float32 [batch], of its tokens and the end token under the
            model itself, whatever the options; cut: see `translate`.

        Raises:
            InvalidArgumentError: an option is out of its range.
        """
        with tf.control_dependencies(in_range(SAMPLED_TRANSLATION, options)):
            text, options = tf.identity(text), clipped(SAMPLED_TRANSLATION, options)
        source = self._read_source(text)
        options = self._completed(source, options)
        with weights_read_once(self._model):
            step, logits, state = self._start(source)
            samples = sampling.sample(
                step, logits, state, options, banned_ids=BANNED_IDS, end_id=END, make_room=steps.make_room
            )
        return {
            "translation": self.decode(samples.tokens)["text"],
            "log_probability": samples.log_probabilities,
            "cut": source.cut,
        }

    def _completed(self, source: _Source, options: dict) -> dict:
        """Returns all options of sampling, from those of `SAMPLED_TRANSLATION`."""
        max_length = self._max_lengths(source, options["max_length"])
        return options | {"max_length": max_length, "repetition_penalty": tf.ones_like(options["temperature"])}

    @functools.cached_property
    def in_pieces(self) -> dict:
        """The signatures `sample_start` and `sample_step` (streaming.py), which return the tokens of `sample`."""

        def begin(text, options):
            source = self._read_source(text)
            _, logits, state = self._start(source)
            state, stop_ids = steps.make_room(state), tf.fill([tf.size(text), 1], PAD)
            seen, lead = tf.zeros_like(logits, tf.bool), tf.fill(tf.shape(text), "")
            begun = streaming.Begun(logits, state, stop_ids, seen, lead, source.lengths)
            return begun, self._completed(source, options)

        rules = SAMPLED_TRANSLATION, BANNED_IDS, END
        make_step = functools.partial(self._make_step, at_once=False)
        return streaming.make_signatures(begin, make_step, steps.align, lambda: weights_read_once(self._model), *rules)

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32, name="ids")], autograph=False)
    def decode(self, ids):
        """Returns text: string [batch], of ids int32 [batch, time], up to the end token."""
        return {"text": self._target.decode(tf.where(ids == END, PAD, ids))}

    @tf.function(input_signature=[_TEXT, _TRANSLATION], autograph=False)
    def score(self, text, translation):
        """Scores given translations: the signature score.

        Args:
            text, translation: string [batch]. Of a translation with more than MAX_TRANSLATION_LENGTH tokens the first
                ones are read.

        Returns:
            log_probability: float32 [batch], in nats, including the end token.
            score: float32 [batch], with the config's length penalty.
            tokens: int32 [batch], number of tokens including the end token.
            target_tokens: string [batch, Tt], these tokens, filled up with "".
            token_log_probabilities: float32 [batch, Tt], of each of them; 0 after the end token.
        """
        encoded = self._read_source(text).encoded
        by_token, length = self._score_tokens(encoded, translation)
        log_probability = tf.reduce_sum(by_token, axis=1)
        tokens = self._target.tokens(translation)[:, 1:-1][:, :MAX_TRANSLATION_LENGTH]
        return {
            "log_probability": log_probability,
            "score": _normalize_by_length(log_probability, length, self._config.length_penalty),
            "tokens": length,
            "target_tokens": append(tokens, SPECIAL_TOKENS[END]).to_tensor(),
            "token_log_probabilities": by_token,
        }

    @tf.function(input_signature=[_TEXT], autograph=False)
    def align(self, text):
        """Translates and returns the attention weights: the signature align of models with attention.

        Args:
            text: string [batch].

        Returns:
            translation, score: as serving_default.
            source_tokens: string [batch, Ts] and target_tokens: string [batch, Tt], both with the end token and filled
                up with "".
            weights: float32 [batch, heads, Tt, Ts], attention weights of each target token; a transformer's are those
                of its last block.
        """
        outputs = self.translate_text(text)
        target = self._target.encode(outputs["translation"])  # START, tokens, END
        encoded = self._read_source(text).encoded
        inputs = target[:, :-1].to_tensor()  # [batch, Tt]
        _, weights = networks.decode(self._config, self._parts, encoded, inputs, return_weights=True)
        in_target = tf.sequence_mask(target.row_lengths() - 1)  # [batch, Tt]
        source_tokens = self._source.tokens(text)[:, 1:-1][:, : self._config.max_tokens]
        source_tokens = append(source_tokens, SPECIAL_TOKENS[END])
        target_tokens = self._target.tokens(outputs["translation"])[:, 1:]
        return outputs | {
            "source_tokens": source_tokens.to_tensor(),
            "target_tokens": target_tokens.to_tensor(),
            "weights": weights * tf.cast(in_target, tf.float32)[:, None, :, None],
        }

    def _read_source(self, text) -> _Source:
        all_tokens = self._source.encode(text)[:, 1:-1]  # without START and END
        tokens = all_tokens[:, : self._config.max_tokens]
        all_lengths, lengths = (tf.cast(ids.row_lengths(), tf.int32) for ids in (all_tokens, tokens))
        ids = append(tokens, END).to_tensor()  # [batch, Ts], END after each text, then PAD
        return _Source(networks.encode(self._config, self._parts, ids), lengths, all_lengths > lengths)

    def _search(self, source: _Source, options: dict, num_best) -> Hypotheses:
        """The hypotheses of beam search; a text without words has the empty one."""
        with weights_read_once(self._model):
            step, logits, state = self._start(source)
            return beam_search(
                step,
                logits,
                state,
                self._max_lengths(source, options["max_length"]),
                options["beam_width"],
                options["length_penalty"],
                END,
                BANNED_IDS,
                num_best=num_best,
                make_room=steps.make_room,
                **steps.sharing(self._config),
            )

    def _start(self, source: _Source):
        """Returns the function of a step, the logits of the first token, and the state after START."""
        step = self._make_step()
        state = steps.start(self._config, self._parts, source.encoded)
        return step, *step(tf.fill(tf.shape(source.lengths), START), state)

    def _make_step(self, **options) -> Callable:
        kernel = networks.output_kernel(self._parts)
        return functools.partial(steps.step, self._config, self._parts, kernel=kernel, **options)

    def _max_lengths(self, source: _Source, max_length):
        """Returns the maximum number of tokens of each translation, int32 [batch]; 0 for a text without words."""
        return tf.where(source.lengths > 0, tf.minimum(max_length, 2 * source.lengths + 10), 0)

    def _rank(self, source: _Source, hypotheses: Hypotheses, length_penalty):
        """The different texts of the hypotheses, the best first.

        Several token sequences can give the same text. It counts once, with the score of its usual tokens.

        Returns:
            (translations string [batch, n], scores float32 [batch, n], log-probabilities float32 [batch, n]).
        """
        n, time = tf.shape(hypotheses.tokens)[1], tf.shape(hypotheses.tokens)[2]
        translations = tf.reshape(self._target.decode(tf.reshape(hypotheses.tokens, [-1, time])), [-1, n])
        earlier = tf.linalg.band_part(tf.ones([n, n]), -1, 0) - tf.eye(n) > 0
        is_repeated = tf.reduce_any((translations[:, :, None] == translations[:, None, :]) & earlier, axis=2)
        is_kept = (hypotheses.scores > NO_TRANSLATION_SCORE / 10) & ~is_repeated  # [batch, n]
        translations = tf.where(is_kept, translations, "")
        log_probabilities, lengths = self._score_hypotheses(source.encoded, translations, hypotheses, is_kept)
        log_probabilities = tf.where(is_kept, log_probabilities, NO_TRANSLATION_SCORE)
        scores = _normalize_by_length(log_probabilities, lengths, length_penalty[:, None])
        scores, order = tf.math.top_k(tf.where(is_kept, scores, NO_TRANSLATION_SCORE), n)
        return tf.gather(translations, order, batch_dims=1), scores, tf.gather(log_probabilities, order, batch_dims=1)

    def _score_hypotheses(self, encoded, translations, hypotheses: Hypotheses, is_kept):
        """The scores of the texts of the hypotheses.

        The search has scored the tokens that it wrote. A text that is usually written with others is scored again.

        Args:
            encoded: the sources, from `networks.encode`.
            translations: string [batch, n], the texts.
            is_kept: bool [batch, n], whether the score matters.

        Returns:
            (log-probabilities float32 [batch, n], numbers of tokens including the end token int32 [batch, n]).
        """
        n, time = tf.shape(hypotheses.tokens)[1], tf.shape(hypotheses.tokens)[2]
        usual = self._target.encode(tf.reshape(translations, [-1]))[:, 1:]  # tokens, END
        written = tf.reshape(hypotheses.tokens, [-1, time])
        is_usual = tf.reduce_all(usual.to_tensor(shape=tf.stack([-1, time])) == written, axis=1)  # [batch * n]
        is_usual &= tf.cast(usual.row_lengths(), tf.int32) == tf.reshape(hypotheses.lengths, [-1])
        is_unusual = is_kept & ~tf.reshape(is_usual, [-1, n])

        def score(inputs):
            translation, is_unusual, *known = inputs  # one translation of each source

            def again():
                rows = tf.where(is_unusual)  # [m, 1]
                sources = tf.nest.map_structure(lambda x: tf.gather_nd(x, rows), encoded)
                by_token, lengths = self._score_tokens(sources, tf.gather_nd(translation, rows))
                new = tf.reduce_sum(by_token, axis=1), lengths
                return tuple(tf.tensor_scatter_nd_update(x, rows, y) for x, y in zip(known, new, strict=True))

            return tf.cond(tf.reduce_any(is_unusual), again, lambda: tuple(known))

        def score_unusual():
            # One translation per source at a time: the logits of all, [batch, n, Tt, vocabulary], can be gigabytes.
            specs = (tf.TensorSpec([None], tf.float32), tf.TensorSpec([None], tf.int32))
            inputs = (translations, is_unusual, hypotheses.log_probabilities, hypotheses.lengths)
            by_column = tuple(tf.transpose(each) for each in inputs)
            scored = tf.map_fn(score, by_column, fn_output_signature=specs, parallel_iterations=1)
            return tuple(tf.transpose(each) for each in scored)

        known = hypotheses.log_probabilities, hypotheses.lengths
        return tf.cond(tf.reduce_any(is_unusual), score_unusual, lambda: known)

    def _score_tokens(self, encoded, translation):
        """Scores one translation of each source, string [batch].

        Returns:
            (log-probability of each token including the end token, float32 [batch, Tt], 0 after it; numbers of tokens
            int32 [batch]).
        """
        target = self._target.encode(translation)  # START, tokens, END
        target = append(target[:, :-1][:, : MAX_TRANSLATION_LENGTH + 1], END)
        lengths = tf.cast(target.row_lengths(), tf.int32) - 1
        logits = networks.decode(self._config, self._parts, encoded, target[:, :-1].to_tensor())
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(target[:, 1:].to_tensor(), logits)  # [batch, Tt]
        in_target = tf.sequence_mask(lengths, tf.shape(losses)[1])
        return tf.where(in_target, -losses, 0.0), lengths


def _normalize_by_length(log_probabilities, lengths, length_penalty):
    return log_probabilities / length_divisor(lengths, length_penalty)
