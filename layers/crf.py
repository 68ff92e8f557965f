"""A linear-chain conditional random field: sequence labelling in which the score of a tag depends on the previous tag.

The sums over all sequences of tags are computed in log space. So they stay exact where the scores differ by thousands,
and where `allowed` forbids most sequences.
"""

from typing import NamedTuple

import keras
import numpy as np
from keras import ops

from layers.backend_rnn import rnn

FORBIDDEN = -1e6  # the score of a forbidden step; finite, so that a forbidden sequence of tags has a finite loss
LOWEST = -1e30  # the scores of padding, and of hypotheses that do not exist


class _Scores(NamedTuple):
    """The scores of a batch, float32 or float64. The padding is zero."""

    unary: keras.KerasTensor  # [batch, time, tags]: logits, minus `offset`
    offset: keras.KerasTensor  # [batch, time]: the largest logit of each position
    transitions: keras.KerasTensor  # [tags, tags], with FORBIDDEN
    start: keras.KerasTensor  # [tags]
    end: keras.KerasTensor  # [tags]
    mask: keras.KerasTensor  # bool [batch, time]
    last: keras.KerasTensor  # int32 [batch]: the last valid position; 0 if there is none


class _Messages(NamedTuple):
    """The results of the forward-backward algorithm, without gradients."""

    forward: keras.KerasTensor  # [batch, time, tags]: log sum of all beginnings that end with this tag
    backward: keras.KerasTensor  # [batch, time, tags]: log sum of all continuations that start with this tag
    marginals: keras.KerasTensor  # [batch, time, tags]; 0 at the padding
    log_z: keras.KerasTensor  # [batch, time]: log sum of all sequences, the same number at each valid position


