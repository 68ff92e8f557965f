"""The export of a language model: it continues texts, scores them, and lets clients generate token by token.

No signature keeps a state on the server: a client that generates token by token receives the state from `start` and
sends it back with each `step`.
"""

import functools

import keras
import tensorflow as tf

from pipelines.decoding import streaming
from pipelines.decoding.beam_search import beam_search, num_columns
from pipelines.decoding.loop import weights_read_once
from pipelines.decoding.options import CACHE, SAMPLING, SEARCH, clipped, defaults, filled, in_range, signature_specs
from pipelines.decoding.sampling import sample
from pipelines.language_model import cache
from pipelines.language_model.cache import CachedSteps
from pipelines.language_model.config import WITH_ORDER, LanguageModelConfig
from pipelines.language_model.steps import losses_in_sequence, make_steps
from pipelines.language_model.trace import make_read_out, make_trace
from pipelines.networks.traced import FEATURES, MAX_TRACED_TOKENS, is_traceable
from pipelines.text.special_tokens import END, START, never_generated
from pipelines.text.tokenizers import Tokenizer

GENERATION_DEFAULTS = defaults(SAMPLING)
_MAX_CHUNK = 1024  # tokens of a row that a recurrent network scores at once; fewer where one of these is exceeded:
_MAX_CHUNK_TOKENS = 2**16  # tokens of all rows
_MAX_CHUNK_LOGITS = 2**25
_MAX_WINDOW_LOGITS = 2**26  # that a transformer computes at once: more rows are scored one group after the other
_TEXT = tf.TensorSpec([None], tf.string, name="text")
_IDS = tf.TensorSpec([None, None], tf.int32, name="ids")


