import math

import numpy as np
import pandas as pd
import pytest

from pipelines.inspect.gradients import by_distance, gradient_norms, places, steps_per_loss
from pipelines.inspect.weights import untrained_network
from pipelines.support.errors import UserError
from tests.pipelines.language_model.models import make, make_config

WINDOW = 7


def network(model, **flags):
    config, tokenizer, keras_model, _ = make(model, dropout=0.0, **flags)
    ids = np.random.default_rng(0).integers(4, tokenizer.vocabulary_size, size=(3, WINDOW + 1)).astype(np.int32)
    return config, keras_model, ids


def softmax(x):
    exponentials = np.exp(x - x.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def test_of_a_simple_network_they_are_products_of_jacobians():
    config, model, ids = network("simple", num_layers=1)
    norms = gradient_norms(config, model, ids)
    assert list(norms) == ["layer_1_hidden"]
    embeddings, kernel, recurrent, bias, output, output_bias = (w.numpy().astype(np.float64) for w in model.weights)
    for row, found in zip(ids, norms["layer_1_hidden"]):
        h, states = np.zeros(config.hidden_size), []
        for token in row[:-1]:
            h = np.tanh(embeddings[token] @ kernel + h @ recurrent + bias)
            states.append(h)
        gradient = output @ (softmax(h @ output + output_bias) - np.eye(len(embeddings))[row[-1]])  # dL/dh_T
        expected = [np.linalg.norm(gradient)]
        for after in reversed(states[1:]):  # dL/dh_(t-1) = U diag(1 - h_t^2) dL/dh_t
            gradient = recurrent @ (np.diag(1 - after**2) @ gradient)
            expected.append(np.linalg.norm(gradient))
        np.testing.assert_allclose(found, expected, rtol=1e-4)


def lstm_loss(model, row, layers, at=None, delta=None):
    """-log P of the last token; `delta` is added to the state `at` = (t, layer, 0 for h or 1 for c)."""
    weights = [w.numpy().astype(np.float64) for w in model.weights]
    embeddings, cells, (output, output_bias) = weights[0], weights[1:-2], weights[-2:]
    states = [[np.zeros(cells[0].shape[1] // 4)] * 2 for _ in range(layers)]
    for t, token in enumerate(row[:-1]):
        x = embeddings[token]
        for i in range(layers):
            kernel, recurrent, bias = cells[3 * i : 3 * i + 3]
            h, c = states[i]
            z_i, z_f, z_c, z_o = np.split(x @ kernel + h @ recurrent + bias, 4)
            c = sigmoid(z_f) * c + sigmoid(z_i) * np.tanh(z_c)
            if at == (t, i, 1):
                c = c + delta
            h = sigmoid(z_o) * np.tanh(c)
            if at == (t, i, 0):
                h = h + delta
            x, states[i] = h, (h, c)
    return -np.log(softmax(x @ output + output_bias)[row[-1]])


def test_of_a_stack_of_lstms_they_are_finite_differences():
    config, model, ids = network("lstm", num_layers=2)
    norms = gradient_norms(config, model, ids)
    assert list(norms) == ["layer_1_hidden", "layer_1_cell", "layer_2_hidden", "layer_2_cell"]
    step = 1e-5
    for distance in (0, 1, WINDOW - 1):
        for layer in range(2):
            for kind, name in enumerate(("hidden", "cell")):
                at = (WINDOW - 1 - distance, layer, kind)
                deltas = step * np.eye(config.hidden_size)
                losses = [[lstm_loss(model, ids[0], 2, at, sign * d) for d in deltas] for sign in (1, -1)]
                expected = np.linalg.norm(np.subtract(*losses) / (2 * step))
                found = norms[f"layer_{layer + 1}_{name}"][0, distance]
                assert found == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("model", ["gru", "gru-reset-before", "jordan", "peephole"])
def test_other_cells_with_residuals(model):
    config, keras_model, ids = network(model, residual=True)
    norms = gradient_norms(config, keras_model, ids)
    assert set(norms) >= {"layer_1_hidden", "layer_2_hidden"}
    assert ("layer_2_cell" in norms) == (model == "peephole")
    assert all(values.shape == (3, WINDOW) and (values > 0).all() for values in norms.values())


def test_a_larger_forget_bias_carries_the_gradient_further():
    config = make_config("lstm", num_layers=1, hidden_size=32)
    ids = np.random.default_rng(0).integers(4, 50, size=500)
    steps = []
    for bias in (0, 1, 3, 5):
        model = untrained_network(config, 50, forget_bias=bias)
        table = by_distance(gradient_norms(config, model, places(ids, 40, 16)))
        steps.append(steps_per_loss(table[table["state"] == "layer_1_cell"]["median"].to_numpy()))
    assert steps == sorted(steps)
    assert steps[0] < 6 and steps[-1] > 100


def test_batches_do_not_change_the_norms(monkeypatch):
    config, model, ids = network("gru", num_layers=1)
    whole = gradient_norms(config, model, ids)["layer_1_hidden"]
    monkeypatch.setattr("pipelines.inspect.gradients._BATCH_TOKENS", 1)
    np.testing.assert_allclose(gradient_norms(config, model, ids)["layer_1_hidden"], whole, rtol=1e-5)


def test_quartiles_by_distance():
    table = by_distance({"layer_1_hidden": np.array([[4.0, 1.0], [8.0, 2.0], [12.0, 3.0]])})
    expected = {"state": ["layer_1_hidden"] * 2, "distance": [0, 1], "lower": [6.0, 1.5], "median": [8.0, 2.0]}
    expected |= {"upper": [10.0, 2.5], "relative": [1.0, 0.25]}
    pd.testing.assert_frame_equal(table, pd.DataFrame(expected))


def test_steps_per_loss():
    distances = np.arange(30)
    assert steps_per_loss(10.0 ** (-distances / 6)) == pytest.approx(6)
    assert steps_per_loss(np.ones(30)) == math.inf
    assert steps_per_loss(10.0 ** (distances / 6)) == math.inf
    assert steps_per_loss(10.0 ** (-distances / 5000)) == math.inf
    assert math.isnan(steps_per_loss(np.zeros(30)))
    underflowing = np.where(distances < 20, 10.0 ** (-distances / 6), 0)
    assert steps_per_loss(underflowing) == pytest.approx(6)


def test_places_are_windows_of_the_text():
    windows = places(np.arange(100), 10, 5)
    assert windows.shape == (5, 11) and windows.dtype == np.int32
    assert (np.diff(windows) == 1).all()


def test_impossible_requests_are_refused():
    with pytest.raises(UserError, match="longer"):
        places(np.arange(10), 10, 5)
    with pytest.raises(UserError, match="at least 2 tokens"):
        places(np.arange(10), 1, 5)
    config, _, model, _ = make("transformer")
    with pytest.raises(UserError, match="no state"):
        gradient_norms(config, model, np.ones((1, 5), np.int32))
