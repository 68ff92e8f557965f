"""Training on the network's own predictions instead of the true tokens (free running, scheduled sampling)."""

import keras
import tensorflow as tf

from pipelines.language_model.config import LanguageModelConfig
from pipelines.language_model.steps import RecurrentSteps
from pipelines.training.own_inputs import OwnInputs


class FreeRunningModel(OwnInputs):
    """A recurrent language model for training that reads its own predictions in place of some true tokens.

    With the probability `config.teacher_forcing` an input is the true token x_t, else the token that the network itself
    finds most likely after the inputs before it:

        x'_1 = x_1,    x'_t = x_t or argmax p(. | x'_1 ... x'_(t-1)),    loss = - mean log p(x_(t+1) | x'_1 ... x'_t)

    The first input of each window is a true token. With 1, every input is (teacher forcing); with 0, only that one
    (free running). No gradient flows through the choice.

    Source: Bengio et al. 2015, "Scheduled Sampling for Sequence Prediction with Recurrent Neural Networks", with a
    constant probability; Williams and Zipser 1989 (teacher forcing).

    Args:
        inputs, outputs: as in `keras.Model`: ids int32 [batch, time] -> logits [batch, time, vocabulary], of a stateful
            network of `networks.causal`.
    """

    def __init__(self, inputs, outputs, config: LanguageModelConfig, **kwargs):
        super().__init__(inputs=inputs, outputs=outputs, **kwargs)
        self._config = config
        self._seed_generator = keras.random.SeedGenerator(config.seed)

    def own_inputs(self, ids):
        """Returns what the network reads in place of `ids`, int32 [batch, time]. It changes no carried state."""
        steps = RecurrentSteps(self._config, self)
        uniform = keras.random.uniform(tf.shape(ids), dtype="float32", seed=self._seed_generator)
        is_true = uniform < self._config.teacher_forcing
        state = {
            f"layer_{i}_state_{j}": tf.cast(value, layer.compute_dtype)
            for i, layer in enumerate(layer for layer in self.layers if getattr(layer, "stateful", False))
            for j, value in enumerate(keras.tree.flatten(layer.states))
        }
        time = tf.shape(ids)[1]
        inputs = tf.TensorArray(tf.int32, size=time, element_shape=[None]).write(0, ids[:, 0])

        def read(t, last, state, inputs):
            logits, state = steps.advance(last[:, None], state)  # [batch, 1, vocabulary]
            predicted = tf.argmax(logits[:, 0], axis=-1, output_type=tf.int32)
            chosen = tf.where(is_true[:, t], ids[:, t], predicted)
            return t + 1, chosen, state, inputs.write(t, chosen)

        *_, inputs = tf.while_loop(lambda t, *_: t < time, read, (1, ids[:, 0], state, inputs))
        return tf.stop_gradient(tf.transpose(inputs.stack()))
