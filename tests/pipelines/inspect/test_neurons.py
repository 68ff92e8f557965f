import numpy as np
import pytest

from pipelines.inspect import neurons
from pipelines.inspect.trace import Trace
from pipelines.support.errors import UserError
from tests.pipelines.inspect.exports import make_trace, picture


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
        found.append(Trace("small/1", tokens, {"layer_1": {"hidden": hidden}}, {}, {}, False))
    best = neurons.best_units(found, texts).set_index("feature")
    assert best.loc["quote", "unit"] == 2 and best.loc["quote", "correlation"] > 0.9
    (figure,) = neurons.figures(found, texts)
    shown = figure.data["characters"]
    assert "".join(shown[shown.feature == "quote"]["character"][:3]) == "say" and picture(figure).height > 100


def test_units_of_a_word_model_are_refused():
    trace = Trace("words/1", {"layer": ["<start>", "yes"]}, make_trace().recurrent, {}, {}, False)
    with pytest.raises(UserError, match="words/1 reads words"):
        neurons.best_units([trace], ["yes"])
