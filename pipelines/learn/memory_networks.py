"""The networks of `learn memory`, with about 5,000 parameters each, and their training."""

import dataclasses
from collections.abc import Iterator

import keras
import numpy as np
import tensorflow as tf

from layers import Attention
from pipelines.learn.memory_tasks import Task
from pipelines.learn.settings import EVERY
from pipelines.networks.positions import position_layer
from pipelines.networks.recurrent import stacked_recurrent
from pipelines.networks.transformer import stacked_transformer

BATCH_SIZE = 32
CHECKED = 512  # fresh examples of a check


@dataclasses.dataclass(frozen=True)
class Network:
    """A network: its name for readers, its layers and its learning rate."""

    label: str
    model: str
    """Key of RECURRENT_LAYERS, or "transformer"."""
    layer: str
    """The class of its layer."""
    size: int
    """Units, or features of each position."""
    learning_rate: float
    attention: bool = False
    """Whether each answer also attends to all states."""

    @property
    def path(self) -> str:
        """The largest number of steps between an input and an answer that depends on it."""
        return "1" if self.attention or self.model == "transformer" else "n"


NETWORKS = {
    "simple": Network("simple RNN", "simple", "SimpleRNN", 64, 3e-3),
    "lstm": Network("LSTM", "lstm", "HoistedLSTM", 32, 2e-2),
    "gru": Network("GRU", "gru", "HoistedGRU", 36, 2e-2),
    "attention": Network("LSTM + attention", "lstm", "Attention", 28, 2e-2, attention=True),
    "transformer": Network("Transformer", "transformer", "TransformerEncoderBlock", 24, 3e-3),
}
"""Name on the command line -> network. docs/learning.md says how the learning rates were chosen."""


def build(network: Network, task: Task, length: int) -> keras.Model:
    """Returns a network for inputs [batch, length, features]; its outputs are [batch, answers, classes]."""
    inputs = keras.Input((length, task.features))
    if network.model == "transformer":
        x = keras.layers.Dense(network.size)(inputs)
        x = position_layer("sinusoidal", length, scale_embeddings=False)(x)
        x = stacked_transformer(x, 1, 2, 2 * network.size)[:, -task.answers :]  # [batch, answers, size]
    else:
        states = stacked_recurrent(inputs, network.model, network.size, 1)  # [batch, length, size]
        x = states[:, -task.answers :]
        if network.attention:
            x = keras.layers.Concatenate()([x, Attention("general")(x, states)])  # [batch, answers, 2 size]
    return keras.Model(inputs, keras.layers.Dense(task.classes)(x))


class Trainer:
    """A network for one task and one distance, whose training is compiled once and repeated from several seeds."""

    def __init__(self, network: Network, task: Task, distance: int):
        self._network, self._task, self._distance = network, task, distance
        self._length = task.examples(distance, 1, np.random.default_rng(0))[0].shape[1]
        self._model = build(network, task, self._length)
        self._optimizer = keras.optimizers.Adam(network.learning_rate, global_clipnorm=1.0)
        self._optimizer.build(self._model.trainable_variables)
        self._first = [variable.numpy() for variable in self._optimizer.variables]
        # compiled, because a step is so short that most of its time would be spent on starting operations
        self._train = tf.function(self._train_steps, jit_compile=True)
        self._answer = tf.function(self._model)

    @property
    def num_parameters(self) -> int:
        """Of the network."""
        return self._model.count_params()

    def _train_steps(self, inputs, targets):
        """Makes a step with each batch.

        Args:
            inputs: float32 [steps, batch, time, features].
            targets: [steps, batch, answers] or [steps, batch, answers, 1].
        """
        variables = self._model.trainable_variables
        for step in tf.range(EVERY):
            with tf.GradientTape() as tape:
                outputs = self._model(inputs[step], training=True)  # [batch, answers, classes]
                loss = tf.reduce_mean(self._task.loss(targets[step], outputs))
            self._optimizer.apply(tape.gradient(loss, variables), variables)

    def scores(self, seed: int) -> Iterator[float]:
        """Trains with fresh examples in each step, and yields the score on other ones after each `EVERY` steps."""
        keras.utils.set_random_seed(seed)
        self._model.set_weights(build(self._network, self._task, self._length).get_weights())
        for variable, value in zip(self._optimizer.variables, self._first, strict=True):
            variable.assign(value)
        random = np.random.default_rng(seed)
        while True:
            batches = [self._task.examples(self._distance, BATCH_SIZE, random) for _ in range(EVERY)]
            self._train(*map(np.stack, zip(*batches, strict=True)))
            inputs, targets = self._task.examples(self._distance, CHECKED, random)
            yield self._task.score(self._answer(inputs).numpy(), targets)

    def steps(self, seed: int, max_steps: int) -> float:
        """Returns after how many steps the task is solved for the first time; infinity if not in `max_steps`.

        Args:
            max_steps: a multiple of `EVERY`.
        """
        for number, score in zip(range(EVERY, max_steps + 1, EVERY), self.scores(seed)):
            if self._task.is_solved(score):
                return number
        return np.inf
