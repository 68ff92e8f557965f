"""What is exported of a language model: text in, text that goes on from it out; and its pieces, for those who stream.

No signature remembers anything: a client that streams is given the state by `start` and hands it back with each `step`.
"""

import keras
import tensorflow as tf

from pipelines import decoding
from pipelines.configs.char_lm import GENERATION_DEFAULTS, CharLmConfig
from pipelines.stepping import steps
from pipelines.text import END, PAD, START, UNKNOWN, Tokenizer

MOST_TOKENS = 10_000  # that one request may draw
MOST_BEAMS = 16
NEVER = (PAD, UNKNOWN, START, END)
_SCORED = 1024  # tokens of a text that a recurrent network reads at once, fewer where
_LOGITS = 2**25  # would be more


def _inputs(**dtypes):
    return [tf.TensorSpec([None], dtype, name=name) for name, dtype in dtypes.items()]


class Generator(tf.Module):
    """The servable of a language model.

    Args:
        config: of the run.
        model: ids int32 [batch, time] -> logits [batch, time, vocabulary], built without streams.
        tokenizer: makes the ids.
    """

    def __init__(self, config: CharLmConfig, model: keras.Model, tokenizer: Tokenizer):
        super().__init__()
        self._tokenizer = tokenizer
        self._parted = config.unit == "word"
        self._longest_prompt = config.window if config.model == "transformer" else None
        self._variables = [weight.value for weight in model.weights]  # so that the SavedModel holds them
        self._steps = steps(config, model)
        self._window = config.window
        self._whole = (lambda ids: model(ids, training=False)) if config.model == "transformer" else None

    @tf.function(input_signature=_inputs(text=tf.string))
    def continue_text(self, text):
        """string [batch] -> text: string [batch], what follows, and log_probability: float32 [batch]; with the GENERATION_DEFAULTS."""
        outputs = self.generate(text, *(tf.fill(tf.shape(text), value) for value in GENERATION_DEFAULTS.values()), tf.fill(tf.shape(text), ""))
        return {name: outputs[name] for name in ("text", "log_probability")}

    @tf.function(
        input_signature=_inputs(
            text=tf.string, max_length=tf.int32, temperature=tf.float32, top_k=tf.int32, top_p=tf.float32, seed=tf.int32, stop=tf.string
        )
    )
    def generate(self, text, max_length, temperature, top_k, top_p, seed, stop):
        """Draws what follows; all inputs [batch].

        Args:
            text: the prompts; an empty one begins a text.
            max_length: tokens to draw, at most MOST_TOKENS.
            temperature: 0 takes the likeliest token each time.
            top_k: draw from so many tokens; 0 from all.
            top_p: draw from the fewest tokens whose probabilities reach this.
            seed: the same one draws the same text.
            stop: a text at which to end; "" for none.

        Returns:
            text: string [batch], to be put behind the prompt as it is; log_probability: float32 [batch]; tokens: int32 [batch], how
            many were drawn.

        Raises:
            InvalidArgumentError: a negative temperature, max_length or top_k, or a top_p outside of (0, 1].
        """
        with tf.control_dependencies(
            [
                tf.debugging.assert_non_negative(temperature, "temperature must be 0 or more"),
                tf.debugging.assert_non_negative(max_length, "max_length must be 0 or more"),
                tf.debugging.assert_non_negative(top_k, "top_k must be 0 or more"),
                tf.debugging.assert_positive(top_p, "top_p must be above 0"),
                tf.debugging.assert_less_equal(top_p, 1.0, "top_p must be 1 at most"),
            ]
        ):  # all else needs the text or the lengths, so that nothing runs before the knobs are known to be good
            text, max_length = tf.identity(text), tf.clip_by_value(max_length, 0, MOST_TOKENS)
        logits, state = self._after(text)
        stop_ids = self._tokenizer.encode(stop)[:, 1:-1]
        stop_ids = tf.reverse(tf.reverse(stop_ids, [1]).to_tensor(), [1])  # padded on the left
        stop_ids = tf.pad(stop_ids, [[0, 0], [1, 0]])
        tokens, counts, log_probability = decoding.sample(
            self._step, logits, state, max_length, temperature, top_k, top_p, seed, stop_ids, NEVER
        )
        return {"text": self._following(text, tokens), "log_probability": log_probability, "tokens": counts}

    @tf.function(
        input_signature=_inputs(text=tf.string, max_length=tf.int32, beam_width=tf.int32, length_penalty=tf.float32)
    )
    def search(self, text, max_length, beam_width, length_penalty):
        """The likeliest continuations of `max_length` tokens, by beam search (decoding.beam); all inputs [batch].

        Returns:
            text: string [batch, n] with n the largest width, the best first, and log_probability: float32 [batch, n].

        Raises:
            InvalidArgumentError: a negative max_length or length_penalty, or a beam_width below 1.
        """
        with tf.control_dependencies(
            [
                tf.debugging.assert_non_negative(max_length, "max_length must be 0 or more"),
                tf.debugging.assert_positive(beam_width, "beam_width must be 1 or more"),
                tf.debugging.assert_non_negative(length_penalty, "length_penalty must be 0 or more"),
            ]
        ):
            text, max_length = tf.identity(text), tf.clip_by_value(max_length, 0, MOST_TOKENS)
        logits, state = self._after(text)
        width = tf.clip_by_value(beam_width, 1, MOST_BEAMS)
        tokens, _, log_probability, _ = decoding.beam(self._step, logits, state, max_length, width, length_penalty, None, NEVER)
        n = tf.shape(tokens)[1]
        texts = self._following(tf.repeat(text, n), tf.reshape(tokens, [-1, tf.shape(tokens)[2]]))
        return {"text": tf.reshape(texts, [-1, n]), "log_probability": log_probability}

    @tf.function(input_signature=_inputs(text=tf.string))
    def score(self, text):
        """How likely a text is.

        Returns:
            log_probability: float32 [batch], in nats, of all its tokens; perplexity: float32 [batch], of one on average;
            tokens: int32 [batch]. A text of no tokens has log-probability 0 and perplexity 1.
        """
        ids = self._tokenizer.encode(text)[:, 1:-1]
        counts = tf.cast(ids.row_lengths(), tf.int32)
        padded = tf.pad(ids.to_tensor(), [[0, 0], [0, 1]])  # so that texts without tokens have a place for a loss, too
        losses = self.token_losses(padded)["losses"]
        total = tf.reduce_sum(tf.where(tf.sequence_mask(counts, tf.shape(losses)[1]), losses, 0.0), axis=1)
        perplexity = tf.exp(total / tf.cast(tf.maximum(counts, 1), tf.float32))
        return {"log_probability": -total, "perplexity": perplexity, "tokens": counts}

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32, name="ids")])
    def token_losses(self, ids):
        """ids: int32 [batch, time], texts from their start -> losses: float32 [batch, time], -log p of each id in nats.

        A recurrent network carries its state through the whole row. A transformer reads windows that overlap by half, and of
        each the later half counts, so that every token but the first ones has half a window or more before it.
        """
        before = tf.concat([tf.fill([tf.shape(ids)[0], 1], START), ids[:, :-1]], axis=1)
        return {"losses": (self._losses_in_turn if self._whole is None else self._losses_in_windows)(before, ids)}

    @tf.function(input_signature=_inputs(text=tf.string))
    def encode(self, text):
        """string [batch] -> ids: int32 [batch, time], PAD behind a row's end, and lengths: int32 [batch]."""
        ids = self._tokenizer.encode(text)[:, 1:-1]
        return {"ids": ids.to_tensor(), "lengths": tf.cast(ids.row_lengths(), tf.int32)}

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32, name="ids")])
    def decode(self, ids):
        """ids: int32 [batch, time] -> text: string [batch]"""
        return {"text": self._tokenizer.decode(ids)}

    @tf.function(input_signature=_inputs(text=tf.string))
    def start(self, text):
        """Reads the prompts: string [batch] -> logits: float32 [batch, vocabulary], and the state to hand to `step`."""
        logits, state = self._after(text)
        return {"logits": logits, **state}

    def step(self, ids, **state):
        """ids: int32 [batch], the tokens that were chosen, and the state -> the next logits and state."""
        logits, state = self._step(ids, self._steps.joined(state))
        return {"logits": logits, **state}

    def signatures(self) -> dict:
        started = self.start.get_concrete_function().structured_outputs
        state = {name: tf.TensorSpec([None, *spec.shape[1:]], spec.dtype, name=name) for name, spec in started.items()}
        del state["logits"]
        step = tf.function(self.step).get_concrete_function(tf.TensorSpec([None], tf.int32, name="ids"), **state)
        named = {name: getattr(self, name) for name in ("generate", "search", "score", "token_losses", "encode", "decode", "start")}
        named = {name: function.get_concrete_function() for name, function in named.items()}
        return {"serving_default": self.continue_text.get_concrete_function(), **named, "step": step}

    def _losses_in_windows(self, ids, targets):
        window, half, time = self._window, self._window // 2, tf.shape(ids)[1]
        framed = [tf.signal.frame(x, window, window - half, pad_end=True) for x in (ids, targets)]
        by_frame = [tf.transpose(x, [1, 0, 2]) for x in framed]  # [frames, batch, window]
        losses = tf.map_fn(
            lambda frame: _losses(self._whole(frame[0]), frame[1]), tuple(by_frame), fn_output_signature=tf.float32
        )
        first = losses[:1]
        later = tf.reshape(tf.transpose(losses[1:, :, half:], [1, 0, 2]), [tf.shape(ids)[0], -1])
        return tf.concat([tf.reshape(tf.transpose(first, [1, 0, 2]), [tf.shape(ids)[0], -1]), later], axis=1)[:, :time]

    def _losses_in_turn(self, ids, targets):
        batch_size, time = tf.shape(ids)[0], tf.shape(ids)[1]
        scored = tf.clip_by_value(_LOGITS // (tf.maximum(batch_size, 1) * self._tokenizer.vocabulary_size), 16, _SCORED)
        parts = tf.TensorArray(tf.float32, size=-(-time // scored), infer_shape=False, element_shape=[None, None])
        state = self._steps.start(batch_size)

        def read(i, parts, state):
            piece = slice(i * scored, (i + 1) * scored)
            logits, state = self._steps.advance(ids[:, piece], state)
            return i + 1, parts.write(i, tf.transpose(_losses(logits, targets[:, piece]))), state

        shapes = (tf.TensorShape([]), tf.TensorShape(None), tf.nest.map_structure(lambda x: tf.TensorShape([None, *x.shape[1:]]), state))
        _, parts, _ = tf.while_loop(lambda i, *_: i * scored < time, read, (0, parts, state), shape_invariants=shapes)
        return tf.reshape(tf.transpose(parts.concat()), [batch_size, time])

    def _after(self, text):
        """The logits behind each prompt, and the state."""
        ids = self._tokenizer.encode(text)[:, :-1]
        if self._longest_prompt is not None:
            ids = ids[:, -self._longest_prompt :]
        lengths = tf.cast(ids.row_lengths(), tf.int32)
        logits, state = self._steps.advance(ids.to_tensor(), self._steps.start(tf.shape(text)[0]), lengths)
        return tf.gather(logits, lengths - 1, batch_dims=1), state

    def _following(self, prompts, tokens):
        """The tokens as text to be put behind the prompts as it is: words are parted from what ends in one by a space."""
        text = self._tokenizer.decode(tokens)
        if not self._parted:
            return text
        apart = tf.strings.regex_full_match(prompts, r"(?s).*\S") & tf.not_equal(text, "")
        return tf.where(apart, tf.strings.join([" ", text]), text)

    def _step(self, ids, state):
        logits, state = self._steps.advance(ids[:, None], state)
        return logits[:, 0], state


def _losses(logits, targets):
    return tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits)
