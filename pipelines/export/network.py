"""The Keras network of an export, to compute what no signature answers.

An export holds no Keras model. But its card has the settings of the run, and its variables are the network's weights in
their order.
"""

import functools
from collections.abc import Callable

from pipelines.export.exported import Exported
from pipelines.settings.config import recorded
from pipelines.support.errors import UserError
from pipelines.task import TASKS


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
    entry = TASKS.get(card.get("task", ""))
    if entry is None or entry.explains is None:
        raise UserError(f"{exported.path} is of the task {card.get('task')}, whose networks are not built again")
    config = _config_of(entry.config_class(), card["config"])
    read = functools.partial(_variables, exported, loaded)
    network, variables = in_float32(lambda: entry.networks().of_export(config, exported, read))
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


def in_float32(build: Callable):
    """Returns what `build` returns under the dtype policy float32."""
    import keras

    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("float32")
    try:
        return build()
    finally:
        keras.config.set_dtype_policy(policy)
