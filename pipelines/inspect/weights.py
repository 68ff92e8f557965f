"""The Keras network of an exported language model, to compute what no signature answers."""

from pipelines.export.exported import Exported
from pipelines.language_model.config import WITH_ORDER, LanguageModelConfig
from pipelines.support.errors import UserError


def load_network(exported: Exported, loaded=None):
    """Returns the network of an export, with its weights.

    An export holds no Keras model. But its card has the settings of the run, and its variables are the network's
    weights in their order.

    Args:
        loaded: `exported`, if it is loaded already.

    Returns:
        (config, inference model of `networks.build`).

    Raises:
        UserError: the export is of another task or another version of Unroll, or an n-gram model.
    """
    card = exported.card()
    settings = card.get("config", {})
    if card.get("task") not in ("language-model", "char-lm"):
        raise UserError(f"{exported.path} is no language model: give an export of `train language-model` or char-lm")
    if settings.get("model") == "ngram":
        raise UserError(f"{exported.path} is an n-gram model, which has no states: give a recurrent one")
    known = LanguageModelConfig.__dataclass_fields__
    config = LanguageModelConfig(**{name: value for name, value in settings.items() if name in known}).resolve()
    variables = list(getattr(loaded or exported.load(), "_variables", []))
    if not variables:
        raise UserError(f"{exported.path} does not hold its weights: train the model again")
    model = build_network(config, variables[0].shape[0])
    values = [variable.numpy() for variable in variables]
    if [value.shape for value in values] != [tuple(weight.shape) for weight in model.weights]:
        raise UserError(f"{exported.path} is of another version of Unroll: train the model again")
    model.set_weights(values)
    return config, model


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
        if config.model not in ("lstm", "peephole"):
            raise UserError(f"a {config.model} network has no forget gate: set the forget bias of an lstm or peephole")
        for i in range(config.num_layers):
            bias = model.get_layer(f"recurrent_{i + 1}").cell.bias
            values = bias.numpy()
            values[config.hidden_size : 2 * config.hidden_size] = forget_bias  # Keras's order: i, f, c, o
            bias.assign(values)
    return model


def build_network(config: LanguageModelConfig, vocabulary_size: int):
    """Returns the inference model in float32, whatever the precision of the training."""
    import keras

    from pipelines.language_model import networks

    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("float32")
    try:
        return networks.build(config, vocabulary_size)
    finally:
        keras.config.set_dtype_policy(policy)


def require_recurrent(config: LanguageModelConfig) -> None:
    """Refuses a network without recurrent layers.

    Raises:
        UserError: it is a transformer, or reads a fixed number of tokens.
    """
    if config.model in ("transformer", *WITH_ORDER):
        raise UserError(
            f"a {config.model} network carries no state from token to token: give a recurrent language model"
        )
