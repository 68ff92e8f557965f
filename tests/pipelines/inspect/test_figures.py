"""The rows of the figures, and that each figure becomes a picture."""

import io

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from pipelines.inspect import attention, cost, embeddings, gates, neurons, positions, size, states
from pipelines.inspect.figure import Figure, stacked
from pipelines.inspect.states import Plane
from pipelines.inspect.trace import Attention, Trace
from pipelines.support.errors import UserError
from tests.pipelines.inspect.exports import make_trace


def picture(figure: Figure) -> Image.Image:
    return Image.open(io.BytesIO(figure.png()))


def attentive(weights, queries, keys, is_cross=False) -> Trace:
    found = {"layer_1": Attention(np.asarray(weights), queries, keys, is_cross)}
    return Trace("small/1", "language_model", {"layer": queries}, {}, found, {}, False)


# Gates


def test_the_rows_of_gates():
    trace = make_trace()
    means = gates.mean_rows(trace, ["layer_1"], ["forget_gate"])
    np.testing.assert_allclose(means["mean"], trace.recurrent["layer_1"]["forget_gate"].mean(1))
    assert means["token"].tolist() == ["<start>", "a", "\N{OPEN BOX}", "b"]
    norms = gates.norm_rows(trace, ["layer_1"])
    np.testing.assert_allclose(
        norms[norms.state == "cell"]["norm"], np.linalg.norm(trace.recurrent["layer_1"]["cell"], axis=1)
    )
    units = gates.unit_rows(trace, ["layer_1"], 2, None)
    assert units["unit"].nunique() == 2
    one = units[units["unit"] == units["unit"].iloc[0]]
    assert one["before"].iloc[0] == 0 and one["before"].iloc[2] == one["cell"].iloc[1]
    tokens = gates.token_rows(trace, "layer")
    np.testing.assert_allclose(tokens["probability"][1:], np.exp(trace.outputs["log_probabilities"][1:]))


def test_the_units_that_vary_most_come_first():
    values = {"forget_gate": np.array([[0.1, 0.5, 0.0], [0.1, 0.4, 1.0]])}
    assert gates.most_varying(values, 2) == [2, 1]


def test_a_layer_that_reads_backwards_has_its_state_before_on_the_right():
    units = gates.unit_rows(make_trace(layers=("layer_1_backward",)), ["layer_1_backward"], 1, None)
    assert units["before"].iloc[-1] == 0 and units["before"].iloc[0] == units["cell"].iloc[1]


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_the_picture_of_gates(kind):
    (figure,) = gates.figures(make_trace(kind=kind, layers=("layer_1", "layer_2")), top=2)
    assert picture(figure).height > 800
    with pytest.raises(UserError, match="no gates"):
        gates.figures(make_trace(kind="simple"))


# States


def test_the_plane_has_the_largest_variance():
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    samples = rng.normal(size=(200, 5)) * [5, 3, 0.1, 0.1, 0.1] @ basis.T + 7
    plane = Plane(samples)
    points = plane.project(samples)
    np.testing.assert_allclose(points.std(0), [5, 3], rtol=0.15)
    assert plane.explained.sum() > 0.99
    np.testing.assert_allclose(plane.project(plane.lift(points)), points, atol=1e-8)


def test_the_path_and_its_steps():
    trace = make_trace()
    cells = trace.recurrent["layer_1"]["cell"]
    rows = states.path_rows(trace, "layer_1", "cell", Plane(cells))
    steps = np.linalg.norm(np.diff(cells, axis=0, prepend=0), axis=1) / np.linalg.norm(cells, axis=1).mean()
    np.testing.assert_allclose(rows["step"], steps)
    (figure,) = states.figures(trace, [make_trace(seed=1)], lambda features: np.full(len(features), 0.5), "a")
    assert len(figure.data["surface"]) == 1600 and picture(figure).width > 800


