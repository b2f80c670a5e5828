import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from rankad.kernels import gaussian_gram, squared_distances


def test_squared_distances_match_differences(rng):
    points, others = rng.normal(size=(30, 4)) + 100, rng.normal(size=(20, 4)) + 100
    assert_allclose(squared_distances(points, others), cdist(points, others, "sqeuclidean"))
    assert_allclose(squared_distances(points), cdist(points, points, "sqeuclidean"), atol=1e-12)
    assert_array_equal(np.diag(squared_distances(points)), 0.0)


def test_the_width_enters_as_sigma_squared():
    assert gaussian_gram(np.array([[9.0]]), sigma=3.0)[0, 0] == np.exp(-1.0)


def test_half_the_width_is_the_fourth_power(rng):
    squared = squared_distances(rng.normal(size=(20, 3)))
    assert_allclose(gaussian_gram(squared, 0.7), gaussian_gram(squared, 1.4) ** 4)


def test_the_centered_kernel_keeps_its_digits_at_a_wide_sigma():
    centered = gaussian_gram(np.array([[1.0]]), sigma=1e9, centered=True)[0, 0]
    assert_allclose(centered, -1e-18, rtol=1e-12)
    assert gaussian_gram(np.array([[1.0]]), sigma=1e9)[0, 0] == 1.0
