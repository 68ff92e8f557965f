"""Greedy, sampled and beam decoding, written once against one `step`, as loops in the graph.

A model is seen as `step(ids int32 [rows], state) -> (logits float [rows, vocabulary], state)`, where state is a dict of tensors
with the rows first on every leaf. Decoding begins with the logits of the first token and the state behind all that was read.
What a row gets does not depend on the rows beside it.
"""

from collections.abc import Callable

import tensorflow as tf

from pipelines.text import PAD

_IMPOSSIBLE = -1e9  # a log-probability


def sample(step: Callable, logits, state, lengths, temperature, top_k, top_p, seed, stop=None, never=()):
    """Draws a continuation for each row; greedy decoding where the temperature is 0.

    A token is drawn from softmax(logits / temperature) over the `top_k` most likely ones, and of those from the fewest whose
    probabilities reach `top_p` (Holtzman et al. 2020, "The Curious Case of Neural Text Degeneration").

    Args:
        logits: float [rows, vocabulary], of the first token.
        state: of the model.
        lengths: int32 [rows], tokens to draw.
        temperature: float [rows]; 0 takes the most likely token.
        top_k: int32 [rows]; 0 for all.
        top_p: float [rows]; 1 for all.
        seed: int32 [rows].
        stop: int32 [rows, n]: a row ends behind these tokens. Padded with PAD on the left; a row of PAD never ends early.
        never: ids that are not drawn.

    Returns:
        (tokens int32 [rows, time] with PAD behind a row's end, their number int32 [rows], and the sum of their
        log-probabilities under the model itself, at temperature 1 and without cuts, float32 [rows]).
    """
    rows, vocabulary = tf.shape(logits)[0], logits.shape[-1]
    most = tf.reduce_max(tf.concat([lengths, [0]], axis=0))
    # All of a row's chance is drawn from its own seed, so that neighbours do not matter.
    chance = tf.map_fn(lambda s: tf.random.stateless_uniform([most], [s, 0]), seed, fn_output_signature=tf.TensorSpec([None]))
    forbidden = tf.reduce_sum(tf.one_hot(list(never), vocabulary, on_value=_IMPOSSIBLE), axis=0) if never else 0.0
    if stop is None:
        stop = tf.fill([rows, 1], PAD)
    can_stop = tf.reduce_any(stop != PAD, axis=1)

    def draw(i, alive, recent, counts, log_probability, tokens, logits, state):
        chosen = _draw(logits + forbidden, temperature, top_k, top_p, chance[:, i])
        chosen = tf.where(alive, chosen, PAD)
        gain = tf.gather(tf.nn.log_softmax(logits), chosen, batch_dims=1)
        log_probability += tf.where(alive, gain, 0.0)
        counts += tf.cast(alive, tf.int32)
        recent = tf.concat([recent[:, 1:], chosen[:, None]], axis=1)
        stopped = can_stop & tf.reduce_all(tf.equal(recent, stop) | tf.equal(stop, PAD), axis=1)
        alive &= ~stopped & (i + 1 < lengths)
        tokens = tokens.write(i, chosen)
        logits, state = tf.cond(tf.reduce_any(alive), lambda: step(chosen, state), lambda: (logits, state))
        return i + 1, alive, recent, counts, log_probability, tokens, logits, state

    start = (
        0, lengths > 0, tf.fill(tf.shape(stop), PAD), tf.zeros([rows], tf.int32), tf.zeros([rows]),
        tf.TensorArray(tf.int32, size=most, element_shape=[None]), logits, state,
    )  # fmt: skip
    done = tf.while_loop(lambda i, alive, *_: tf.reduce_any(alive), draw, start, shape_invariants=_invariants(start))
    _, _, _, counts, log_probability, tokens, _, _ = done
    # Steps that no row has reached are not in it: `stack` gives them as zeros, which is PAD.
    return tf.transpose(tokens.stack()), counts, log_probability


