import numpy as np
import pytest

from pipelines.learn.format import WIDTH, format_lesson
from pipelines.learn.positions import encoding, heat_map, order_matters, positions, rotary_products


def test_the_encoding_is_the_formula():
    length, size = 7, 6
    expected = np.zeros((length, size))
    for p in range(length):
        for i in range(size // 2):
            angle = p / 10000 ** (2 * i / size)
            expected[p, 2 * i], expected[p, 2 * i + 1] = np.sin(angle), np.cos(angle)
    np.testing.assert_allclose(encoding(length, size), expected, atol=1e-6)


def test_order_is_visible_only_with_positions():
    without, with_positions = order_matters(False), order_matters(True)
    np.testing.assert_allclose(without[0], without[1], atol=1e-5)
    assert np.abs(with_positions[0] - with_positions[1]).max() > 0.1


@pytest.mark.parametrize("size", [4, 16, 40])
def test_products_of_encodings_depend_on_their_distance_alone(size):
    (step,) = (step for step in positions(size=size).steps if "product of two encodings" in step.title)
    products = step.values[0].numbers
    np.testing.assert_allclose(products, np.broadcast_to(products[0], products.shape), atol=1e-4)
    frequencies = 10000 ** (-np.arange(0, size, 2) / size)
    expected = [np.cos(distance * frequencies).sum() for distance in range(products.shape[1])]
    np.testing.assert_allclose(products[0], expected, atol=1e-4)


def test_rotary_products_depend_on_the_distance_alone():
    near, far, near_again, other = rotary_products(((0, 2), (0, 5), (31, 33), (2, 0)))
    assert near == pytest.approx(near_again, abs=1e-4)
    assert abs(near - far) > 0.1 and abs(near - other) > 0.1
    # q = (1 0 1 0) and k = (1 1 0 1) as complex numbers, each pair rotated: Re(conj(q) k e^(i distance frequency))
    expected = sum((np.conj(q) * k * np.exp(2j * f)).real for q, k, f in ((1, 1 + 1j, 1), (1, 1j, 0.01)))
    assert near == pytest.approx(expected, abs=1e-5)


def test_the_picture_has_a_line_for_each_position():
    assert heat_map(np.array([[-1, -0.001, 0.001, 1]])) == ("p=0     ==++@@",)
    lesson = positions(length=100, size=40)
    (picture,) = (step.picture for step in lesson.steps if step.picture)
    assert len(picture) == 100
    assert max(map(len, format_lesson(lesson))) <= WIDTH
