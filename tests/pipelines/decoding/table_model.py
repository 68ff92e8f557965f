"""A model whose next token depends on the last two tokens, so that results can be counted by hand."""

import numpy as np
import tensorflow as tf

from pipelines.decoding import sampling
from pipelines.decoding.options import SAMPLING, filled
from pipelines.text.tokenizers import PAD

VOCABULARY = 5
TABLE = np.random.default_rng(0).normal(scale=1.5, size=(VOCABULARY, VOCABULARY, VOCABULARY)).astype(np.float32)
TABLE[..., PAD] = -20.0
NO_CHANGE = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "repetition_penalty": 1.0, "max_length": 0}
NUMERIC = tuple(option for option in SAMPLING if option.dtype != "string")


def step(ids, state):
    """Logits that depend on the last two tokens; the state holds the one before the last."""
    return tf.gather_nd(tf.constant(TABLE), tf.stack([state["last"], ids], axis=1)), {"last": ids}


def after(*first_tokens):
    """The logits and the state after the tokens (1, first token) of each row."""
    return step(tf.constant(first_tokens), {"last": tf.constant([1] * len(first_tokens))})


def log_probability(first, tokens):
    total, previous, last = 0.0, 1, first
    for token in tokens:
        logits = TABLE[previous, last].astype(np.float64)
        total += logits[token] - np.log(np.exp(logits).sum())
        previous, last = last, token
    return total


def sample(first_tokens, lengths, seed=0, stop_ids=None, banned_ids=(), seen=None, **options):
    rows = len(first_tokens)
    values = NO_CHANGE | {"seed": seed} | options

    @tf.function
    def run():
        logits, state = after(*first_tokens)
        tensors = filled(NUMERIC, values, tf.zeros([rows]))
        tensors |= {"max_length": tf.constant(lengths), "seed": tf.range(rows) + seed}
        return sampling.sample(step, logits, state, tensors, stop_ids, banned_ids, seen)

    return sampling.Samples(*(value.numpy() for value in run()))


def greedy(first_tokens, lengths, **options):
    return sample(first_tokens, lengths, temperature=0.0, **options)