def beam(step: Callable, logits, state, lengths, width, length_penalty, end: int | None, never=(), most_width: int = 16, fixed=()):
    """Beam search: each row's most likely continuations.

    Of a hypothesis of n tokens with log-probability p the score is p / ((5 + n) / 6)^length_penalty (Wu et al. 2016, equation
    14). A hypothesis is finished with `end` or at its row's length; finished ones are kept apart and never extended. A row is
    done when none of its unfinished hypotheses can beat the worst of `width` finished ones.

    Args:
        logits, state: as for `sample`.
        lengths: int32 [rows], tokens at most.
        width: int32 [rows], hypotheses kept, from 1, which is greedy, to `most_width`.
        length_penalty: float [rows], at least 0; 0 compares log-probabilities.
        end: the token that finishes; None if there is none.
        never: ids that are not taken.
        most_width: hypotheses for which there is room.
        fixed: names in `state` of what depends on the row alone, and is the same for all of its hypotheses.

    Returns:
        (tokens int32 [rows, k, time] with PAD behind the end, their number int32 [rows, k], log-probability and score, both
        float32 [rows, k]), the best first; k is the largest width. Behind a row's own width there are hypotheses of no tokens
        with score -1e9.
    """
    rows, vocabulary = tf.shape(logits)[0], logits.shape[-1]
    k = tf.minimum(tf.reduce_max(tf.concat([width, [1]], axis=0)), most_width)
    most = tf.reduce_max(tf.concat([lengths, [0]], axis=0))
    nexts = tf.minimum(2 * k + len(never), vocabulary)  # of one hypothesis no more can be among its row's 2 k best that are allowed
    in_width = tf.range(k)[None] < width[:, None]
    # Of 2 width candidates at most `width` end, one of each hypothesis. A width of 1 has one, and so is greedy: with two, the
    # second best would be searched on where the best ends.
    in_candidates = tf.range(2 * k)[None] < tf.where(width == 1, 1, 2 * width)[:, None]

    def score(log_probability, count):
        return log_probability / length_divisor(count, length_penalty[:, None])

    def gathered(tree, index):
        return tf.nest.map_structure(lambda x: tf.gather(x, index), tree)

    def best_of(count, scores, *others):
        scores, index = tf.math.top_k(scores, count)
        return scores, *(tf.gather(x, index, batch_dims=1) for x in others)

    def extend(i, alive, alive_tokens, finished, finished_tokens, finished_counts, finished_log, logits, state):
        log_probability, chosen = tf.math.top_k(tf.nn.log_softmax(logits), nexts)
        for token in never:
            log_probability = tf.where(chosen == token, _IMPOSSIBLE, log_probability)
        log_probability += tf.reshape(alive, [-1, 1])
        candidates, index = tf.math.top_k(tf.reshape(log_probability, [rows, k * nexts]), 2 * k)
        candidates = tf.where(in_candidates, candidates, _IMPOSSIBLE)
        origin, chosen = index // nexts, tf.gather(tf.reshape(chosen, [rows, k * nexts]), index, batch_dims=1)
        tokens = tf.gather(alive_tokens, origin, batch_dims=1)
        tokens = tf.where(tf.range(most) == i, chosen[..., None], tokens)
        ends = tf.broadcast_to((i + 1 >= lengths)[:, None], tf.shape(chosen))
        if end is not None:
            ends |= chosen == end
        real = candidates > _IMPOSSIBLE / 2

        new = tf.where(ends & real, score(candidates, i + 1), _IMPOSSIBLE)
        finished, finished_tokens, finished_counts, finished_log = best_of(
            k,
            tf.concat([finished, new], axis=1),
            tf.concat([finished_tokens, tokens], axis=1),
            tf.concat([finished_counts, tf.fill(tf.shape(chosen), i + 1)], axis=1),
            tf.concat([finished_log, candidates], axis=1),
        )
        finished = tf.where(in_width, finished, _IMPOSSIBLE)

        alive, alive_tokens, origin, chosen = best_of(
            k, tf.where(ends | ~real, _IMPOSSIBLE, candidates), tokens, origin, chosen
        )
        alive = tf.where(in_width, alive, _IMPOSSIBLE)
        moving = {name: value for name, value in state.items() if name not in fixed}
        state = state | gathered(moving, tf.reshape(origin + tf.range(rows)[:, None] * k, [-1]))
        logits, state = step(tf.reshape(chosen, [-1]), state)
        return i + 1, alive, alive_tokens, finished, finished_tokens, finished_counts, finished_log, logits, state

    def goes_on(i, alive, _, finished, *__):
        # The best that an unfinished hypothesis can come to: log-probabilities only fall, and the penalty is largest at the end.
        hope = tf.reduce_max(score(alive, lengths[:, None]), axis=1)
        worst = tf.reduce_min(tf.where(in_width, finished, 0.0), axis=1)
        return (i < most) & tf.reduce_any((hope > worst) & (hope > _IMPOSSIBLE / 2))

    first = tf.where(tf.range(k) == 0, 0.0, _IMPOSSIBLE) + tf.where(lengths > 0, 0.0, _IMPOSSIBLE)[:, None]
    nothing = tf.fill([rows, k, most], PAD)
    of_each = tf.repeat(tf.range(rows), k)
    start = (
        0, first, nothing, tf.fill([rows, k], _IMPOSSIBLE), nothing, tf.zeros([rows, k], tf.int32), tf.fill([rows, k], _IMPOSSIBLE),
        gathered(logits, of_each), gathered(state, of_each),
    )  # fmt: skip
    done = tf.while_loop(goes_on, extend, start, shape_invariants=_invariants(start))
    _, _, _, scores, tokens, counts, log_probability, _, _ = done
    at_once = (lengths <= 0)[:, None] & (tf.range(k) == 0)  # the one continuation of no tokens is certain
    scores, log_probability = tf.where(at_once, 0.0, scores), tf.where(at_once, 0.0, log_probability)
    empty = scores <= _IMPOSSIBLE / 2
    tokens = tf.where(empty[..., None] | (tf.range(most) >= counts[..., None]), PAD, tokens)
    return tokens, tf.where(empty, 0, counts), tf.where(empty, _IMPOSSIBLE, log_probability), scores


