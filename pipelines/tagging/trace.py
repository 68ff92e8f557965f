"""The signature `trace` of a tagger: what its layers compute for each token of a sentence."""

from collections.abc import Callable

import keras
import tensorflow as tf

from pipelines.networks.traced import MAX_TRACED_TOKENS, OUTPUT, signature_of, without_padding
from pipelines.tagging.features import TokenFeatures


def make_trace(
    model: keras.Model,
    features: TokenFeatures,
    max_tokens: int,
    tags: tf.Tensor,
    decode: Callable,
    with_interventions: bool = False,
):
    """Returns the concrete function of the signature, texts string [batch] to a dict.

    Of each text the first sentence is read. The outputs are
        tokens, tags: string [batch, time], "" after the end; scores: float32 [batch, time], the probability of each
            tag; lengths: int32 [batch]; cut: bool [batch], whether the text has more tokens than are read.
        words, spellings, affixes, characters, vectors: what the network reads, see `TokenFeatures`; 0 in the padding.
        features: float32 [batch, time, units], from which the scores of the tags are computed.
        The states, gates and attention weights of all layers, named as in `traced`; 0 in the padding.

    Args:
        max_tokens: that the network reads at once.
        tags: names of the tags, string [tags].
        decode: (logits [batch, time, tags], mask [batch, time]) -> ids int32 [batch, time], marginals [batch, time,
            tags].
        with_interventions: whether the function is that of `intervene`, which also takes interventions.
    """
    limit = min(max_tokens, MAX_TRACED_TOKENS)

    def trace(text, run):
        words = features.split(text)
        all_tokens = words.tokens
        tokens = tf.ragged.boolean_mask(all_tokens, tf.equal(words.sentence, 0))[:, :limit]
        lengths = tf.cast(tokens.row_lengths(), tf.int32)
        # One more sentence, which is dropped below: without a token, the network would multiply empty matrices.
        read = tf.concat([tokens, tf.ragged.constant([[""]])], axis=0)
        inputs = {name: values.to_tensor() for name, values in features(read).items()}
        mask = tf.sequence_mask(read.row_lengths())
        values = run(inputs)
        ids, marginals = decode(values.pop(OUTPUT), mask)
        values = without_padding({name: value[:-1] for name, value in values.items()}, lengths)
        in_text = mask[:-1]
        scores = tf.gather(marginals, ids, batch_dims=2)[:-1]
        return {
            "tokens": tf.pad(tokens.to_tensor(), [[0, 0], [0, tf.shape(in_text)[1] - _longest(lengths)]]),
            "tags": tf.where(in_text, tf.gather(tags, ids)[:-1], ""),
            "scores": tf.where(in_text, scores, 0.0),
            "lengths": lengths,
            "cut": all_tokens.row_lengths() > tokens.row_lengths(),
            **{name: value[:-1] for name, value in inputs.items()},
            **values,
        }

    return signature_of(model, trace, with_interventions)


def _longest(lengths):
    return tf.reduce_max(tf.concat([lengths, [0]], axis=0))