@keras.saving.register_keras_serializable(package="unroll")
class CRF(keras.layers.Layer):
    """Linear-chain conditional random field.

        s(x, y) = a_(y_1) + sum_t x_(t, y_t) + sum_(t > 1) A_(y_(t-1), y_t) + b_(y_l)
        log p(y | x) = s(x, y) - log Z(x),    Z(x) = sum over all sequences y of exp(s(x, y))

    The logits x are the output of another layer, such as `keras.layers.Dense(tags)`. The weights are the transitions A,
    the start scores a and the end scores b. They start at zero, where the CRF equals a softmax at each position.

    The output is meant for `loss`: the logits, with -1e30 at the padding. So the loss needs no mask.

        crf = CRF()
        model = keras.Model([ids, ...], crf(logits, mask=mask))
        model.compile("adam", loss=crf.loss)

    For inference use `decode`, `marginals` or `decode_n_best`, with the same logits and mask. The sums are computed in
    float32 at least, whatever the dtype policy. The padding must be on the right. A row without a valid position has
    the log-partition 0, the log-likelihood 0, marginals 0 and tags 0. There must be at least one position.

    The gradient of log Z is computed from the marginals, by one loop over time which runs the forward and the backward
    recursion together. There are no second derivatives.

    Parameters, for k tags: k^2 + 2 k.

    Source: Lafferty, McCallum and Pereira 2001, "Conditional Random Fields"; Lample et al. 2016, "Neural Architectures
    for Named Entity Recognition", section 2.2; the recursions: Rabiner 1989, "A tutorial on hidden Markov models".

    Args:
        allowed: bool [tags, tags], as nested lists or an array; [i, j] is False where tag j cannot follow tag i. Such a
            step has the score -1e6 instead of its weight, in training and in decoding.
        allowed_start: bool [tags], False for tags that cannot be first.
        allowed_end: bool [tags], False for tags that cannot be last.

    Shapes:
        logits: float [batch, time, tags]
        mask: bool [batch, time], True for valid positions; all valid if not given
        -> float32 (or float64) [batch, time, tags]

    Example:
        >>> crf = CRF(allowed=[[True, False], [True, True]])
        >>> logits = np.array([[[2.0, 0.0], [0.0, 1.0], [9.0, 9.0]]], "float32")
        >>> mask = np.array([[True, True, False]])
        >>> crf(logits, mask=mask).shape
        (1, 3, 2)
        >>> tags, score = crf.decode(logits, mask)
        >>> tags
        [[0, 0, 0]]
        >>> crf.log_likelihood(logits, tags, mask)
        [-0.4076]

    Raises:
        ValueError: if the shapes of allowed, allowed_start, allowed_end and the logits do not agree.
    """

    def __init__(self, allowed=None, allowed_start=None, allowed_end=None, **kwargs):
        # With autocast, a bfloat16 policy would round the logits.
        super().__init__(**{"autocast": False, **kwargs})
        self.supports_masking = True
        self.allowed = _nested_list(allowed)
        self.allowed_start = _nested_list(allowed_start)
        self.allowed_end = _nested_list(allowed_end)

    def build(self, logits_shape):
        tags = logits_shape[-1]
        shapes = {"allowed": (tags, tags), "allowed_start": (tags,), "allowed_end": (tags,)}
        for name, shape in shapes.items():
            value = getattr(self, name)
            if value is not None and np.shape(value) != shape:
                raise ValueError(
                    f"{name} has the shape {np.shape(value)}: for logits of {tags} tags it must be {shape}"
                )
        self.transitions = self.add_weight(name="transitions", shape=(tags, tags), initializer="zeros")
        self.start = self.add_weight(name="start", shape=(tags,), initializer="zeros")
        self.end = self.add_weight(name="end", shape=(tags,), initializer="zeros")

    def call(self, logits, mask=None):
        logits = ops.cast(logits, keras.backend.result_type(logits.dtype, "float32"))
        return logits if mask is None else ops.where(ops.expand_dims(ops.cast(mask, "bool"), -1), logits, LOWEST)

    def compute_mask(self, logits, mask=None):
        return None  # the loss reads the mask from the output

    def compute_output_spec(self, logits, mask=None):
        return keras.KerasTensor(logits.shape, dtype=keras.backend.result_type(logits.dtype, "float32"))

    def loss(self, y_true, y_pred):
        """The negative log-likelihood of each sequence, for `model.compile(loss=crf.loss)`.

        Keras cannot load a method: load a model that was saved after `compile` with `load_model(..., compile=False)`.

        Args:
            y_true: int [batch, time], tags; at the padding any number.
            y_pred: float [batch, time, tags], the output of this layer.

        Returns:
            float [batch], in nats; Keras takes the mean.
        """
        # Keras drops the last axis if there is one tag.
        y_pred = ops.reshape(y_pred, (-1, ops.shape(y_true)[1], self.start.shape[0]))
        # NaN is no padding: a network that diverged has the loss NaN.
        mask = ops.any(ops.logical_not(y_pred <= LOWEST / 2), axis=-1)
        return -self.log_likelihood(y_pred, y_true, mask)

    def log_likelihood(self, logits, tags, mask=None):
        """Log p(y | x) of the given tags.

        Args:
            logits: float [batch, time, tags].
            tags: int [batch, time], below the number of tags; at the padding any number.
            mask: bool [batch, time].

        Returns:
            float [batch].
        """
        scores = self._scores(logits, mask)
        return _path_score(scores, tags) - _log_partition(scores)

    def log_partition(self, logits, mask=None):
        """Log Z(x), float [batch]: the log of the sum over all sequences of tags. Arguments as in `log_likelihood`."""
        scores = self._scores(logits, mask)
        return _log_partition(scores) + ops.sum(scores.offset, axis=1)

    def marginals(self, logits, mask=None):
        """p(y_t = j | x), float [batch, time, tags], without gradient. Arguments as in `log_likelihood`.

        At each valid position they sum to 1. At the padding they are 0.
        """
        return _forward_backward(self._scores(logits, mask)).marginals

    def decode(self, logits, mask=None):
        """The sequence of tags with the highest probability (Viterbi).

        Args:
            logits: float [batch, time, tags].
            mask: bool [batch, time].

        Returns:
            (tags int32 [batch, time], 0 at the padding; their score s(x, y), float [batch]). The probability of these
            tags is exp(score - log_partition(logits, mask)).
        """
        scores = self._scores(logits, mask)
        transposed = ops.transpose(scores.transitions)

        def forward(x, state):
            best = state + x  # [batch, tags]: the best score of the beginnings that end with each tag
            return best, ops.max(ops.expand_dims(best, 1) + transposed, axis=-1)

        initial = ops.broadcast_to(scores.start, ops.shape(scores.unary[:, 0]))
        best = _loop(forward, [ops.swapaxes(scores.unary, 0, 1)], initial)  # [time, batch, tags]

        def back(inputs, following):
            best, is_last = inputs
            tag = best + ops.where(is_last, scores.end, ops.take(transposed, following, axis=0))
            tag = ops.cast(ops.argmax(tag, axis=-1), "int32")
            return tag, tag

        tags = _loop(back, [ops.flip(best, 0), ops.flip(_is_last(scores), 0)], ops.zeros_like(scores.last))
        tags = ops.where(scores.mask, ops.swapaxes(ops.flip(tags, 0), 0, 1), 0)
        return tags, _path_score(scores, tags) + ops.sum(scores.offset, axis=1)

    def decode_n_best(self, logits, mask=None, n=1):
        """The n sequences of tags with the highest probabilities, the best one first (list Viterbi).

        Args:
            logits: float [batch, time, tags].
            mask: bool [batch, time].
            n: number of sequences, int.

        Returns:
            (tags int32 [batch, n, time], 0 at the padding; their scores s(x, y), float [batch, n]). Where fewer than n
            sequences exist, the others have the score -1e30 and tags 0. Forbidden sequences come last, with scores
            below -1e5.

        Raises:
            ValueError: if n is below 1.
        """
        if n < 1:
            raise ValueError(f"n is {n}: it must be at least 1")
        scores = self._scores(logits, mask)
        num_tags = scores.unary.shape[-1]
        batch = ops.shape(scores.unary)[0]
        transposed = ops.tile(ops.transpose(scores.transitions), (1, n))  # [tags, n * previous tags]

        # A state is a pair (rank, tag), numbered rank * num_tags + tag: the beginning with this rank among those that
        # end with this tag.
        def forward(x, state):
            best = state + ops.tile(x, (1, n))  # [batch, n * tags]
            candidates = ops.expand_dims(best, 1) + transposed  # [batch, tags, n * previous tags]
            values, previous = ops.top_k(candidates, n)  # [batch, tags, n]
            values, previous = (ops.reshape(ops.swapaxes(y, 1, 2), (batch, n * num_tags)) for y in (values, previous))
            return (best, ops.cast(previous, "int32")), values

        initial = ops.concatenate([scores.start, ops.full(((n - 1) * num_tags,), LOWEST, scores.start.dtype)])
        initial = ops.broadcast_to(initial, (batch, n * num_tags))
        # [time, batch, n * tags]: the score of each state, and the state from which the next step reaches each state
        best, previous = _loop(forward, [ops.swapaxes(scores.unary, 0, 1)], initial)
        final = ops.take_along_axis(best, scores.last[None, :, None], axis=0)[0] + ops.tile(scores.end, (n,))
        values, final = ops.top_k(final, n)  # [batch, n]
        final = ops.cast(final, "int32")

        def back(inputs, following):
            previous, is_last = inputs
            state = ops.where(is_last, final, ops.take_along_axis(previous, following, axis=1))
            return state, state

        states = _loop(back, [ops.flip(previous, 0), ops.flip(_is_last(scores), 0)], ops.zeros_like(final))
        tags = ops.transpose(ops.flip(states, 0), (1, 2, 0)) % num_tags  # [batch, n, time]
        # An empty sequence has one sequence of tags, with the score 0.
        values = ops.where(scores.mask[:, :1], values, ops.where(ops.arange(n) == 0, 0.0, LOWEST))
        exists = values > LOWEST / 2
        values = ops.where(exists, values + ops.sum(scores.offset, axis=1)[:, None], LOWEST)
        return ops.where(exists[..., None] & scores.mask[:, None], tags, 0), values

    def _scores(self, logits, mask):
        """Returns `_Scores`. Subtracting the largest logit of each position keeps the sums small, and so precise."""
        logits = ops.convert_to_tensor(logits)
        if not self.built:
            self.build(logits.shape)
        precise = keras.backend.result_type(logits.dtype, "float32")
        if mask is None:
            mask = ops.ones(ops.shape(logits)[:2], dtype="bool")
        mask = ops.cast(mask, "bool")
        # where instead of a product: the padding may hold NaN or infinity.
        logits = ops.where(mask[..., None], ops.cast(logits, precise), 0.0)
        offset = ops.stop_gradient(ops.max(logits, axis=-1))
        return _Scores(
            logits - offset[..., None],
            offset,
            _forbid(ops.cast(self.transitions, precise), self.allowed),
            _forbid(ops.cast(self.start, precise), self.allowed_start),
            _forbid(ops.cast(self.end, precise), self.allowed_end),
            mask,
            ops.maximum(ops.sum(ops.cast(mask, "int32"), axis=1) - 1, 0),
        )

    def get_config(self):
        return {
            **super().get_config(),
            "allowed": self.allowed,
            "allowed_start": self.allowed_start,
            "allowed_end": self.allowed_end,
        }


