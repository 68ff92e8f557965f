"""The Keras network of an export, to compute what no signature answers.

An export holds no Keras model. But its card has the settings of the run, and its variables are the network's weights in
their order.
"""

import functools
from collections.abc import Callable

from pipelines.export.exported import Exported
from pipelines.language_model.config import WITH_ORDER, LanguageModelConfig
from pipelines.settings.config import recorded
from pipelines.support.errors import UserError
from pipelines.task import TASKS

WITH_FORGET_GATE = ("lstm", "peephole")  # values of --model


def load_network(exported: Exported, loaded=None):
    """Returns the network of an export, with its weights: what `of_export` in the networks.py of its task builds.

    Args:
        loaded: `exported`, if it is loaded already.

    Returns:
        (config, inference model in float32).

    Raises:
        UserError: the export is of another version of Unroll, or of a task whose networks are not built again, or it
            has no network of layers.
    """
    card = exported.card()
    entry = TASKS.get(card.get("task"))
    if entry is None or entry.explains is None:
        raise UserError(f"{exported.path} is of the task {card.get('task')}, whose networks are not built again")
    config = _config_of(entry.config_class(), card["config"])
    read = functools.partial(_variables, exported, loaded)
    network, variables = _in_float32(lambda: entry.networks().of_export(config, exported, read))
    return config, _with_weights(exported, network, variables)


def _config_of(config_class, settings: dict):
    """Returns the resolved config of a card; settings that this version does not know are left out."""
    known = config_class.__dataclass_fields__
    values = {name: value for name, value in recorded(config_class, settings).items() if name in known}
    return config_class(**values).resolve()


def _variables(exported: Exported, loaded) -> list:
    """Returns the variables of an export, at least one.

    Raises:
        UserError: it does not hold them.
    """
    variables = list(getattr(loaded or exported.load(), "_variables", []))
    if not variables:
        raise UserError(f"{exported.path} does not hold its weights: train the model again")
    return variables


def _with_weights(exported: Exported, model, variables: list):
    """Gives a network the values of variables, and returns it.

    Raises:
        UserError: they have other shapes.
    """
    values = [variable.numpy() for variable in variables]
    if [value.shape for value in values] != [tuple(weight.shape) for weight in model.weights]:
        raise UserError(f"{exported.path} is of another version of Unroll: train the model again")
    model.set_weights(values)
    return model


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

    return _in_float32(lambda: networks.build(config, vocabulary_size))


def _in_float32(build: Callable):
    """Returns what `build` returns under the dtype policy float32."""
    import keras

    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("float32")
    try:
        return build()
    finally:
        keras.config.set_dtype_policy(policy)


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
