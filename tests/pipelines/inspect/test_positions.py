import numpy as np

from pipelines.inspect import positions
from tests.pipelines.inspect.exports import picture


def test_positions_are_the_formula():
    vectors = positions.encoding(20, 8)
    angles = 7 / 10_000 ** (np.arange(4) / 4)
    np.testing.assert_allclose(np.sort(vectors[7]), np.sort([*np.sin(angles), *np.cos(angles)]), atol=1e-5)
    products = positions.product_rows(vectors)["cosine"]
    np.testing.assert_allclose(vectors[3] @ vectors[8] / 4, products[5], atol=1e-5)
    assert picture(positions.figures(20, 8)[0]).height > 400
