"""What is exported of an encoder: a SavedModel with TF Hub's interface for text, which is a servable as well.

    encoder = hub.load(folder)                    encoder(text, training=False) -> dict
    variables, trainable_variables, regularization_losses
"""

import keras
import tensorflow as tf
from keras import ops

from layers import MaskedLastPooling, MaskedMaxPooling, MaskedMeanPooling
from pipelines.text import PAD, Tokenizer, window


def network(tokens_and_layers: keras.Model, last_norm: keras.layers.Layer | None = None) -> keras.Model:
    """ids int32 [batch, time] -> the outputs that an encoder has.

    Args:
        tokens_and_layers: ids -> the states behind each layer, a list of float [batch, time, width], the bottom first.
        last_norm: what stands behind the uppermost.

    Returns:
        A model with the outputs "encoder_outputs" (that list), "sequence_output" (the uppermost, float [batch, time, width]), "mask" (bool
        [batch, time]) and "pooled_output": its last state, mean and maximum beside each other, float [batch, 3 width] (Howard and Ruder
        2018, "Universal Language Model Fine-tuning", section 3.3).
    """
    ids = keras.Input((None,), dtype="int32", name="ids")
    states = tokens_and_layers(ids)
    states = list(states) if isinstance(states, list | tuple) else [states]
    sequence = last_norm(states[-1]) if last_norm else states[-1]
    mask = ops.not_equal(ids, PAD)
    pooled = [pool(name=name)(sequence, mask=mask) for pool, name in _POOLINGS]
    outputs = {"encoder_outputs": states, "sequence_output": sequence, "mask": mask, "pooled_output": ops.concatenate(pooled, axis=-1)}
    return keras.Model(ids, outputs, name="encoder")


_POOLINGS = ((MaskedLastPooling, "last"), (MaskedMeanPooling, "mean"), (MaskedMaxPooling, "maximum"))


class TextEncoder(tf.train.Checkpoint):
    """The servable of an encoder.

    Args:
        network: ids int32 [batch, time] -> a dict with "pooled_output" and whatever else there is.
        tokenizer: makes the ids.
        max_tokens: of a text that are read, half from its start and half from its end.
    """

    def __init__(self, network: keras.Model, tokenizer: Tokenizer, max_tokens: int):
        super().__init__()
        self.tokenizer = tokenizer
        self.variables = [variable.value for variable in network.variables]
        self.trainable_variables = [variable.value for variable in network.trainable_variables]
        self.regularization_losses = []

        def encode(text, training=False):
            return network(window(tokenizer.encode(text), max_tokens).to_tensor(), training=training)

        text = tf.TensorSpec([None], tf.string, name="text")
        # TF Hub's way to call: a function that knows `training`, traced for both.
        self.__call__ = tf.function(encode)
        for training in (True, False):
            self.__call__.get_concrete_function(text, training=training)
        self.embed = tf.function(lambda text: {"embedding": encode(text)["pooled_output"]}, input_signature=[text])

    def signatures(self) -> dict:
        return {"serving_default": self.embed.get_concrete_function()}
