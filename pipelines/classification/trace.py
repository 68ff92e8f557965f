"""The signature `trace` of a classifier: what its layers compute for each token of a text."""

import keras
import tensorflow as tf

from pipelines.networks.traced import MAX_TRACED_TOKENS, OUTPUT, signature_of, without_padding
from pipelines.text.tokenizers import keep_ends


def make_trace(model: keras.Model, tokenizer, max_tokens: int, inputs_of, outputs_of, with_interventions: bool = False):
    """Returns the concrete function of the signature, texts string [batch] to a dict.

    Its outputs are
        tokens: string [batch, time], from <start> to <end>, "" after it; ids: int32 [batch, time], which the network
            reads; lengths: int32 [batch]; cut: bool [batch], whether only the first and the last tokens of the text are
            read.
        The label and the probabilities of what was read, as in serving_default.
        features: float32 [batch, units], from which the logits are computed.
        The states, gates and attention weights of all layers, named as in `traced`; 0 in the padding.

    Args:
        max_tokens: that the encoder reads of a text.
        inputs_of: (ids, tokens), both ragged -> inputs of the network.
        outputs_of: logits [batch, classes] -> outputs of serving_default.
        with_interventions: whether the function is that of `intervene`, which also takes interventions.
    """
    limit = min(max_tokens, MAX_TRACED_TOKENS + 2)  # with <start> and <end>

    def trace(text, run):
        all_ids = tokenizer.encode(text)
        ids, tokens = keep_ends(all_ids, limit), keep_ends(tokenizer.tokens(text), limit)
        lengths = tf.cast(ids.row_lengths(), tf.int32)
        values = run(inputs_of(ids, tokens))
        logits = values.pop(OUTPUT)
        features = values.pop("features")
        return {
            **outputs_of(logits),
            "tokens": tokens.to_tensor(),
            "ids": ids.to_tensor(),
            "lengths": lengths,
            "cut": all_ids.row_lengths() > ids.row_lengths(),
            "features": features,
            **without_padding(values, lengths),
        }

    return signature_of(model, trace, with_interventions)
