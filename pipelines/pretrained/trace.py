"""The signature `trace` of an encoder: what its layers compute for each token of a text."""

from collections.abc import Callable

import keras
import tensorflow as tf

from pipelines.networks.traced import MAX_TRACED_TOKENS, OUTPUT, signature_of, without_padding
from pipelines.text.tokenizers import Tokenizer, keep_ends


def make_trace(reading: keras.Model, tokenizer: Tokenizer, max_tokens: int, cut: Callable = keep_ends, encode=None):
    """Returns the concrete function of the signature, texts string [batch] to a dict.

    Its outputs are
        tokens: string [batch, time], from <start> to <end>, "" after it; lengths: int32 [batch]; cut: bool [batch],
            whether only the first and the last tokens of the text are read.
        The states, gates and attention weights of all layers, named as in `traced`; 0 in the padding.

    Args:
        reading: ids int32 [batch, time] -> the outputs of all layers.
        max_tokens: that the encoder reads of a text.
        cut: limits ids to a number of tokens.
        encode: the tokenizer's function, if it is not `tokenizer.encode`.
    """
    encode = encode or tokenizer.encode
    limit = min(max_tokens, MAX_TRACED_TOKENS + 2)  # with <start> and <end>

    def trace(text, run):
        all_ids = encode(text)
        ids = cut(all_ids, limit)
        lengths = tf.cast(ids.row_lengths(), tf.int32)
        values = run(ids.to_tensor(tokenizer.special.pad))
        del values[OUTPUT]
        return {
            "tokens": cut(tokenizer.tokens(text), limit).to_tensor(),
            "lengths": lengths,
            "cut": all_ids.row_lengths() > ids.row_lengths(),
            **without_padding(values, lengths),
        }

    return signature_of(reading, trace)