def test_states_need_a_recurrent_layer_and_a_text():
    with pytest.raises(UserError, match="no recurrent layer"):
        states.figures(attentive(np.ones((1, 1, 1)), ["a"], ["a"]), [])
    with pytest.raises(UserError, match="fewer than three tokens"):
        states.figures(make_trace(time=2), [])


# Attention


def test_what_a_head_looks_at():
    weights = np.array([[1.0, 0, 0], [1.0, 0, 0], [0, 1.0, 0]])
    assert attention.looks_at(weights, False) == pytest.approx(
        {"itself": 1 / 3, "the token before": 2 / 3, "the token after": 0, "the first token": 0, "others": 0}
    )
    crossed = attention.looks_at(np.array([[0, 0, 1.0], [0, 1.0, 0]]), True)
    assert crossed["the last token"] == 0.5 and crossed["the same position"] == 0.5


def test_the_entropy_of_uniform_attention_is_that_of_its_keys():
    rows = attention.head_rows({"layer_1": Attention(np.full((1, 4, 4), 0.25), list("abcd"), list("abcd"), False)})
    assert rows["entropy"].tolist() == pytest.approx([2.0])


def test_the_picture_of_attention():
    weights = np.full((2, 3, 4), 0.25)
    (figure,) = attention.figures(attentive(weights, list("abc"), list("wxyz"), True))
    assert len(figure.data["weights"]) == 24 and picture(figure).height > 300
    with pytest.raises(UserError, match="small/1 has no attention"):
        attention.figures(make_trace())


# Units that follow a feature


def test_the_features_of_characters():
    found = {name: values.tolist() for name, values in neurons.features('A "b"\n(1)').items()}
    assert found["quote"] == [0, 0, 1, 1, 0, 0, 0, 0, 0]
    assert found["parentheses"] == [0, 0, 0, 0, 0, 0, 1, 1, 0]
    assert found["line"] == [1, 2, 3, 4, 5, 0, 1, 2, 3]
    assert found["word"] == [1, 0, 1, 2, 3, 0, 1, 2, 3]
    assert found["capital"] == [1, 0, 0, 0, 0, 0, 0, 0, 0]
    assert found["digit"][7] == 1 and found["vowel"][0] == 1


def test_correlations_equal_numpy():
    rng = np.random.default_rng(0)
    states_, values = rng.normal(size=(50, 3)), rng.normal(size=50)
    expected = [np.corrcoef(states_[:, unit], values)[0, 1] for unit in range(3)]
    np.testing.assert_allclose(neurons.correlations(states_, values), expected)
    assert neurons.correlations(np.ones((5, 1)), np.arange(5.0)).tolist() == [0]


def test_a_unit_that_follows_the_quotes_is_found():
    texts = ['say "yes" and "no" or', '"a" b "c" d "e" f', 'x "quoted text" y', "(p) q"] * 2
    rng = np.random.default_rng(0)
    found = []
    for text in texts:
        hidden = rng.normal(size=(len(text) + 1, 4))
        hidden[1:, 2] = neurons.features(text)["quote"] * 2 - 1 + rng.normal(scale=0.1, size=len(text))
        tokens = {"layer": ["<start>", *text]}
        found.append(Trace("small/1", "language_model", tokens, {"layer_1": {"hidden": hidden}}, {}, {}, False))
    best = neurons.best_units(found, texts).set_index("feature")
    assert best.loc["quote", "unit"] == 2 and best.loc["quote", "correlation"] > 0.9
    (figure,) = neurons.figures(found, texts)
    shown = figure.data["characters"]
    assert "".join(shown[shown.feature == "quote"]["character"][:3]) == "say" and picture(figure).height > 100


def test_units_of_a_word_model_are_refused():
    trace = Trace("words/1", "language_model", {"layer": ["<start>", "yes"]}, make_trace().recurrent, {}, {}, False)
    with pytest.raises(UserError, match="words/1 reads words"):
        neurons.best_units([trace], ["yes"])


