"""Greedy decoding and sampling, as a loop in the graph over one `step` (see loop.py)."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import tensorflow as tf

from pipelines.decoding.loop import IMPOSSIBLE, STAGE_STEPS, shape_invariants
from pipelines.text.tokenizers import PAD


class Samples(NamedTuple):
    """One continuation per row.

    Attributes:
        tokens: int32 [batch, time]; PAD after a row's end.
        lengths: int32 [batch], number of tokens.
        log_probabilities: float32 [batch], log-probability of the tokens under the model itself: at temperature 1, with
            all tokens and without a repetition penalty.
    """

    tokens: tf.Tensor
    lengths: tf.Tensor
    log_probabilities: tf.Tensor


class Rules(NamedTuple):
    """What all steps of sampling share.

    Attributes:
        options: option -> tensor [batch], for all options in `SAMPLING` (options.py) except `stop` and `seed`.
        random_numbers: float32 [batch, time], for each token that a row may get.
        stop_ids: int32 [batch, n]: a row ends after these tokens. Padded with PAD on the left; a row of PAD never ends
            early.
        banned_ids: ids that are never sampled.
        end_id: a row ends after this token; None if there is none.
    """

    options: dict[str, tf.Tensor]
    random_numbers: tf.Tensor
    stop_ids: tf.Tensor
    banned_ids: Sequence[int]
    end_id: int | None


class SampleState(NamedTuple):
    """What a step of sampling changes."""

    time: tf.Tensor  # int32 [], number of steps so far
    alive: tf.Tensor  # bool [batch], rows that have not ended
    recent: tf.Tensor  # int32 [batch, n], the last n tokens, to be compared with the stop tokens
    seen: tf.Tensor  # bool [batch, vocabulary], tokens of the prompt and the continuation
    lengths: tf.Tensor  # int32 [batch], number of tokens
    log_probabilities: tf.Tensor  # float32 [batch]
    written: dict[str, tf.TensorArray]  # "tokens", of int32 [batch], and what else is written at each step
    logits: tf.Tensor  # float32 [batch, vocabulary], of the next token
    state: dict  # of the model


def sample(
    step: Callable,
    logits: tf.Tensor,
    state: dict,
    options: dict[str, tf.Tensor],
    stop_ids: tf.Tensor | None = None,
    banned_ids: Sequence[int] = (),
    seen: tf.Tensor | None = None,
    end_id: int | None = None,
    make_room: Callable | None = None,
) -> Samples:
    """Samples a continuation for each row; decodes greedily where the temperature is 0.

    Args:
        logits: float [batch, vocabulary], of the first token.
        state: of the model.
        options: option -> tensor [batch], for all options in `SAMPLING` (options.py) except `stop`.
        stop_ids, banned_ids, end_id: see `Rules`; without `stop_ids` no row ends early.
        seen: bool [batch, vocabulary], tokens of the prompts, for the repetition penalty; by default none.
        make_room: see loop.py; None for a state that does not grow.
    """
    batch_size = tf.shape(logits)[0]
    rules = make_rules(options, tf.fill([batch_size, 1], PAD) if stop_ids is None else stop_ids, banned_ids, end_id)
    max_time = tf.shape(rules.random_numbers)[1]
    tokens = tf.TensorArray(tf.int32, size=max_time, element_shape=[None])
    start = first_state(rules, logits, state if make_room is None else make_room(state), seen, {"tokens": tokens})
    end = run(step, rules, start, max_time, make_room)
    # `stack` fills the steps that no row has reached with zeros, which is PAD. It needs one step to know the shape.
    sampled = tf.cond(
        end.time > 0, lambda: tf.transpose(end.written["tokens"].stack()), lambda: tf.zeros([batch_size, 0], tf.int32)
    )  # [batch, time]
    return Samples(sampled, end.lengths, end.log_probabilities)


def make_rules(options: dict, stop_ids, banned_ids: Sequence[int], end_id: int | None) -> Rules:
    """Returns the rules; draws the random numbers of each row.

    Args:
        options: with `seed`.
    """
    max_time = tf.reduce_max(tf.concat([options["max_length"], [0]], axis=0))
    # All random numbers of a row come from its own seed, so that they do not depend on the other rows.
    random_numbers = tf.map_fn(
        lambda seed: tf.random.stateless_uniform([max_time], [seed, 0]),
        options["seed"],
        fn_output_signature=tf.TensorSpec([None]),
    )  # [batch, time]
    others = {name: value for name, value in options.items() if name != "seed"}
    return Rules(others, random_numbers, stop_ids, banned_ids, end_id)


def first_state(rules: Rules, logits, state: dict, seen=None, written: dict | None = None) -> SampleState:
    """Returns the state before the first token; see `sample`."""
    batch_size, vocabulary_size = tf.shape(logits)[0], logits.shape[-1]
    return SampleState(
        time=0,
        alive=rules.options["max_length"] > 0,
        recent=tf.fill(tf.shape(rules.stop_ids), PAD),
        seen=tf.zeros([batch_size, vocabulary_size], tf.bool) if seen is None else seen,
        lengths=tf.zeros([batch_size], tf.int32),
        log_probabilities=tf.zeros([batch_size]),
        written=written or {},
        logits=logits,
        state=state,
    )


def run(
    step: Callable, rules: Rules, start: SampleState, num_steps, make_room: Callable | None = None, num_top: int = 0
) -> SampleState:
    """Samples `num_steps` more tokens of each row, or fewer where all rows end.

    Args:
        num_steps: int32 [].
        make_room: see loop.py; None for a state that has room for these steps.
        num_top: above 0: `start.written` also has the arrays "log_probabilities", of the tokens, float32 [batch], and
            "top_ids" and "top_log_probabilities", [batch, num_top], of the most likely tokens.
    """
    vocabulary_size = start.logits.shape[-1]
    options, stop_ids, banned_ids = rules.options, rules.stop_ids, list(rules.banned_ids)
    banned = tf.reduce_sum(tf.one_hot(banned_ids, vocabulary_size, on_value=IMPOSSIBLE), axis=0) if banned_ids else 0.0
    can_stop = tf.reduce_any(stop_ids != PAD, axis=1)
    any_penalty = tf.reduce_any(options["repetition_penalty"] != 1)
    last = tf.maximum(tf.shape(rules.random_numbers)[1] - 1, 0)

    def with_room(s: SampleState):
        if make_room is None:
            return s.state
        is_full = (s.time > 0) & (s.time % STAGE_STEPS == 0)
        return tf.cond(is_full, lambda: make_room(s.state), lambda: dict(s.state))

    def sample_step(s: SampleState):
        scores = _penalize_repetition(s.logits, s.seen, options["repetition_penalty"]) + banned
        random_numbers = tf.gather(rules.random_numbers, tf.minimum(s.lengths, last), batch_dims=1)  # [batch]
        chosen = tf.where(s.alive, _choose(scores, options, random_numbers), PAD)  # [batch]
        log_probabilities = tf.nn.log_softmax(s.logits)
        log_probability = tf.gather(log_probabilities, chosen, batch_dims=1)
        recent = tf.concat([s.recent[:, 1:], chosen[:, None]], axis=1)
        stopped = can_stop & tf.reduce_all(tf.equal(recent, stop_ids) | tf.equal(stop_ids, PAD), axis=1)
        if rules.end_id is not None:
            stopped |= chosen == rules.end_id
        lengths = s.lengths + tf.cast(s.alive, tf.int32)
        alive = s.alive & ~stopped & (lengths < options["max_length"])
        values = {"tokens": chosen}
        if num_top:
            top, top_ids = tf.math.top_k(log_probabilities, num_top)
            values |= {"log_probabilities": log_probability, "top_ids": top_ids, "top_log_probabilities": top}
        next_logits, next_state = tf.cond(
            tf.reduce_any(alive), lambda: step(chosen, with_room(s)), lambda: (s.logits, s.state)
        )
        return [
            SampleState(
                time=s.time + 1,
                alive=alive,
                recent=recent,
                seen=tf.cond(
                    any_penalty,
                    lambda: s.seen | tf.one_hot(chosen, vocabulary_size, True, False, dtype=tf.bool),
                    lambda: s.seen,
                ),
                lengths=lengths,
                log_probabilities=s.log_probabilities + tf.where(s.alive, log_probability, 0.0),
                written={name: array.write(s.time, values[name]) for name, array in s.written.items()},
                logits=next_logits,
                state=next_state,
            )
        ]

    (end,) = tf.while_loop(
        lambda s: tf.reduce_any(s.alive) & (s.time < num_steps),
        sample_step,
        [start],
        shape_invariants=[shape_invariants(start)],
    )
    return end


def _penalize_repetition(logits, seen, penalty):
    """Divides the positive logits of seen tokens by the penalty, and multiplies the negative ones.

    Source: Keskar et al. 2019, "CTRL: A Conditional Transformer Language Model for Controllable Generation", section
    4.1; the multiplication, so that a negative logit falls as well, is from Hugging Face's transformers.

    Args:
        logits: float [batch, vocabulary].
        seen: bool [batch, vocabulary].
        penalty: float [batch]; 1 changes nothing.
    """

    def penalized():
        factor = penalty[:, None]  # [batch, 1]
        return tf.where(seen, tf.where(logits > 0, logits / factor, logits * factor), logits)

    return tf.cond(tf.reduce_any(penalty != 1), penalized, lambda: logits)


def _choose(logits, options, random_numbers):
    """Chooses one token per row: the most likely one at temperature 0, else a sampled one.

    A token is sampled from softmax(logits / temperature) over the `top_k` most likely tokens; of those over the fewest
    whose probabilities sum to `top_p` (Holtzman et al. 2020, "The Curious Case of Neural Text Degeneration"); and of
    those over the ones with at least `min_p` times the probability of the most likely token (Nguyen et al. 2024,
    "Turning Up the Heat: Min-p Sampling").

    Args:
        logits: float [batch, vocabulary].
        options: see `sample`.
        random_numbers: float [batch] in [0, 1).

    Returns:
        int32 [batch].
    """
    temperature, top_k = options["temperature"], options["top_k"]
    top_p, min_p = options["top_p"][:, None], options["min_p"][:, None]  # [batch, 1]
    greedy = tf.argmax(logits, axis=-1, output_type=tf.int32)

    def sampled():
        vocabulary_size = logits.shape[-1]
        scaled = logits / tf.where(temperature > 0, temperature, 1.0)[:, None]
        # [batch, vocabulary], the most likely token first.
        probabilities = tf.nn.softmax(scaled)
        probabilities, ids = tf.math.top_k(probabilities, vocabulary_size)
        num_kept = tf.where(top_k > 0, top_k, vocabulary_size)
        probabilities = tf.where(tf.range(vocabulary_size)[None] < num_kept[:, None], probabilities, 0.0)
        probabilities /= tf.reduce_sum(probabilities, axis=1, keepdims=True)
        more_likely = tf.cumsum(probabilities, axis=1, exclusive=True)  # the sum over all tokens that are more likely
        in_nucleus = (more_likely < top_p) | (top_p >= 1)
        likely_enough = probabilities >= min_p * probabilities[:, :1]
        probabilities = tf.where(in_nucleus & likely_enough, probabilities, 0.0)
        cumulative = tf.cumsum(probabilities, axis=1)
        index = tf.reduce_sum(tf.cast(cumulative <= random_numbers[:, None] * cumulative[:, -1:], tf.int32), axis=1)
        last = tf.reduce_sum(tf.cast(probabilities > 0, tf.int32), axis=1) - 1
        return tf.gather(ids, tf.minimum(index, last), batch_dims=1)

    return tf.where(temperature > 0, tf.cond(tf.reduce_any(temperature > 0), sampled, lambda: greedy), greedy)
