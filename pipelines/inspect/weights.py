"""Networks of language models with fresh weights, and which networks have states and gates."""

from pipelines.export.network import in_float32
from pipelines.language_model.config import WITH_ORDER, LanguageModelConfig
from pipelines.support.errors import UserError

WITH_FORGET_GATE = ("lstm", "peephole")  # values of --model


def untrained_network(
    config: LanguageModelConfig, vocabulary_size: int, seed: int = 1, forget_bias: float | None = None
):
    """Returns an inference model of `networks.build` with fresh weights.

    Args:
        forget_bias: value of the biases of all forget gates; by default that of Keras, 1. A larger one keeps more of
            the cell state: sigmoid(1) = .73, sigmoid(3) = .95, sigmoid(5) = .993 per step.

    Raises:
        UserError: `forget_bias` is given for a network without forget gates.
    """
    import keras

    keras.utils.set_random_seed(seed)
    model = build_network(config, vocabulary_size)
    if forget_bias is not None:
        if config.model not in WITH_FORGET_GATE:
            raise UserError(f"a {config.model} network has no forget gate: set the forget bias of an lstm or peephole")
        for i in range(config.num_layers):
            bias = model.get_layer(f"recurrent_{i + 1}").cell.bias
            values = bias.numpy()
            values[config.hidden_size : 2 * config.hidden_size] = forget_bias  # Keras's order: i, f, c, o
            bias.assign(values)
    return model


def build_network(config: LanguageModelConfig, vocabulary_size: int):
    """Returns the inference model of a language model in float32, whatever the precision of the training."""
    from pipelines.language_model import networks

    return in_float32(lambda: networks.build(config, vocabulary_size))


def require_recurrent(config: LanguageModelConfig, title: str = "") -> None:
    """Refuses a network without recurrent layers.

    Args:
        title: of the model, for the message.

    Raises:
        UserError: it is a transformer, or reads a fixed number of tokens.
    """
    if config.model in ("transformer", *WITH_ORDER):
        raise UserError(
            f"{title or 'this model'}: a {config.model} network carries no state from token to token: give a recurrent "
            "language model"
        )