# Embeddings, sizes, positions, cost


def test_the_nearest_neighbours():
    vectors = np.array([[9.0, 0]] * 4 + [[1, 0], [2, 0.1], [0, 1], [-1, 0]])
    names = ["<pad>", "<unknown>", "<start>", "<end>", "a", "b", "c", "d"]
    rows = embeddings.nearest(vectors, names, ["a"], 2)
    assert rows["neighbour"].tolist() == ["b", "c"] and rows["cosine"][0] == pytest.approx(2 / np.hypot(2, 0.1))
    (figure,) = embeddings.figures("small/1", vectors, names, ["a", "c"], 2)
    assert picture(figure).width > 300


@pytest.mark.parametrize(
    ("name", "shape", "expected"),
    [
        ("recurrent_1/lstm_cell/kernel", (128, 1024), "n x 4 h = 128 x 4 x 256"),
        ("recurrent_1/lstm_cell/recurrent_kernel", (256, 1024), "h x 4 h = 256 x 4 x 256"),
        ("recurrent_1/gru_cell/bias", (2, 768), "2 x 3 h = 2 x 3 x 256"),
        ("recurrent_1/simple_rnn_cell/kernel", (128, 256), "n x h = 128 x 256"),
        ("tokens/embeddings", (69, 64), "V x n = 69 x 64"),
        ("logits/kernel", (256, 69), "inputs x outputs = 256 x 69"),
        ("convolution/kernel", (3, 8, 16), "3 x 8 x 16"),
    ],
)
def test_the_formula_of_a_matrix(name, shape, expected):
    assert size.formula(name, shape) == expected


@pytest.mark.parametrize(
    ("cell", "num_gates", "total"), [("simple_rnn", 1, 98_560), ("gru", 3, 295_680), ("lstm", 4, 394_240)]
)
def test_the_sizes_of_the_exercise(cell, num_gates, total):
    shapes = {"kernel": (128, 256 * num_gates), "recurrent_kernel": (256, 256 * num_gates), "bias": (256 * num_gates,)}
    variables = [(f"recurrent_1/{cell}_cell/{name}:0", shape) for name, shape in shapes.items()]
    variables.append(("seed_generator/state:0", (2,)))
    assert size.size_rows(variables)["parameters"].sum() == total
    (figure,) = size.figures("small/1", variables)
    assert f"{total:,} parameters" in figure.title and picture(figure).width > 300


def test_positions_are_the_formula():
    vectors = positions.encoding(20, 8)
    angles = 7 / 10_000 ** (np.arange(4) / 4)
    np.testing.assert_allclose(np.sort(vectors[7]), np.sort([*np.sin(angles), *np.cos(angles)]), atol=1e-5)
    products = positions.product_rows(vectors)["cosine"]
    np.testing.assert_allclose(vectors[3] @ vectors[8] / 4, products[5], atol=1e-5)
    assert picture(positions.figures(20, 8)[0]).height > 400


def test_the_slope_of_the_cost():
    rows = pd.DataFrame({"architecture": "attention", "length": [8, 16, 32, 64], "mebibytes": 1.0})
    rows["seconds"] = rows["length"] ** 2.0
    assert cost.slopes(rows)["exponent"].tolist() == pytest.approx([2.0])
    assert picture(cost.figures(rows, 8, 1)[0]).width > 300


@pytest.mark.slow
def test_the_cost_is_measured():
    rows = cost.measure_one("attention", (8, 16), 4, 1, 1)
    assert rows["length"].tolist() == [8, 16] and (rows["seconds"] > 0).all()


def test_pictures_are_stacked():
    (figure,) = gates.figures(make_trace(), top=2)
    one = figure.png()
    assert stacked([one]) == one
    two = Image.open(io.BytesIO(stacked([one, one])))
    assert two.height > 2 * picture(figure).height and two.width == picture(figure).width
