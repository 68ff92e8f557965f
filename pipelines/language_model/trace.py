"""The signature `trace` of a language model: what its layers compute for each token of a text."""

from collections.abc import Callable

import keras
import tensorflow as tf

from pipelines.networks.traced import FEATURES, MAX_TRACED_TOKENS, OUTPUT, next_tokens, signature_of, without_padding
from pipelines.text.tokenizers import Tokenizer


def make_trace(model: keras.Model, tokenizer: Tokenizer, max_tokens: int, with_interventions: bool = False):
    """Returns the concrete function of the signature, texts string [batch] to a dict.

    The network reads <start> and then the tokens of the text. Its outputs are
        tokens: string [batch, time], what was read, "" after the end; lengths: int32 [batch]; cut: bool [batch],
            whether the text has more tokens than `max_tokens`, which are not read.
        log_probabilities: float32 [batch, time], of each token after those before it, in nats; 0 for <start>.
        next_tokens: string [batch, time, k], next_probabilities: float32 [batch, time, k], of the most likely tokens
            after each one, k at most NUM_NEXT.
        features: float32 [batch, time, units], from which the logits of the next token are computed.
        The states, gates and attention weights of all layers, named as in `traced`; 0 in the padding.

    Args:
        max_tokens: of a text, with <start>.
        with_interventions: whether the function is that of `intervene`, which also takes interventions.
    """
    limit = min(max_tokens, MAX_TRACED_TOKENS + 1)  # <start> comes first
    vocabulary = tf.constant(tokenizer.vocabulary())

    def trace(text, run):
        all_ids = tokenizer.encode(text)[:, :-1]
        ids = all_ids[:, :limit]
        lengths = tf.cast(ids.row_lengths(), tf.int32)
        padded = ids.to_tensor()  # [batch, time]
        values = run(padded)
        logits = tf.cast(values.pop(OUTPUT), tf.float32)  # [batch, time, vocabulary]
        in_text = tf.sequence_mask(lengths)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(padded[:, 1:], logits[:, :-1])
        losses = tf.pad(tf.where(in_text[:, 1:], losses, 0.0), [[0, 0], [1, 0]])
        return {
            "tokens": tokenizer.tokens(text)[:, :-1][:, :limit].to_tensor(),
            "lengths": lengths,
            "cut": all_ids.row_lengths() > ids.row_lengths(),
            "log_probabilities": -losses,
            **next_tokens(logits, in_text, vocabulary),
            **without_padding(values, lengths),
        }

    return signature_of(model, trace, with_interventions)


def make_read_out(logits: Callable, size: int):
    """Returns the concrete function of the signature `read_out`.

    It computes the logits, float32 [batch, vocabulary], from features, float32 [batch, size].

    Args:
        logits: features [batch, time, size] -> logits [batch, time, vocabulary].
        size: of the features.
    """
    spec = tf.TensorSpec([None, size], tf.float32, name=FEATURES)
    read_out = tf.function(lambda features: {"logits": logits(features[:, None])[:, 0]}, autograph=False)
    return read_out.get_concrete_function(spec)
