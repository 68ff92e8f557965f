"""The export of an encoder: a SavedModel with TF Hub's interface for text, which is a servable as well.

encoder = hub.load(folder)                    encoder(text, training=False) -> dict
variables, trainable_variables, regularization_losses
"""

import keras
import tensorflow as tf

from pipelines.text.tokenizers import Tokenizer, keep_ends


class TextEncoder(tf.train.Checkpoint):
    """The servable of an encoder.

    Args:
        network: ids int32 [batch, time] -> a dict that has "pooled_output" (`networks.encoder_network`).
        tokenizer: of the run.
        max_tokens: maximum number of tokens of a text; longer texts keep their first and last half.
    """

    def __init__(self, network: keras.Model, tokenizer: Tokenizer, max_tokens: int):
        super().__init__()
        self.tokenizer = tokenizer
        self.variables = [variable.value for variable in network.variables]
        self.trainable_variables = [variable.value for variable in network.trainable_variables]
        self.regularization_losses = []

        def encode(text, training=False):
            return network(keep_ends(tokenizer.encode(text), max_tokens).to_tensor(), training=training)

        text = tf.TensorSpec([None], tf.string, name="text")
        # TF Hub calls the module itself: a function with the argument `training`, traced for both values.
        self.__call__ = tf.function(encode, autograph=False)
        for training in (True, False):
            self.__call__.get_concrete_function(text, training=training)
        self.embed = tf.function(
            lambda text: {"embedding": encode(text)["pooled_output"]}, input_signature=[text], autograph=False
        )

    def signatures(self) -> dict:
        """Returns the signature text: string [batch] -> embedding: float32 [batch, 3 units]."""
        return {"serving_default": self.embed.get_concrete_function()}
