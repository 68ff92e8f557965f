"""The signature `trace` of a translator: what its layers compute for each token of a text and of its translation."""

from collections.abc import Callable

import keras
import tensorflow as tf

from pipelines.networks.traced import OUTPUT, next_tokens, signature_of, without_padding
from pipelines.text.special_tokens import END, SPECIAL_TOKENS
from pipelines.text.tokenizers import Tokenizer, append


def make_trace(
    model: keras.Model, source: Tokenizer, target: Tokenizer, max_tokens: int, translate: Callable, reverses: bool
):
    """Returns the concrete function of the signature, texts string [batch] to a dict.

    The text is translated; then the decoder reads the translation again. The outputs are
        translation, score: as in serving_default.
        source_tokens: string [batch, Ts] with <end>, "" after it; source_lengths: int32 [batch]; cut: bool [batch],
            whether the text has more tokens than are read.
        target_tokens: string [batch, Tt], the token that each step of the decoder writes, with <end>; target_lengths:
            int32 [batch]; log_probabilities: float32 [batch, Tt], of each, in nats.
        next_tokens: string [batch, Tt, k], next_probabilities: float32 [batch, Tt, k], what each step could write.
        features: float32 [batch, Tt, units], from which the output layers compute the logits.
        The states, gates and attention weights of all layers, named as in `traced`; 0 in the padding.

    Args:
        max_tokens: that are read of a text.
        translate: texts -> the outputs of serving_default.
        reverses: whether the encoder reads the source from its end; its values are in the order of the source.
    """
    vocabulary = tf.constant(target.vocabulary())

    def trace(text, run):
        outputs = translate(text)
        all_tokens = source.encode(text)[:, 1:-1]
        source_ids = append(all_tokens[:, :max_tokens], END)
        target_ids = target.encode(outputs["translation"])  # <start>, tokens, <end>
        read, written = target_ids[:, :-1].to_tensor(), target_ids[:, 1:].to_tensor()  # [batch, Tt]
        values = run({"source": source_ids.to_tensor(), "target": read})
        logits = tf.cast(values.pop(OUTPUT), tf.float32)  # [batch, Tt, vocabulary]
        source_lengths = tf.cast(source_ids.row_lengths(), tf.int32)
        target_lengths = tf.cast(target_ids.row_lengths(), tf.int32) - 1
        in_target = tf.sequence_mask(target_lengths)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(written, logits)
        encoder_values = {name: value for name, value in values.items() if name.startswith("encoder_")}
        decoder_values = {name: value for name, value in values.items() if name not in encoder_values}
        if reverses:
            encoder_values = {
                name: tf.reverse_sequence(value, source_lengths, seq_axis=1) for name, value in encoder_values.items()
            }
        source_tokens = append(source.tokens(text)[:, 1:-1][:, :max_tokens], SPECIAL_TOKENS[END])
        return {
            **outputs,
            "source_tokens": source_tokens.to_tensor(),
            "source_lengths": source_lengths,
            "cut": all_tokens.row_lengths() > source_ids.row_lengths() - 1,
            "target_tokens": target.tokens(outputs["translation"])[:, 1:].to_tensor(),
            "target_lengths": target_lengths,
            "log_probabilities": tf.where(in_target, -losses, 0.0),
            **next_tokens(logits, in_target, vocabulary),
            **without_padding(encoder_values, source_lengths),
            **without_padding(decoder_values, target_lengths),
        }

    return signature_of(model, trace)
