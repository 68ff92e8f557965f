"""The continuous cache: a language model that remembers the last N tokens and what it computed before each of them.

    p_cache(w) = sum over i of 1[w = x_(i+1)] exp(theta h_t . h_i) / sum over i of exp(theta h_t . h_i)
    p(w) = (1 - lambda) softmax(logits of h_t)_w + lambda p_cache(w)

h_t, the output of the highest layer, is compared with those of the last N places i < t; x_(i+1) is the token that
followed there. Nothing is trained. At the start of a text, where the cache is empty, p is that of the model.

Source: Grave, Joulin and Usunier 2017, "Improving neural language models with a continuous cache".

Sizes are known only when a request comes: the state has the size of the largest cache of the batch, and each row sees
its own last `size` entries. The entries are on the right, the newest last; an empty entry has the id PAD.
"""

import tensorflow as tf

from pipelines.language_model.steps import RecurrentSteps, state_shapes
from pipelines.text.tokenizers import PAD

MAX_CHUNK_SCORES = 2**23  # products h_t . h_i that are computed at once


class CachedSteps:
    """A recurrent language model with a cache, token by token.

    Args:
        steps: of the model.
        sizes: int32 [batch], N of each row; 0 is the model without a cache.
        theta, weight: float32 [batch]; weight is the lambda of the equation.
    """

    def __init__(self, steps: RecurrentSteps, sizes, theta, weight):
        self._steps, self._sizes, self._theta, self._weight = steps, sizes, theta, weight

    def start(self, batch_size) -> dict:
        """Returns the state before the first token: that of the model, and an empty cache."""
        slots = tf.reduce_max(tf.concat([self._sizes, [1]], axis=0))
        state, size = self._steps.start(batch_size), self._steps.size
        return {
            "model": state,
            "keys": tf.zeros([batch_size, slots, size]),  # h_i
            "values": tf.fill([batch_size, slots], PAD),  # x_(i+1)
            "query": tf.zeros([batch_size, size]),  # h_t
            "has_query": tf.zeros([batch_size], tf.bool),
        }

    def read(self, ids, lengths, state) -> tuple:
        """Reads tokens.

        Args:
            ids: int32 [batch, time], padded on the right.
            lengths: int32 [batch], number of tokens of each row; a row may have none.

        Returns:
            the output of the highest layer for each token, float32 [batch, time, size], the keys and the values that
            these tokens can see, [batch, slots + time, ...], and the state after the last token of each row.
        """
        queries, model_state = self._steps.features(ids, state["model"], lengths)  # [batch, time, size]
        before = tf.concat([state["query"][:, None], queries[:, :-1]], axis=1)  # the query that each token answers
        in_row = tf.sequence_mask(lengths, tf.shape(ids)[1])
        answers = tf.concat([state["has_query"][:, None], tf.ones_like(in_row[:, 1:])], axis=1) & in_row
        keys = tf.concat([state["keys"], before], axis=1)
        values = tf.concat([state["values"], tf.where(answers, ids, PAD)], axis=1)
        slots = tf.shape(state["keys"])[1]
        kept = lengths[:, None] + tf.range(slots)  # [batch, slots]: the last `slots` entries of each row
        last = tf.gather(queries, tf.maximum(lengths - 1, 0), batch_dims=1)  # [batch, size]
        is_read = lengths > 0
        state = {
            "model": model_state,
            "keys": tf.gather(keys, kept, batch_dims=1),
            "values": tf.gather(values, kept, batch_dims=1),
            "query": tf.where(is_read[:, None], last, state["query"]),
            "has_query": state["has_query"] | is_read,
        }
        return queries, keys, values, state

    def step(self, ids, state) -> tuple:
        """Reads one token per row, int32 [batch]; returns the logits [batch, vocabulary] of the next one and the state.

        The logits are log-probabilities.
        """
        _, _, _, state = self.read(ids[:, None], tf.ones_like(ids), state)
        return self.next_logits(state), state

    def next_logits(self, state):
        """Returns the log-probabilities of the next token, float32 [batch, vocabulary]."""
        probabilities = tf.nn.softmax(self._steps.logits(state["query"][:, None])[:, 0])  # [batch, vocabulary]
        weights, has_entries = self._attention(state["query"][:, None], state["keys"], state["values"], 0)
        rows, slots = tf.unstack(tf.shape(state["values"]))
        vocabulary = probabilities.shape[-1]
        segments = state["values"] + vocabulary * tf.range(rows)[:, None]  # each row has ids of its own
        cached = tf.math.unsorted_segment_sum(weights[:, 0], segments, rows * vocabulary)
        cached = tf.reshape(cached, [rows, vocabulary])
        part = tf.where(has_entries[:, 0], self._weight, 0.0)[:, None]  # [batch, 1]
        return tf.math.log((1 - part) * probabilities + part * cached)

    def losses(self, ids, targets, state):
        """Reads tokens; see `RecurrentSteps.losses`."""
        lengths = tf.fill(tf.shape(ids)[:1], tf.shape(ids)[1])
        queries, keys, values, state = self.read(ids, lengths, state)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(targets, self._steps.logits(queries))
        weights, has_entries = self._attention(queries, keys, values, 1)  # [batch, time, slots + time]
        cached = tf.reduce_sum(tf.where(values[:, None] == targets[..., None], weights, 0.0), axis=2)
        part = tf.where(has_entries, self._weight[:, None], 0.0)  # [batch, time]
        return -tf.math.log((1 - part) * tf.exp(-losses) + part * cached), state

    def _attention(self, queries, keys, values, first):
        """Returns softmax(theta h_t . h_i) over the entries that each query sees, and whether it sees any.

        Query j sees the last `size` of the first slots + j + `first` entries.

        Returns:
            float32 [batch, time, entries], 0 where nothing is seen, and bool [batch, time].
        """
        time, entries = tf.shape(queries)[1], tf.shape(keys)[1]
        slots = entries - time * first
        ends = slots + (tf.range(time) + 1) * first  # [time]
        index = tf.range(entries)
        in_cache = (index < ends[:, None]) & (index >= ends[:, None] - self._sizes[:, None, None])
        seen = in_cache & (values != PAD)[:, None]  # [batch, time, entries]
        scores = self._theta[:, None, None] * tf.matmul(queries, keys, transpose_b=True)
        weights = tf.nn.softmax(tf.where(seen, scores, -1e30))
        return tf.where(seen, weights, 0.0), tf.reduce_any(seen, axis=2)


def read_prompt(steps: CachedSteps, ids, lengths, chunk: int):
    """Reads prompts, in chunks: returns the logits of the next token, [batch, vocabulary], and the state.

    Args:
        ids: int32 [batch, time], padded on the right.
        lengths: int32 [batch], at least 1.
    """

    def read(i, state):
        in_chunk = tf.clip_by_value(lengths - i * chunk, 0, chunk)
        return i + 1, steps.read(ids[:, i * chunk : (i + 1) * chunk], in_chunk, state)[-1]

    state = steps.start(tf.shape(ids)[0])
    _, state = tf.while_loop(
        lambda i, _: i * chunk < tf.shape(ids)[1],
        read,
        (0, state),
        shape_invariants=(tf.TensorShape([]), state_shapes(state)),
        parallel_iterations=1,
    )
    return steps.next_logits(state), state