class Generator(tf.Module):
    """The servable of a language model.

    `generate(text, **options)`, `search(text, **options)` and, if the model `can_cache`, `generate_with_cache(text,
    **options)` are concrete functions; their inputs are made from the declarations in decoding/options.py.

    Args:
        config: of the run.
        model: inference model, ids int32 [batch, time] -> logits [batch, time, vocabulary].
        tokenizer: of the run.
    """

    def __init__(self, config: LanguageModelConfig, model: keras.Model, tokenizer: Tokenizer):
        super().__init__()
        self._tokenizer = tokenizer
        self.vocabulary_size: int = tokenizer.vocabulary_size
        self._has_word_tokens = config.tokenizer == "word"
        self._is_transformer = config.model == "transformer"
        is_recurrent = config.model not in ("transformer", *WITH_ORDER)
        self.can_cache = is_recurrent and config.tokenizer != "character"
        self._variables = [
            weight.value for weight in model.weights
        ]  # the SavedModel holds the variables of its attributes
        self._steps = make_steps(config, model)
        self._window = config.window
        self._end_id = END if config.documents else None
        self._banned_ids = never_generated(config.documents)
        self._network = lambda ids: model(ids, training=False)
        self._weights_read_once = lambda: weights_read_once(model)
        self.is_traceable = is_traceable(model)
        self._make_trace = lambda **options: make_trace(
            model, tokenizer, config.window if self._is_transformer else MAX_TRACED_TOKENS + 1, **options
        )

    @functools.cached_property
    def generate(self):
        """`_generate` as a concrete function; traced when it is first used."""
        return tf.function(self._generate, autograph=False).get_concrete_function(
            text=_TEXT, **signature_specs(SAMPLING)
        )

    @functools.cached_property
    def search(self):
        """`_search` as a concrete function."""
        return tf.function(self._search, autograph=False).get_concrete_function(text=_TEXT, **signature_specs(SEARCH))

    @functools.cached_property
    def generate_with_cache(self):
        """`_generate_with_cache` as a concrete function."""
        return tf.function(self._generate_with_cache, autograph=False).get_concrete_function(
            text=_TEXT, **signature_specs((*SAMPLING, *CACHE))
        )

    @functools.cached_property
    def in_pieces(self) -> dict:
        """The signatures `sample_start` and `sample_step` (streaming.py), which return what `generate` does."""
        steps, rules = self._steps, (SAMPLING, self._banned_ids, self._end_id)
        return streaming.make_signatures(self._begin, lambda: self._step, steps.align, self._weights_read_once, *rules)

    @functools.cached_property
    def trace(self):
        """The signature trace (trace.py) as a concrete function; only for networks that `is_traceable`."""
        return self._make_trace()

    @functools.cached_property
    def intervene(self):
        """The signature intervene: `trace` with interventions (networks/interventions.py)."""
        return self._make_trace(with_interventions=True)

    @tf.function(input_signature=[_TEXT], autograph=False)
    def continue_text(self, text):
        """Continues texts, string [batch], with the GENERATION_DEFAULTS.

        Returns:
            text: string [batch], the continuation; log_probability: float32 [batch].
        """
        outputs = self.generate(text=text, **filled(SAMPLING, GENERATION_DEFAULTS, text))
        return {name: outputs[name] for name in ("text", "log_probability")}

    def _generate(self, text, **options):
        """Samples a continuation of each text.

        Args:
            text: string [batch], the prompts; an empty prompt starts a text.
            options: the options `SAMPLING`, each [batch].

        Returns:
            text: string [batch], to be appended to the prompt as it is.
            log_probability: float32 [batch].
            tokens: int32 [batch], number of generated tokens.

        Raises:
            InvalidArgumentError: an option is out of its range.
        """
        with tf.control_dependencies(in_range(SAMPLING, options)):
            # Everything else depends on the text or on the maximum length: nothing runs before the options are checked.
            text, options = tf.identity(text), clipped(SAMPLING, options)
        ids, logits, state = self._read_prompts(text)
        return self._sample(text, ids, logits, state, self._step, options)

    def _generate_with_cache(self, text, **options):
        """As `_generate`, with a continuous cache (cache.py) of the prompt and of what is generated.

        Args:
            options: the options `SAMPLING` and `CACHE`, each [batch].
        """
        with tf.control_dependencies(in_range((*SAMPLING, *CACHE), options)):
            text, options = tf.identity(text), clipped((*SAMPLING, *CACHE), options)
        sizes, theta, weight = (options.pop(option.name) for option in CACHE)
        steps = CachedSteps(self._steps, sizes, theta, weight)
        ids = self._tokenizer.encode(text)[:, :-1]
        chunk = self._cache_chunk(tf.shape(sizes)[0], sizes)
        lengths = tf.cast(ids.row_lengths(), tf.int32)
        logits, state = cache.read_prompt(steps, ids.to_tensor(), lengths, chunk)
        return self._sample(text, ids, logits, state, steps.step, options)

    def _sample(self, text, ids, logits, state, step, options):
        """Samples after the prompts; see `_generate`."""
        stop_ids = self._stop_ids(options.pop("stop"))
        with self._weights_read_once():
            samples = sample(
                step, logits, state, options, stop_ids, self._banned_ids, self._occurring(ids), end_id=self._end_id
            )
        return {
            "text": self._decode_after(text, samples.tokens),
            "log_probability": samples.log_probabilities,
            "tokens": samples.lengths,
        }

    def _stop_ids(self, stop):
        """Returns the tokens of the texts at which rows stop, see `sampling.Rules`."""
        stop_ids = self._tokenizer.encode(stop)[:, 1:-1]
        stop_ids = tf.reverse(tf.reverse(stop_ids, [1]).to_tensor(), [1])  # padded on the left
        return tf.pad(stop_ids, [[0, 0], [1, 0]])  # at least one column

    def _begin(self, text, options):
        """Reads prompts for `streaming.make_signatures`."""
        ids, logits, state = self._read_prompts(text)
        others = {name: value for name, value in options.items() if name != "stop"}
        lead, num_read = tf.where(self._needs_space(text), " ", ""), tf.cast(ids.row_lengths(), tf.int32) - 1
        stop_ids, seen = self._stop_ids(options["stop"]), self._occurring(ids)
        return streaming.Begun(logits, state, stop_ids, seen, lead, num_read), others

    def _search(self, text, **options):
        """Finds the most likely continuations of `max_length` tokens by beam search.

        Args:
            text: string [batch], the prompts.
            options: the options `SEARCH`, each [batch].

        Returns:
            text: string [batch, n], the best first; log_probability: float32 [batch, n]. n is the largest number of
                continuations of a row, at most the largest beam width. A row with fewer has empty texts with the
                log-probability -1e9 after them.

        Raises:
            InvalidArgumentError: an option is out of its range.
        """
        with tf.control_dependencies(in_range(SEARCH, options)):
            text, options = tf.identity(text), clipped(SEARCH, options)
        _, logits, state = self._read_prompts(text)
        with self._weights_read_once():
            hypotheses = beam_search(
                self._step,
                logits,
                state,
                lengths=options["max_length"],
                beam_width=options["beam_width"],
                length_penalty=options["length_penalty"],
                end_id=self._end_id,
                banned_ids=self._banned_ids,
            )
        k, time = tf.shape(hypotheses.tokens)[1], tf.shape(hypotheses.tokens)[2]
        texts = self._decode_after(tf.repeat(text, k), tf.reshape(hypotheses.tokens, [-1, time]))  # [batch * k]
        n = num_columns(hypotheses.scores)
        return {"text": tf.reshape(texts, [-1, k])[:, :n], "log_probability": hypotheses.log_probabilities[:, :n]}

    @tf.function(input_signature=[_TEXT], autograph=False)
    def score(self, text):
        """Scores texts, string [batch]; of a model of documents, with their end tokens.

        Returns:
            log_probability: float32 [batch], of all tokens, in nats; perplexity: float32 [batch], per token; tokens:
                int32 [batch].
            A text of no tokens has log-probability 0 and perplexity 1.
        """
        ids = self._tokenizer.encode(text)[:, 1 : None if self._end_id else -1]
        lengths = tf.cast(ids.row_lengths(), tf.int32)
        padded = tf.pad(ids.to_tensor(), [[0, 0], [0, 1]])  # at least one column
        losses = self.token_losses(padded)["losses"]
        total = tf.reduce_sum(tf.where(tf.sequence_mask(lengths, tf.shape(losses)[1]), losses, 0.0), axis=1)
        perplexity = tf.exp(total / tf.cast(tf.maximum(lengths, 1), tf.float32))
        return {"log_probability": -total, "perplexity": perplexity, "tokens": lengths}

    @tf.function(input_signature=[_IDS], autograph=False)
    def token_losses(self, ids):
        """Returns losses: float32 [batch, time], -log p in nats of each of ids int32 [batch, time], texts from their
        starts.

        A recurrent network carries its state through the whole row. A transformer reads windows that overlap by half.
        Of each window the later half counts, so that every token but the first ones has at least half a window before
        it.
        """
        inputs = tf.concat([tf.fill([tf.shape(ids)[0], 1], START), ids[:, :-1]], axis=1)
        losses = self._losses_in_windows if self._is_transformer else self._losses_in_sequence
        return {"losses": losses(inputs, ids)}

    @tf.function(input_signature=[_IDS, *signature_specs(CACHE).values()], autograph=False)
    def token_losses_with_cache(self, ids, cache_size, cache_theta, cache_lambda):
        """As `token_losses`, with a continuous cache (cache.py). The options `CACHE` are [batch].

        Raises:
            InvalidArgumentError: an option is out of its range.
        """
        options = {"cache_size": cache_size, "cache_theta": cache_theta, "cache_lambda": cache_lambda}
        with tf.control_dependencies(in_range(CACHE, options)):
            ids, options = tf.identity(ids), clipped(CACHE, options)
        inputs = tf.concat([tf.fill([tf.shape(ids)[0], 1], START), ids[:, :-1]], axis=1)
        sizes = options["cache_size"]
        steps = CachedSteps(self._steps, sizes, options["cache_theta"], options["cache_lambda"])
        chunk = self._cache_chunk(tf.shape(ids)[0], sizes)
        return {"losses": losses_in_sequence(steps, inputs, ids, chunk)}

    def _cache_chunk(self, rows, sizes):
        """Number of tokens of a row to read at once, such that logits and products with the cache have a bound."""
        slots = tf.reduce_max(tf.concat([sizes, [1]], axis=0))
        fits = tf.minimum(cache.MAX_CHUNK_SCORES // slots, _MAX_CHUNK_LOGITS // self.vocabulary_size)
        return tf.clip_by_value(fits // tf.maximum(rows, 1), 16, _MAX_CHUNK)

    @tf.function(input_signature=[_TEXT], autograph=False)
    def encode(self, text):
        """Returns ids: int32 [batch, time], with PAD after each row's end, and lengths: int32 [batch]."""
        ids = self._tokenizer.encode(text)[:, 1:-1]
        return {"ids": ids.to_tensor(), "lengths": tf.cast(ids.row_lengths(), tf.int32)}

    @tf.function(input_signature=[_IDS], autograph=False)
    def decode(self, ids):
        """Returns text: string [batch], of ids int32 [batch, time]."""
        return {"text": self._tokenizer.decode(ids)}

    @tf.function(input_signature=[_TEXT], autograph=False)
    def start(self, text):
        """Reads prompts, string [batch]. Returns logits: float32 [batch, vocabulary], and the state for `step`."""
        _, logits, state = self._read_prompts(text)
        return {"logits": logits, **state}

    def step(self, ids, **state):
        """Reads one chosen token per row, ids int32 [batch]. Returns the next logits and state."""
        logits, state = self._step(ids, self._steps.align(state))
        return {"logits": logits, **state}

    def signatures(self) -> dict:
        """Returns signature name -> concrete function."""
        start = self.start.get_concrete_function()
        state = {
            name: tf.TensorSpec([None, *spec.shape[1:]], spec.dtype, name=name)
            for name, spec in start.structured_outputs.items()
        }
        del state["logits"]
        step = tf.function(self.step, autograph=False).get_concrete_function(
            tf.TensorSpec([None], tf.int32, name="ids"), **state
        )
        traced = {
            name: getattr(self, name).get_concrete_function() for name in ("score", "token_losses", "encode", "decode")
        }
        if self.can_cache:
            traced["token_losses_with_cache"] = self.token_losses_with_cache.get_concrete_function()
            traced["generate_with_cache"] = self.generate_with_cache
        if self.is_traceable:
            traced |= {"trace": self.trace, "intervene": self.intervene}
            traced["read_out"] = make_read_out(self._steps.logits, self.trace.structured_outputs[FEATURES].shape[-1])
        return {
            "serving_default": self.continue_text.get_concrete_function(),
            "generate": self.generate,
            "search": self.search,
            **traced,
            "start": start,
            "step": step,
            **self.in_pieces,
        }

    def _losses_in_windows(self, ids, targets):
        """Scores groups of rows, one after the other, so that the memory has a bound."""
        size = max(1, _MAX_WINDOW_LOGITS // (self._window * self.vocabulary_size))  # rows
        batch_size, time = tf.shape(ids)[0], tf.shape(ids)[1]
        num_groups = tf.maximum(-(-batch_size // size), 1)
        losses = tf.TensorArray(tf.float32, size=num_groups, infer_shape=False, element_shape=[None, None])

        def score_rows(i, losses):
            rows = slice(i * size, (i + 1) * size)
            return i + 1, losses.write(i, self._losses_of_rows(ids[rows], targets[rows]))

        _, losses = tf.while_loop(lambda i, _: i < num_groups, score_rows, (0, losses), parallel_iterations=1)
        return tf.reshape(losses.concat(), [batch_size, time])

    def _losses_of_rows(self, ids, targets):
        window, half, time = self._window, self._window // 2, tf.shape(ids)[1]
        frames = [
            tf.signal.frame(x, window, window - half, pad_end=True) for x in (ids, targets)
        ]  # [batch, frames, window]
        frames_first = [tf.transpose(x, [1, 0, 2]) for x in frames]  # [frames, batch, window]
        losses = tf.map_fn(
            lambda frame: _cross_entropy(self._network(frame[0]), frame[1]),
            tuple(frames_first),
            fn_output_signature=tf.float32,
            parallel_iterations=2,  # more need more memory
        )
        first = losses[:1]
        later = tf.reshape(tf.transpose(losses[1:, :, half:], [1, 0, 2]), [tf.shape(ids)[0], -1])
        return tf.concat([tf.reshape(tf.transpose(first, [1, 0, 2]), [tf.shape(ids)[0], -1]), later], axis=1)[:, :time]

    def _losses_in_sequence(self, ids, targets):
        size = tf.minimum(_MAX_CHUNK_TOKENS, _MAX_CHUNK_LOGITS // self.vocabulary_size)
        size = tf.clip_by_value(size // tf.maximum(tf.shape(ids)[0], 1), 16, _MAX_CHUNK)
        return losses_in_sequence(self._steps, ids, targets, size)

    def _read_prompts(self, text):
        """Returns ids of the prompts with START, ragged [batch, (time)], the logits after each one, and the state."""
        ids = self._tokenizer.encode(text)[:, :-1]
        read = ids[:, -self._window :] if self._is_transformer else ids
        lengths = tf.cast(read.row_lengths(), tf.int32)
        logits, state = self._steps.read(read.to_tensor(), lengths)
        return ids, logits, state

    def _occurring(self, ids):
        """Returns which tokens occur in each row of ids, ragged [batch, (time)] -> bool [batch, vocabulary]."""
        indices = tf.stack([tf.cast(ids.value_rowids(), tf.int32), ids.flat_values], axis=1)
        shape = tf.stack([tf.cast(ids.nrows(), tf.int32), self.vocabulary_size])
        return tf.scatter_nd(indices, tf.ones_like(ids.flat_values), shape) > 0

    def _decode_after(self, prompts, tokens):
        """Returns tokens as text to be appended to the prompts: a word that follows a word gets a space before it."""
        text = self._tokenizer.decode(tokens)
        if not self._has_word_tokens:
            return text
        needs_space = self._needs_space(prompts) & tf.not_equal(text, "")
        return tf.where(needs_space, tf.strings.join([" ", text]), text)

    def _needs_space(self, prompts):
        """Returns whether a space stands between each prompt and the next token, bool [batch]."""
        return tf.strings.regex_full_match(prompts, r"(?s).*\S") & self._has_word_tokens

    def _step(self, ids, state):
        logits, state = self._steps.advance(ids[:, None], state)
        return logits[:, 0], state


def _cross_entropy(logits, targets):
    return tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits)
