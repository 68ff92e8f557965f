"""Beam search, as a loop in the graph over one `step` (see loop.py).

The loop is divided into stages of at most STAGE_STEPS steps. A stage ends early when half of its rows are done. After
each stage, the rows that are done are removed from the batch, so that the next steps do not compute them.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import tensorflow as tf

from pipelines.decoding.loop import IMPOSSIBLE, STAGE_STEPS, shape_invariants
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


class Finished(NamedTuple):
    """The best hypotheses of each row that cannot be extended, the best first."""

    scores: tf.Tensor  # float32 [batch, k]; IMPOSSIBLE where there is no hypothesis
    tokens: tf.Tensor  # int32 [batch, k, max_time]
    lengths: tf.Tensor  # int32 [batch, k]
    log_probabilities: tf.Tensor  # float32 [batch, k]


class BeamState(NamedTuple):
    """What a step of beam search changes. `alive` hypotheses can be extended; `finished` ones cannot."""

    time: tf.Tensor  # int32 [], number of tokens of each alive hypothesis
    alive_log_probabilities: tf.Tensor  # float32 [batch, k], the best first; IMPOSSIBLE where there is no hypothesis
    alive_tokens: tf.Tensor  # int32 [batch, k, max_time]
    finished: Finished
    logits: tf.Tensor  # float32 [batch * k, vocabulary], of the next token of the alive hypotheses
    state: dict  # of the model, for the alive hypotheses, [batch * k, ...], but for what is shared, [batch, ...]


class _Search(NamedTuple):
    """What stays the same in all steps of a stage."""

    k: tf.Tensor  # int32 [], the largest beam width
    max_time: tf.Tensor  # int32 [], the largest number of tokens
    lengths: tf.Tensor  # int32 [batch], maximum number of tokens
    num_best: tf.Tensor  # int32 [batch], number of finished hypotheses that alive ones must not be able to surpass
    length_penalty: tf.Tensor  # float32 [batch]
    in_beam: tf.Tensor  # bool [batch, k], hypotheses within the row's own beam width
    in_candidates: tf.Tensor  # bool [batch, 2 k]
    end_id: int | None
    banned_ids: Sequence[int]

    @property
    def batch_size(self):
        return tf.shape(self.lengths)[0]

    def of_rows(self, rows):
        """The search of some rows, int32 [n]."""
        of_batch = ("lengths", "num_best", "length_penalty", "in_beam", "in_candidates")
        return self._replace(**{name: tf.gather(getattr(self, name), rows) for name in of_batch})

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
    num_best: tf.Tensor | int = MAX_BEAM_WIDTH,
    fixed: Sequence[str] = (),
    shared: Sequence[str] = (),
    make_room: Callable | None = None,
) -> Hypotheses:
    """Searches the most likely continuations of each row.

    The score of a hypothesis of n tokens with log-probability p is p / ((5 + n) / 6)^length_penalty (Wu et al. 2016,
    "Google's Neural Machine Translation System", equation 14). A hypothesis is finished by `end_id` or at its row's
    length. A row is done when none of its alive hypotheses can score higher than the worst of its `num_best` best
    finished ones.

    Args:
        logits: float [batch, vocabulary], of the first token.
        state: of the model, [batch, ...].
        lengths: int32 [batch], maximum number of tokens.
        beam_width: int32 [batch], number of hypotheses, from 1 (greedy) to `max_beam_width`.
        length_penalty: float [batch], at least 0; 0 compares log-probabilities.
        end_id: the token that finishes a hypothesis; None if there is none.
        banned_ids: ids that are never chosen.
        max_beam_width: upper limit of `beam_width`.
        num_best: int32 [], number of hypotheses that a longer search would not change, at most `beam_width`; the others
            are the best ones found until then.
        fixed: names in `state` of what depends on the row alone: it is repeated for the hypotheses of a row once.
        shared: names in `state` of what belongs to a row, and that `step` takes and returns for the rows, [batch, ...],
            while everything else is for their hypotheses, [batch * k, ...].
        make_room: see loop.py; None for a state that does not grow.
    """
    search = _make_search(lengths, beam_width, length_penalty, end_id, banned_ids, max_beam_width, num_best)

    def with_room(beam: BeamState) -> BeamState:
        return beam if make_room is None else beam._replace(state=make_room(beam.state))

    def beam_step(stage: _Search, beam: BeamState) -> BeamState:
        candidates = _extend(stage, beam)
        finished = _keep_finished(stage, beam, candidates)
        alive_log_probabilities, alive_tokens, origin, last = _keep_alive(stage, candidates)
        rows = tf.reshape(origin + tf.range(stage.batch_size)[:, None] * stage.k, [-1])  # [batch * k]
        moving = {name: value for name, value in beam.state.items() if name not in (*fixed, *shared)}
        next_logits, next_state = step(tf.reshape(last, [-1]), beam.state | _gather_rows(moving, rows))
        return BeamState(beam.time + 1, alive_log_probabilities, alive_tokens, finished, next_logits, next_state)

    def run_stage(rows, found: Finished, beam: BeamState):
        """Searches for the rows, int32 [n], that are not done; returns those that are not done afterwards."""
        stage, end = search.of_rows(rows), beam.time + STAGE_STEPS

        def goes_on(beam: BeamState):
            going = tf.math.count_nonzero(_can_improve(stage, beam), dtype=tf.int32)
            return (beam.time < end) & (2 * going > tf.size(rows))

        (beam,) = tf.while_loop(
            goes_on, lambda beam: [beam_step(stage, beam)], [beam], shape_invariants=[shape_invariants(beam)]
        )
        found = Finished(
            *(tf.tensor_scatter_nd_update(x, rows[:, None], new) for x, new in zip(found, beam.finished, strict=True))
        )
        going = tf.cast(tf.where(_can_improve(stage, beam))[:, 0], tf.int32)
        return tf.gather(rows, going), found, with_room(_select(beam, going, search.k, shared))

    start = with_room(_start_beam(search, logits, state, shared))
    rows = tf.range(search.batch_size)
    unknown = tf.nest.map_structure(lambda x: tf.TensorShape([None] * len(x.shape)), start.finished)
    _, found, _ = tf.while_loop(
        lambda rows, found, beam: tf.size(rows) > 0,
        run_stage,
        [rows, start.finished, start],
        shape_invariants=[tf.TensorShape([None]), unknown, shape_invariants(start)],
    )
    return _collect(search, found)


def _make_search(lengths, beam_width, length_penalty, end_id, banned_ids, max_beam_width, num_best) -> _Search:
    k = tf.minimum(tf.reduce_max(tf.concat([beam_width, [1]], axis=0)), max_beam_width)
    # Of 2 beam_width candidates at most beam_width end, one of each hypothesis. A beam width of 1 has one candidate,
    # and so is greedy: with two, the search would continue with the second best where the best ends.
    num_candidates = tf.where(beam_width == 1, 1, 2 * beam_width)
    return _Search(
        k=k,
        max_time=tf.reduce_max(tf.concat([lengths, [1]], axis=0)),  # a scatter needs one element
        lengths=lengths,
        num_best=tf.minimum(num_best, tf.minimum(beam_width, max_beam_width)),
        length_penalty=length_penalty,
        in_beam=tf.range(k)[None] < beam_width[:, None],
        in_candidates=tf.range(2 * k)[None] < num_candidates[:, None],
        end_id=end_id,
        banned_ids=banned_ids,
    )


def _start_beam(search: _Search, logits, state, shared) -> BeamState:
    """One alive hypothesis of no tokens per row, and no finished one."""
    first = tf.where(tf.range(search.k) == 0, 0.0, IMPOSSIBLE) + tf.where(search.lengths > 0, 0.0, IMPOSSIBLE)[:, None]
    no_tokens = tf.fill([search.batch_size, search.k, search.max_time], PAD)
    impossible = tf.fill([search.batch_size, search.k], IMPOSSIBLE)
    rows = tf.repeat(tf.range(search.batch_size), search.k)
    return BeamState(
        time=0,
        alive_log_probabilities=first,
        alive_tokens=no_tokens,
        finished=Finished(impossible, no_tokens, tf.zeros([search.batch_size, search.k], tf.int32), impossible),
        logits=_gather_rows(logits, rows),
        state={name: value if name in shared else _gather_rows(value, rows) for name, value in state.items()},
    )


def _select(beam: BeamState, rows, k, shared) -> BeamState:
    """The state of some rows, int32 [n]."""
    hypotheses = tf.reshape(rows[:, None] * k + tf.range(k), [-1])  # [n * k]
    return beam._replace(
        alive_log_probabilities=tf.gather(beam.alive_log_probabilities, rows),
        alive_tokens=tf.gather(beam.alive_tokens, rows),
        finished=_gather_rows(beam.finished, rows),
        logits=tf.gather(beam.logits, hypotheses),
        state={name: _gather_rows(x, rows if name in shared else hypotheses) for name, x in beam.state.items()},
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


def _keep_finished(search: _Search, beam: BeamState, candidates: _Candidates) -> Finished:
    """Keeps the k best of the finished hypotheses and the candidates that end."""
    length, finished = beam.time + 1, beam.finished
    new_scores = tf.where(
        candidates.ends & candidates.possible, search.score(candidates.log_probabilities, length), IMPOSSIBLE
    )
    scores, *others = _best(
        search.k,
        tf.concat([finished.scores, new_scores], axis=1),
        tf.concat([finished.tokens, candidates.tokens], axis=1),
        tf.concat([finished.lengths, tf.fill(tf.shape(candidates.last), length)], axis=1),
        tf.concat([finished.log_probabilities, candidates.log_probabilities], axis=1),
    )
    return Finished(tf.where(search.in_beam, scores, IMPOSSIBLE), *others)


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
    """Whether an alive hypothesis of a row can surpass one of its `num_best` best finished ones, bool [batch]."""
    # Log-probabilities only fall, and the divisor is largest at the maximum length: this is the upper bound of a score.
    upper_bound = tf.reduce_max(search.score(beam.alive_log_probabilities, search.lengths[:, None]), axis=1)
    worst = tf.gather(beam.finished.scores, search.num_best - 1, batch_dims=1)
    return (beam.time < search.lengths) & (upper_bound > worst) & (upper_bound > IMPOSSIBLE / 2)


def _collect(search: _Search, found: Finished) -> Hypotheses:
    """Returns the finished hypotheses, with PAD after their ends and nothing in those that do not exist."""
    # Where no token is allowed, the only continuation has no tokens and probability 1.
    at_once = (search.lengths <= 0)[:, None] & (tf.range(search.k) == 0)
    scores = tf.where(at_once, 0.0, found.scores)
    log_probabilities = tf.where(at_once, 0.0, found.log_probabilities)
    empty = scores <= IMPOSSIBLE / 2
    after_end = tf.range(search.max_time) >= found.lengths[..., None]
    return Hypotheses(
        tokens=tf.where(empty[..., None] | after_end, PAD, found.tokens),
        lengths=tf.where(empty, 0, found.lengths),
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