def _nested_list(allowed):
    return None if allowed is None else np.asarray(allowed, dtype=bool).tolist()


def _forbid(weights, allowed):
    return weights if allowed is None else ops.where(np.array(allowed), weights, FORBIDDEN)


def _positions(scores):
    return ops.arange(ops.shape(scores.unary)[1], dtype="int32")


def _is_last(scores):
    """Where each sequence ends, bool [time, batch, 1]."""
    return ops.equal(_positions(scores)[:, None], scores.last)[..., None]


def _path_score(scores, tags):
    """The score of the given tags, without the offset, float [batch]."""
    num_tags = scores.unary.shape[-1]
    tags = ops.where(scores.mask, ops.cast(tags, "int32"), 0)
    chosen = ops.equal(tags[..., None], ops.arange(num_tags, dtype="int32"))  # [batch, time, tags]
    unary = ops.sum(ops.where(chosen, scores.unary, 0.0), axis=(1, 2))
    steps = ops.take(ops.reshape(scores.transitions, (-1,)), tags[:, :-1] * num_tags + tags[:, 1:])
    steps = ops.sum(ops.where(scores.mask[:, 1:], steps, 0.0), axis=1)
    last_tags = ops.take_along_axis(tags, scores.last[:, None], axis=1)[:, 0]
    ends = ops.take(scores.start, tags[:, 0]) + ops.take(scores.end, last_tags)
    return unary + steps + ops.where(scores.mask[:, 0], ends, 0.0)


