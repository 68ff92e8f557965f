"""The network of a language model: ids int32 [batch, time] -> logits of the next token [batch, time, vocabulary]."""

from collections.abc import Callable

import keras

from pipelines.export.exported import Exported
from pipelines.language_model.config import WITH_ORDER, LanguageModelConfig
from pipelines.language_model.context_networks import ngram_network, window_network
from pipelines.language_model.free_running import FreeRunningModel
from pipelines.networks.causal import causal_network, shared_arguments
from pipelines.support.errors import UserError


def build(
    config: LanguageModelConfig,
    vocabulary_size: int,
    streams: int | None = None,
    table_sizes: list[tuple[int, int]] | None = None,
) -> keras.Model:
    """Returns the network that `config` describes.

    Args:
        table_sizes: of an n-gram model; see `BackoffNGrams`.
        streams: batch size of the model for training, which carries its states; None makes the inference model.
    """
    if config.model == "ngram":
        return ngram_network(config, vocabulary_size, table_sizes)
    if config.model in WITH_ORDER:
        return window_network(config, vocabulary_size, streams)
    model = causal_network(
        **shared_arguments(config),
        vocabulary_size=vocabulary_size,
        sequence_dropout=config.sequence_dropout,
        tie_weights=config.tie_weights,
        activation=config.activation,
        residual=config.residual,
        streams=streams,
    )
    if streams is not None and config.teacher_forcing < 1:
        return FreeRunningModel(model.inputs[0], model.outputs[0], config, name=model.name)
    return model


def of_export(config: LanguageModelConfig, exported: Exported, read: Callable[[], list]) -> tuple[keras.Model, list]:
    """Returns the network of an export and the variables that are its weights: `read` reads all of them.

    Raises:
        UserError: it is an n-gram model.
    """
    if config.model == "ngram":
        raise UserError(f"{exported.path} is an n-gram model, which has no states: give a recurrent one")
    variables = read()
    return build(config, variables[0].shape[0]), variables