def length_divisor(count, length_penalty):
    """((5 + n) / 6)^length_penalty for int32 counts n: what the log-probabilities of beam search are divided by."""
    return ((5.0 + tf.cast(count, tf.float32)) / 6.0) ** length_penalty


def _draw(logits, temperature, top_k, top_p, chance):
    """One token for each row: logits float [rows, vocabulary], chance float [rows] in [0, 1) -> int32 [rows]."""
    likeliest = tf.argmax(logits, axis=-1, output_type=tf.int32)

    def drawn():
        vocabulary = logits.shape[-1]
        scaled = logits / tf.where(temperature > 0, temperature, 1.0)[:, None]
        probabilities, ids = tf.math.top_k(tf.nn.softmax(scaled), vocabulary)
        kept = tf.where(top_k > 0, top_k, vocabulary)
        probabilities = tf.where(tf.range(vocabulary)[None] < kept[:, None], probabilities, 0.0)
        probabilities /= tf.reduce_sum(probabilities, axis=1, keepdims=True)
        before = tf.cumsum(probabilities, axis=1, exclusive=True)
        probabilities = tf.where((before < top_p[:, None]) | (top_p[:, None] >= 1), probabilities, 0.0)
        reached = tf.cumsum(probabilities, axis=1)
        place = tf.reduce_sum(tf.cast(reached <= chance[:, None] * reached[:, -1:], tf.int32), axis=1)
        last = tf.reduce_sum(tf.cast(probabilities > 0, tf.int32), axis=1) - 1
        return tf.gather(ids, tf.minimum(place, last), batch_dims=1)

    return tf.where(temperature > 0, tf.cond(tf.reduce_any(temperature > 0), drawn, lambda: likeliest), likeliest)


def _invariants(values):
    """The shapes that hold all through a loop: sizes are not known when the graph is made, but for the model's own."""

    def sizes(x):
        return tf.TensorShape(None) if isinstance(x, tf.TensorArray) else tf.TensorShape([None] * len(tf.convert_to_tensor(x).shape))

    *others, logits, state = values
    models_own = tf.nest.map_structure(lambda x: tf.TensorShape([None, *x.shape[1:]]), (logits, state))
    return (*map(sizes, others), *models_own)
