"""The recurrent layers by their name on the command line (`--model`, `--cell`), and what is built from them."""

from typing import Literal

import keras
from keras import layers

from layers import HoistedGRU, HoistedLSTM, InitialStates, JordanCell, PeepholeLSTMCell
from pipelines.settings.fields import Activation

RECURRENT_LAYERS = {
    "simple": layers.SimpleRNN,
    "jordan": lambda units, activation="tanh", **kwargs: layers.RNN(JordanCell(units, activation=activation), **kwargs),
    "gru": HoistedGRU,
    "gru-reset-before": lambda units, **kwargs: layers.GRU(units, reset_after=False, **kwargs),
    "lstm": HoistedLSTM,
    "peephole": lambda units, activation="tanh", **kwargs: layers.RNN(
        PeepholeLSTMCell(units, activation=activation), **kwargs
    ),
}
"""name -> function of (units, activation="tanh", **arguments of keras.layers.RNN), such as `return_sequences` and
`stateful`, that creates a layer."""
_WITH_CELL_STATE = ("lstm", "peephole")


def num_states(name: str) -> int:
    """Returns the number of states of a recurrent layer: output and cell state of an LSTM, the output of a GRU."""
    return 2 if name in _WITH_CELL_STATE else 1


def stacked_options(config) -> dict:
    """Returns the arguments of `stacked_recurrent` that are fields of the same name in the configs of its tasks."""
    return {
        name: getattr(config, name) for name in ("activation", "bidirectional", "merge", "residual", "learned_state")
    }


def stacked_recurrent(
    x,
    model: str,
    hidden_size: int,
    num_layers: int,
    *,
    mask=None,
    activation: Activation = "tanh",
    bidirectional: bool = False,
    merge: Literal["concat", "sum"] = "concat",
    residual: bool = False,
    learned_state: bool = False,
    dropout: float = 0.0,
    return_sequences: bool = True,
):
    """Returns the outputs of stacked recurrent layers that start from zeros or from learned states.

    Args:
        x: float [batch, time, features].
        mask: bool [batch, time]; all positions are valid if not given.
        bidirectional: whether each layer reads in both directions.
        merge: the outputs of the two directions side by side, or their sum.
        residual: from the second layer on, a layer's input is added to its output (He et al. 2016; Wu et al. 2016).
        learned_state: whether each layer has its first state as a weight, instead of zeros.
        dropout: dropout rate after each layer.
        return_sequences: False returns the last state of each direction.

    Returns:
        float [batch, time, units], or without `return_sequences` [batch, units]; units is the hidden size, twice that
        for two directions with `merge` concat.
    """
    for i in range(num_layers):
        sequences = return_sequences or i < num_layers - 1
        layer = RECURRENT_LAYERS[model](hidden_size, activation=activation, return_sequences=sequences)
        num_states = len(keras.tree.flatten(layer.cell.state_size))
        if bidirectional:
            layer = layers.Bidirectional(layer, merge_mode=merge, name=f"bidirectional_{i + 1}")
        states = None
        if learned_state:
            num_states *= 2 if bidirectional else 1
            states = InitialStates([hidden_size] * num_states, name=f"first_states_{i + 1}")(x)
        y = layer(x, mask=mask, initial_state=states)
        if residual and i > 0 and sequences:
            y = layers.Add(name=f"residual_{i + 1}")([x, y])
        x = layers.Dropout(dropout)(y) if dropout else y
    return x


def reset_states(model: keras.Model) -> None:
    """Sets the states that stateful recurrent layers carry from batch to batch to zeros."""
    for layer in model.layers:
        if getattr(layer, "stateful", False):
            layer.reset_state()
