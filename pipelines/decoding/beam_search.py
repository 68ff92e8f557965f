"""Beam search, as a loop in the graph over one `step` (see loop.py)."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import tensorflow as tf

from pipelines.decoding.loop import IMPOSSIBLE, shape_invariants
from pipelines.decoding.options import MAX_BEAM_WIDTH
from pipelines.text.tokenizers import PAD


class Hypotheses(NamedTuple):
    """The k hypotheses of each row, the best first; k is the largest beam width of the batch.

    A row with a smaller beam width is filled up with hypotheses of no tokens whose score is -1e9.

    Attributes:
        tokens: int32 [batch, k, time]; PAD after the end.
        lengths: int32 [batch, k], number of tokens.
        log_probabilities: float32 [batch, k].
        scores: float32 [batch, k].
    """

    tokens: tf.Tensor
    lengths: tf.Tensor
    log_probabilities: tf.Tensor
    scores: tf.Tensor


class BeamState(NamedTuple):
    """What a step of beam search changes. `alive` hypotheses can be extended; `finished` ones cannot."""

    time: tf.Tensor  # int32 [], number of tokens of each alive hypothesis
    alive_log_probabilities: tf.Tensor  # float32 [batch, k], the best first; IMPOSSIBLE where there is no hypothesis
    alive_tokens: tf.Tensor  # int32 [batch, k, max_time]
    finished_scores: tf.Tensor  # float32 [batch, k], the best first; IMPOSSIBLE where there is no hypothesis
    finished_tokens: tf.Tensor  # int32 [batch, k, max_time]
    finished_lengths: tf.Tensor  # int32 [batch, k]
    finished_log_probabilities: tf.Tensor  # float32 [batch, k]
    logits: tf.Tensor  # float32 [batch * k, vocabulary], of the next token of the alive hypotheses
    state: dict  # of the model, for the alive hypotheses, [batch * k, ...]


class _Search(NamedTuple):
    """What stays the same in all steps of one beam search."""

    batch_size: tf.Tensor
    k: tf.Tensor  # int32 [], the largest beam width
    max_time: tf.Tensor  # int32 [], the largest of `lengths`
    lengths: tf.Tensor  # int32 [batch], maximum number of tokens
    length_penalty: tf.Tensor  # float32 [batch]
    in_beam: tf.Tensor  # bool [batch, k], hypotheses within the row's own beam width
    in_candidates: tf.Tensor  # bool [batch, 2 k]
    end_id: int | None
    banned_ids: Sequence[int]

    def score(self, log_probabilities, lengths):
        """Scores of hypotheses, float32 [batch, n]."""
        return log_probabilities / length_divisor(lengths, self.length_penalty[:, None])


class _Candidates(NamedTuple):
    """Hypotheses that are one token longer than the alive ones: the 2 k best of each row."""

    log_probabilities: tf.Tensor  # float32 [batch, 2 k]
    tokens: tf.Tensor  # int32 [batch, 2 k, max_time]
    last: tf.Tensor  # int32 [batch, 2 k], the new token
    origin: tf.Tensor  # int32 [batch, 2 k], index of the extended hypothesis
    possible: tf.Tensor  # bool [batch, 2 k]
    ends: tf.Tensor  # bool [batch, 2 k], finished by the new token


def beam_search(
    step: Callable,
    logits: tf.Tensor,
    state: dict,
    lengths: tf.Tensor,
    beam_width: tf.Tensor,
    length_penalty: tf.Tensor,
    end_id: int | None,
    banned_ids: Sequence[int] = (),
    max_beam_width: int = MAX_BEAM_WIDTH,
    fixed: Sequence[str] = (),
) -> Hypotheses:
    """Searches the most likely continuations of each row.

    The score of a hypothesis of n tokens with log-probability p is p / ((5 + n) / 6)^length_penalty (Wu et al. 2016,
    "Google's Neural Machine Translation System", equation 14). A hypothesis is finished by `end_id` or at its row's
    length. A row is done when none of its alive hypotheses can score higher than the worst of `beam_width` finished
    ones.

    Args:
        logits: float [batch, vocabulary], of the first token.
        state: of the model, [batch, ...].
        lengths: int32 [batch], maximum number of tokens.
        beam_width: int32 [batch], number of hypotheses, from 1 (greedy) to `max_beam_width`.
        length_penalty: float [batch], at least 0; 0 compares log-probabilities.
        end_id: the token that finishes a hypothesis; None if there is none.
        banned_ids: ids that are never chosen.
        max_beam_width: upper limit of `beam_width`.
        fixed: names in `state` of what depends on the row alone and is the same for all of its hypotheses.
    """
    search = _make_search(logits, lengths, beam_width, length_penalty, end_id, banned_ids, max_beam_width)

    def beam_step(beam: BeamState):
        candidates = _extend(search, beam)
        finished = _keep_finished(search, beam, candidates)
        alive_log_probabilities, alive_tokens, origin, last = _keep_alive(search, candidates)
        rows = tf.reshape(origin + tf.range(search.batch_size)[:, None] * search.k, [-1])  # [batch * k]
        moving = {name: value for name, value in beam.state.items() if name not in fixed}
        next_logits, next_state = step(tf.reshape(last, [-1]), beam.state | _gather_rows(moving, rows))
        return [BeamState(beam.time + 1, alive_log_probabilities, alive_tokens, *finished, next_logits, next_state)]

    start = _start_beam(search, logits, state)
    (end,) = tf.while_loop(
        lambda beam: _can_improve(search, beam), beam_step, [start], shape_invariants=[shape_invariants(start)]
    )
    return _collect(search, end)


def _make_search(logits, lengths, beam_width, length_penalty, end_id, banned_ids, max_beam_width) -> _Search:
    k = tf.minimum(tf.reduce_max(tf.concat([beam_width, [1]], axis=0)), max_beam_width)
    # Of 2 beam_width candidates at most beam_width end, one of each hypothesis. A beam width of 1 has one candidate,
    # and so is greedy: with two, the search would continue with the second best where the best ends.
    num_candidates = tf.where(beam_width == 1, 1, 2 * beam_width)
    return _Search(
        batch_size=tf.shape(logits)[0],
        k=k,
        max_time=tf.reduce_max(tf.concat([lengths, [0]], axis=0)),
        lengths=lengths,
        length_penalty=length_penalty,
        in_beam=tf.range(k)[None] < beam_width[:, None],
        in_candidates=tf.range(2 * k)[None] < num_candidates[:, None],
        end_id=end_id,
        banned_ids=banned_ids,
    )


def _start_beam(search: _Search, logits, state) -> BeamState:
    """One alive hypothesis of no tokens per row, and no finished one."""
    first = tf.where(tf.range(search.k) == 0, 0.0, IMPOSSIBLE) + tf.where(search.lengths > 0, 0.0, IMPOSSIBLE)[:, None]
    no_tokens = tf.fill([search.batch_size, search.k, search.max_time], PAD)
    impossible = tf.fill([search.batch_size, search.k], IMPOSSIBLE)
    rows = tf.repeat(tf.range(search.batch_size), search.k)
    return BeamState(
        time=0,
        alive_log_probabilities=first,
        alive_tokens=no_tokens,
        finished_scores=impossible,
        finished_tokens=no_tokens,
        finished_lengths=tf.zeros([search.batch_size, search.k], tf.int32),
        finished_log_probabilities=impossible,
        logits=_gather_rows(logits, rows),
        state=_gather_rows(state, rows),
    )


def _extend(search: _Search, beam: BeamState) -> _Candidates:
    """Extends each alive hypothesis by its most likely tokens, and keeps the 2 k best extensions of each row."""
    # The row's 2 k best extensions without banned tokens have at most this many extensions of one hypothesis.
    num_next = tf.minimum(2 * search.k + len(search.banned_ids), beam.logits.shape[-1])
    log_probabilities, ids = tf.math.top_k(tf.nn.log_softmax(beam.logits), num_next)  # [batch * k, num_next]
    for banned_id in search.banned_ids:
        log_probabilities = tf.where(ids == banned_id, IMPOSSIBLE, log_probabilities)
    log_probabilities += tf.reshape(beam.alive_log_probabilities, [-1, 1])
    by_row = [search.batch_size, search.k * num_next]
    log_probabilities, index = tf.math.top_k(tf.reshape(log_probabilities, by_row), 2 * search.k)  # [batch, 2 k]
    log_probabilities = tf.where(search.in_candidates, log_probabilities, IMPOSSIBLE)
    origin, last = index // num_next, tf.gather(tf.reshape(ids, by_row), index, batch_dims=1)
    tokens = tf.gather(beam.alive_tokens, origin, batch_dims=1)  # [batch, 2 k, max_time]
    tokens = tf.where(tf.range(search.max_time) == beam.time, last[..., None], tokens)
    ends = tf.broadcast_to((beam.time + 1 >= search.lengths)[:, None], tf.shape(last))
    if search.end_id is not None:
        ends |= last == search.end_id
    return _Candidates(log_probabilities, tokens, last, origin, log_probabilities > IMPOSSIBLE / 2, ends)


def _keep_finished(
    search: _Search, beam: BeamState, candidates: _Candidates
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
    """Keeps the k best of the finished hypotheses and the candidates that end.

    Returns:
        finished_scores, finished_tokens, finished_lengths and finished_log_probabilities of the next BeamState.
    """
    length = beam.time + 1
    new_scores = tf.where(
        candidates.ends & candidates.possible, search.score(candidates.log_probabilities, length), IMPOSSIBLE
    )
    scores, tokens, lengths, log_probabilities = _best(
        search.k,
        tf.concat([beam.finished_scores, new_scores], axis=1),
        tf.concat([beam.finished_tokens, candidates.tokens], axis=1),
        tf.concat([beam.finished_lengths, tf.fill(tf.shape(candidates.last), length)], axis=1),
        tf.concat([beam.finished_log_probabilities, candidates.log_probabilities], axis=1),
    )
    return tf.where(search.in_beam, scores, IMPOSSIBLE), tokens, lengths, log_probabilities


def _keep_alive(search: _Search, candidates: _Candidates):
    """Keeps the k best candidates that do not end.

    Returns:
        alive_log_probabilities and alive_tokens of the next BeamState, the origin of each, and its last token, all
        [batch, k, ...].
    """
    log_probabilities = tf.where(candidates.ends | ~candidates.possible, IMPOSSIBLE, candidates.log_probabilities)
    log_probabilities, tokens, origin, last = _best(
        search.k, log_probabilities, candidates.tokens, candidates.origin, candidates.last
    )
    return tf.where(search.in_beam, log_probabilities, IMPOSSIBLE), tokens, origin, last


def _can_improve(search: _Search, beam: BeamState):
    """Whether an alive hypothesis of any row can still score higher than the worst of its finished ones."""
    # Log-probabilities only fall, and the divisor is largest at the maximum length: this is the upper bound of a score.
    upper_bound = tf.reduce_max(search.score(beam.alive_log_probabilities, search.lengths[:, None]), axis=1)
    worst = tf.reduce_min(tf.where(search.in_beam, beam.finished_scores, 0.0), axis=1)
    return (beam.time < search.max_time) & tf.reduce_any((upper_bound > worst) & (upper_bound > IMPOSSIBLE / 2))


def _collect(search: _Search, beam: BeamState) -> Hypotheses:
    """Returns the finished hypotheses, with PAD after their ends and nothing in those that do not exist."""
    # Where no token is allowed, the only continuation has no tokens and probability 1.
    at_once = (search.lengths <= 0)[:, None] & (tf.range(search.k) == 0)
    scores = tf.where(at_once, 0.0, beam.finished_scores)
    log_probabilities = tf.where(at_once, 0.0, beam.finished_log_probabilities)
    empty = scores <= IMPOSSIBLE / 2
    after_end = tf.range(search.max_time) >= beam.finished_lengths[..., None]
    return Hypotheses(
        tokens=tf.where(empty[..., None] | after_end, PAD, beam.finished_tokens),
        lengths=tf.where(empty, 0, beam.finished_lengths),
        log_probabilities=tf.where(empty, IMPOSSIBLE, log_probabilities),
        scores=scores,
    )


def num_columns(scores: tf.Tensor) -> tf.Tensor:
    """Returns how many of the first columns have a hypothesis in any row, at least 1, int32 [].

    Args:
        scores: float32 [batch, k], the best first; IMPOSSIBLE where there is no hypothesis.
    """
    by_row = tf.reduce_sum(tf.cast(scores > IMPOSSIBLE / 2, tf.int32), axis=1)
    return tf.reduce_max(tf.concat([by_row, [1]], axis=0))


def length_divisor(lengths, length_penalty):
    """((5 + n) / 6)^length_penalty for int32 lengths n: the divisor of the log-probabilities in beam search."""
    return ((5.0 + tf.cast(lengths, tf.float32)) / 6.0) ** length_penalty


def _best(count, scores, *others):
    """The `count` highest of scores [batch, n], and the same entries of the others [batch, n, ...]."""
    scores, index = tf.math.top_k(scores, count)
    return scores, *(tf.gather(x, index, batch_dims=1) for x in others)


def _gather_rows(tree, rows):
    return tf.nest.map_structure(lambda x: tf.gather(x, rows), tree)
