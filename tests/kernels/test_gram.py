import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rankad.kernels import distances_between, gaussian_gram


def test_distances_keep_their_digits_far_from_the_origin(rng):
    points = 1e-8 * rng.normal(size=(30, 12)) + np.repeat([[0.0], [1.0]], 15, axis=0)
    differences = points[:, None] - points
    exact = np.sqrt((differences**2).sum(axis=2))
    assert_allclose(distances_between(points, points), exact, rtol=1e-12)
    assert_array_equal(np.diag(distances_between(points, points)), 0.0)


def test_the_width_enters_as_sigma_squared():
    assert gaussian_gram(np.array([[3.0]]), sigma=3.0)[0, 0] == np.exp(-1.0)


def test_half_the_width_is_the_fourth_power(rng):
    distances = distances_between(rng.normal(size=(20, 3)), rng.normal(size=(20, 3)))
    assert_allclose(gaussian_gram(distances, 0.7), gaussian_gram(distances, 1.4) ** 4)


def test_the_centered_kernel_keeps_its_digits_at_a_wide_sigma():
    centered = gaussian_gram(np.array([[1.0]]), sigma=1e9, centered=True)[0, 0]
    assert_allclose(centered, -1e-18, rtol=1e-12)
    assert gaussian_gram(np.array([[1.0]]), sigma=1e9)[0, 0] == 1.0


@pytest.mark.parametrize(("sigma", "expected"), [(1e-200, [1.0, 0.0]), (1e200, [1.0, 1.0])])
def test_no_width_overflows(sigma, expected):
    assert_array_equal(gaussian_gram(np.array([0.0, 1.0]), sigma), expected)
