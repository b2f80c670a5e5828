import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal

from rankad.datasets.synthetic import PERPENDICULAR_GAUSSIANS, TWO_GAUSSIANS

LAWS = pytest.mark.parametrize("law", [TWO_GAUSSIANS, PERPENDICULAR_GAUSSIANS], ids=["1", "2"])


@LAWS
def test_density_is_the_weighted_sum_of_normal_densities(law, rng):
    points = rng.uniform(-10, 10, size=(50, 2))
    expected = sum(
        weight * multivariate_normal(mean, np.diag(variance)).pdf(points)
        for weight, mean, variance in zip(law.weights, law.means, law.variances, strict=True)
    )
    assert_allclose(law.density(points), expected, rtol=1e-10)


@LAWS
def test_density_integrates_to_one(law):
    axis = np.linspace(-25, 25, 501)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    assert_allclose(law.density(grid).sum() * (axis[1] - axis[0]) ** 2, 1.0, rtol=1e-6)


@LAWS
def test_sample_has_the_moments_of_the_law(law):
    n = 200_000
    rows = law.sample(n, random_state=7)
    # Five standard errors; that of a variance is at most sqrt(E x^4 / n), x^4 here below 4 var^2.
    variances = np.diag(law.covariance)
    assert_allclose(rows.mean(axis=0), law.mean, atol=5 * np.sqrt(variances.max() / n))
    assert_allclose(np.cov(rows.T), law.covariance, atol=5 * 2 * variances.max() / np.sqrt(n))


def test_the_laws_are_those_of_the_figures():
    assert_allclose(TWO_GAUSSIANS.mean, [4.0, 0.0])
    assert_allclose(TWO_GAUSSIANS.covariance, np.diag([0.5, 1.5]))
    assert_allclose(PERPENDICULAR_GAUSSIANS.mean, [-3.0, 0.0])
    assert_allclose(PERPENDICULAR_GAUSSIANS.covariance, np.diag([23.4, 2.6]))


def test_log_density_is_finite_where_the_density_underflows():
    far = np.array([[1e4, 1e4]])
    assert TWO_GAUSSIANS.density(far)[0] == 0.0
    assert np.isfinite(TWO_GAUSSIANS.log_density(far)[0])


def test_the_seed_fixes_the_sample():
    assert_array_equal(TWO_GAUSSIANS.sample(9, 3), TWO_GAUSSIANS.sample(9, 3))
