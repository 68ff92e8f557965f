"""The recurrent layers by their name on the command line (`--model`, `--cell`)."""

import keras
from keras import layers

from layers import HoistedGRU, HoistedLSTM, PeepholeLSTMCell

RECURRENT_LAYERS = {
    "simple": layers.SimpleRNN,
    "gru": HoistedGRU,
    "lstm": HoistedLSTM,
    "peephole": lambda units, **kwargs: layers.RNN(PeepholeLSTMCell(units), **kwargs),
}
"""name -> function of (units, **arguments of keras.layers.RNN), such as `return_sequences` and `stateful`, that creates
a layer."""


def reset_states(model: keras.Model) -> None:
    """Sets the states that stateful recurrent layers carry from batch to batch to zeros."""
    for layer in model.layers:
        if getattr(layer, "stateful", False):
            layer.reset_state()
