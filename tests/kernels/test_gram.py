import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rankad.kernels import distances_between, gaussian_gram
from rankad.kernels.gram import submatrix
from rankad.kernels.products import symmetric_product


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


@pytest.mark.parametrize("centered", [False, True])
def test_overwriting_gives_the_same_matrix_in_place(centered, rng):
    distances = rng.uniform(size=(5, 7))
    expected = gaussian_gram(distances, 0.7, centered=centered)
    gram = gaussian_gram(distances, 0.7, centered=centered, overwrite=True)
    assert gram is distances
    assert_array_equal(gram, expected)


def test_submatrices_are_those_of_numpy(rng):
    matrix = rng.normal(size=(9, 6))
    rows, columns = np.array([8, 0, 0, 3]), np.array([5, 1])
    assert_array_equal(submatrix(matrix, rows, columns), matrix[np.ix_(rows, columns)])
    assert submatrix(matrix, rows[:0], columns).shape == (0, 2)


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-13), (np.float32, 1e-5)])
@pytest.mark.parametrize("n", [0, 1, 2, 7, 64, 333])
def test_symmetric_products_are_those_of_numpy(dtype, rtol, n, rng):
    half = rng.normal(size=(n, n))
    matrix, vector = half + half.T, rng.normal(size=n)
    product = symmetric_product(matrix.astype(dtype), vector)
    assert product.dtype == np.float64
    scale = np.abs(matrix) @ np.abs(vector) if n else 0.0
    assert (np.abs(product - matrix @ vector) <= rtol * scale).all()


def test_symmetric_products_take_strides_and_refuse_other_shapes(rng):
    half = rng.normal(size=(40, 40))
    matrix = (half + half.T)[::2, ::2]
    vector = rng.normal(size=60)[::3]
    assert_allclose(symmetric_product(matrix, vector), matrix @ vector)
    with pytest.raises(ValueError, match=r"Cannot multiply shapes \(20, 20\) and \(3,\)"):
        symmetric_product(matrix, np.ones(3))
    with pytest.raises(ValueError, match="Cannot multiply shapes"):
        symmetric_product(matrix[:5], np.ones(5))
