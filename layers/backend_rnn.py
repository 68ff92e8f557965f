"""`rnn`: the loop over time steps of every recurrent layer of Keras, which has no public name."""

from keras.src import backend


def find_rnn(module):
    """Returns the loop of a Keras backend.

    Args:
        module: `keras.src.backend`. `module.rnn` is the function in Keras 3.15, and a module with it in Keras 3.16.
    """
    return module.rnn if callable(module.rnn) else module.rnn.rnn


rnn = find_rnn(backend)
