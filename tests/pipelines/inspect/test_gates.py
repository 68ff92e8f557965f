import numpy as np
import pytest

from pipelines.inspect import gates
from pipelines.support.errors import UserError
from tests.pipelines.inspect.exports import make_trace, picture


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
    np.testing.assert_array_equal(one["cell"], trace.recurrent["layer_1"]["cell"][:, one["unit"].iloc[0]])
    tokens = gates.token_rows(trace, "layer")
    np.testing.assert_allclose(tokens["probability"][1:], np.exp(trace.outputs["log_probabilities"][1:]))


def test_the_units_that_vary_most_come_first():
    values = {"forget_gate": np.array([[0.1, 0.5, 0.0], [0.1, 0.4, 1.0]])}
    assert gates.most_varying(values, 2) == [2, 1]


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_the_picture_of_gates(kind):
    (figure,) = gates.figures(make_trace(kind=kind, layers=("layer_1", "layer_2")), top=2)
    assert picture(figure).height > 800
    with pytest.raises(UserError, match="no gates"):
        gates.figures(make_trace(kind="simple"))