def _log_partition(scores):
    """Log Z without the offset, float [batch], with the marginals as its gradient.

    The gradient of log Z by a score is the expected number of times that the score is counted. So the gradient of the
    product of expectations (as constants) and scores is that of log Z. The value of the product is subtracted again.
    """
    messages = _forward_backward(scores)
    pairs = messages.forward[:, :-1, :, None] + scores.transitions + messages.backward[:, 1:, None, :]
    pairs = ops.exp(pairs - messages.log_z[:, 1:, None, None])
    pairs = ops.sum(ops.where(scores.mask[:, 1:, None, None], pairs, 0.0), axis=1)  # [batch, tags, tags]
    pairs = ops.stop_gradient(pairs)
    last = ops.take_along_axis(messages.marginals, scores.last[:, None, None], axis=1)[:, 0]  # [batch, tags]
    product = ops.sum(messages.marginals * scores.unary, axis=(1, 2)) + ops.sum(pairs * scores.transitions, axis=(1, 2))
    product = product + ops.sum(messages.marginals[:, 0] * scores.start, axis=-1) + ops.sum(last * scores.end, axis=-1)
    value = ops.where(scores.mask[:, 0], messages.log_z[:, 0], 0.0)
    return ops.stop_gradient(value) + (product - ops.stop_gradient(product))


def _forward_backward(scores):
    """Returns `_Messages`. One loop runs both recursions: the backward one is the forward one over reversed sequences.

    For the gradient, the results are constants. The padding stays on the right. What the recursions compute there is
    finite and not used.
    """
    unary, transitions = ops.stop_gradient(scores.unary), ops.stop_gradient(scores.transitions)
    positions = _positions(scores)
    reversed_positions = ops.where(scores.mask, scores.last[:, None] - positions, positions)[..., None]
    both = ops.stack([unary, ops.take_along_axis(unary, reversed_positions, axis=1)])  # [2, batch, time, tags]
    # [2, 1, tags, previous tags]: the sum over the previous tags runs over the last axis.
    steps = ops.stack([ops.transpose(transitions), transitions])[:, None]

    def step(x, state):
        totals = state + x  # [2, batch, tags]
        return totals, _logsumexp(ops.expand_dims(totals, 2) + steps)

    initial = ops.stop_gradient(ops.stack([scores.start, scores.end]))[:, None]  # [2, 1, tags]
    initial = ops.broadcast_to(initial, ops.shape(both[:, :, 0]))
    totals = _loop(step, [ops.transpose(both, (2, 0, 1, 3))], initial)  # [time, 2, batch, tags]
    forward, backward = ops.unstack(ops.transpose(totals, (1, 2, 0, 3)), axis=0)
    backward = ops.take_along_axis(backward, reversed_positions, axis=1)
    joint = forward + backward - unary  # [batch, time, tags]: log sum of all sequences with this tag
    largest = ops.max(joint, axis=-1, keepdims=True)
    probabilities = ops.exp(joint - largest)
    total = ops.sum(probabilities, axis=-1, keepdims=True)
    marginals = ops.where(scores.mask[..., None], probabilities / total, 0.0)
    return _Messages(forward, backward, marginals, (ops.log(total) + largest)[..., 0])


def _logsumexp(x):
    """Log(sum(exp(x))) over the last axis, without the checks of `ops.logsumexp` for infinity, which cannot occur."""
    largest = ops.max(x, axis=-1, keepdims=True)
    return ops.log(ops.sum(ops.exp(x - largest), axis=-1)) + largest[..., 0]


def _loop(step, inputs, state):
    """Returns the outputs [time, ...] of `step(inputs at t, state) -> (output, next state)`, for inputs [time, ...]."""

    def one_step(inputs, states):
        output, state = step(inputs[0] if len(inputs) == 1 else inputs, states[0])
        return output, [state]

    if keras.backend.backend() == "torch":
        outputs = []
        for t in range(inputs[0].shape[0]):
            output, (state,) = one_step([sequence[t] for sequence in inputs], [state])
            outputs.append(output)
        return keras.tree.map_structure(lambda *steps: ops.stack(steps), *outputs)
    # Without input_length, `rnn` reads the length from `inputs.shape`, which a list does not have. The loop
    # also stops at the end of the inputs, so a large number is correct for every length.
    return rnn(one_step, inputs, [state], time_major=True, input_length=2**31 - 1)[1]
