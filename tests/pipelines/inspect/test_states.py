import numpy as np
import pytest

from pipelines.inspect import states
from pipelines.inspect.states import Plane
from pipelines.support.errors import UserError
from tests.pipelines.inspect.exports import attentive, make_trace, picture


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
