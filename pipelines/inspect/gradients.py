"""Where the gradient goes: how much of the gradient of one token's loss reaches the states of the tokens before it.

Of a window of tokens, the loss L_T of the last prediction alone is differentiated by the state of every layer after
every token:

    dL_T/dh_t = dL_T/dh_T  dh_T/dh_(T-1) ... dh_(t+1)/dh_t        and, of an LSTM, dL_T/dc_t

Each is a total derivative: it counts every way from this state to the loss, of an LSTM's c_t also the one through h_t,
of a lower layer also those through the layers above it. Their norms by the distance T - t show how far back a
network can learn from a mistake (Bengio, Simard and Frasconi 1994, "Learning long-term dependencies with gradient
descent is difficult"; Pascanu, Mikolov and Bengio 2013).

An untrained LSTM with the forget bias 1 of Keras is no better than a simple network: sigmoid(1) = .73 per step. A
larger bias (Jozefowicz, Zaremba and Sutskever 2015), or training, makes the difference. So pictures of this need
trained networks, or the forget bias as a parameter: see `weights.untrained_network`.
"""

import math

import numpy as np
import pandas as pd

from pipelines.inspect.weights import require_recurrent
from pipelines.language_model.config import LanguageModelConfig
from pipelines.support.errors import UserError

_BATCH_TOKENS = 2**13  # tokens of the windows that are differentiated at a time
_STATE_NAMES = ("hidden", "cell")
_FLAT = 20  # windows: where 90 % would be lost in more than 20 times the measured distance, the curve counts as flat


def places(ids: np.ndarray, window: int, num_places: int, seed: int = 1) -> np.ndarray:
    """Returns windows at random places of a text.

    Args:
        ids: int [tokens], a text of one or more documents.
        window: tokens that are read; the token after them is predicted.
        num_places: windows; several may be the same in a short text.

    Returns:
        int32 [places, window + 1].

    Raises:
        UserError: the text is shorter than a window, or a number is below 1 (the window: 2).
    """
    if window < 2 or num_places < 1:
        raise UserError(f"a window of {window} tokens at {num_places} places: give at least 2 tokens and 1 place")
    if len(ids) < window + 1:
        raise UserError(f"the text has {len(ids):,} tokens: give a longer one, or a --window below {len(ids)}")
    starts = np.random.default_rng(seed).integers(len(ids) - window, size=num_places)
    return np.asarray(ids, np.int32)[starts[:, None] + np.arange(window + 1)]


def gradient_norms(config: LanguageModelConfig, model, windows: np.ndarray) -> dict[str, np.ndarray]:
    """Returns the norms of dL_T/dh_t and dL_T/dc_t in each window.

    The first state is zero, and -log P of the last token is the only loss. The cells are called step by step.

    Args:
        config: of the network.
        model: inference model of `networks.build`.
        windows: int [places, window + 1], see `places`.

    Returns:
        "layer_1_hidden", of LSTMs "layer_1_cell", then those of layer 2 ...: float64 [places, window], the Euclidean
        norm over the units in nats per unit of the state, by distance T - t from 0.

    Raises:
        UserError: the network is not recurrent.
    """
    require_recurrent(config)
    size = max(1, _BATCH_TOKENS // windows.shape[1])
    batches = [_norms(config, model, windows[i : i + size]) for i in range(0, len(windows), size)]
    return {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]}


def _norms(config, model, windows) -> dict[str, np.ndarray]:
    import tensorflow as tf

    from pipelines.language_model.steps import RecurrentSteps

    steps = RecurrentSteps(config, model)
    layers = [model.get_layer(f"recurrent_{i + 1}") for i in range(config.num_layers)]
    zeros = steps.start(len(windows))
    states = [[zeros[name] for name in zeros if name.startswith(f"layer_{i}_")] for i in range(len(layers))]
    found: dict[str, list] = {}
    embedded = model.get_layer("tokens")(tf.constant(windows[:, :-1]))  # [places, window, size]
    # The tape watches the weights, and so records every step. The gradient is then asked for at the tensors that the
    # cells returned: an LSTM computes h_t from the same tensor c_t that it returns.
    with tf.GradientTape() as tape:
        for t in range(windows.shape[1] - 1):
            x = embedded[:, t]
            for i, layer in enumerate(layers):
                y, states[i] = layer.cell(x, states[i])
                for name, state in zip(_STATE_NAMES, states[i]):
                    found.setdefault(f"layer_{i + 1}_{name}", []).append(state)
                x = x + y if config.residual and i > 0 else y
        logits = steps.logits(x[:, None])[:, 0]
        # A sum: no place's loss depends on another place's states.
        loss = tf.reduce_sum(tf.nn.sparse_softmax_cross_entropy_with_logits(windows[:, -1], logits))
    gradients = tape.gradient(loss, found, unconnected_gradients="zero")
    norms = {}
    for name, each in gradients.items():
        stacked = tf.stack(each[::-1], axis=1).numpy().astype(np.float64)  # [places, window, units], nearest first
        norms[name] = np.linalg.norm(stacked, axis=-1)
    return norms


def by_distance(norms: dict[str, np.ndarray]) -> pd.DataFrame:
    """Returns quartiles over the places.

    Args:
        norms: of `gradient_norms`.

    Returns:
        One row per state and distance: "state" (such as "layer_1_cell"), "distance" from 0 in tokens, "lower", "median"
        and "upper" (quartiles of the norms), "relative" (the median divided by that of distance 0).
    """
    tables = []
    for name, values in norms.items():
        lower, median, upper = np.percentile(values, [25, 50, 75], axis=0)
        relative = median / median[0] if median[0] else np.full_like(median, np.nan)
        columns = {"lower": lower, "median": median, "upper": upper, "relative": relative}
        tables.append(pd.DataFrame({"state": name, "distance": np.arange(len(median)), **columns}))
    return pd.concat(tables, ignore_index=True)


def steps_per_loss(medians: np.ndarray, first: int = 1) -> float:
    """Returns in how many steps 90 % of the gradient is lost: ln(10) / -slope of a line through log(median).

    The line is that of least squares over the distances from `first` on. Where the curve bends, which it does for
    trained networks, the number is an average over the measured distances: compare equal windows only.

    Args:
        medians: float [distances], by distance from 0.
        first: distances before it are left out; of an LSTM's h, distance 0 has the part that goes through the output
            layer alone.

    Returns:
        Steps. `math.inf` where the curve rises, or falls so little that the loss takes more than 20 windows. NaN with
        fewer than two medians above zero.
    """
    distances = np.arange(len(medians))[first:]
    values = np.asarray(medians, np.float64)[first:]
    usable = np.isfinite(values) & (values > 0)  # what underflows to 0 has no logarithm
    if usable.sum() < 2:
        return math.nan
    slope = np.polyfit(distances[usable], np.log(values[usable]), 1)[0]
    steps = math.log(10) / -slope if slope < 0 else math.inf
    return steps if steps <= _FLAT * len(medians) else math.inf
