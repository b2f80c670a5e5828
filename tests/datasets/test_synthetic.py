import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chi2
from sklearn.metrics import roc_auc_score

from rankad.datasets import mulcross, perpendicular_gaussians, two_gaussians
from rankad.datasets.synthetic import _corners


def test_the_bayes_auc_of_figure_2_is_the_published_one():
    data = perpendicular_gaussians(200_000, 200_000, random_state=0)  # standard error 3e-4
    bayes_auc = roc_auc_score(1 - data.y, data.nominal_law.density(data.X))
    assert abs(bayes_auc - 0.974) <= 0.005


def test_the_anomalies_of_figure_2_are_uniform_on_the_square():
    anomalies = perpendicular_gaussians(1, 100_000, random_state=0).anomalies
    assert_allclose(anomalies.mean(axis=0), 0.0, atol=5 * 36 / np.sqrt(12 * 1e5))
    assert_allclose(np.cov(anomalies.T), 36**2 / 12 * np.eye(2), atol=2.5)
    assert np.abs(anomalies).max() < 18.0


def test_figure_1_has_nominal_rows_only():
    data = two_gaussians(50, random_state=1)
    assert data.nominal.shape == (50, 2)
    assert data.anomalies.shape == (0, 2)


@pytest.mark.parametrize("generate", [two_gaussians, perpendicular_gaussians, mulcross])
def test_the_seed_fixes_the_rows(generate):
    first, again, other = (generate(300, random_state=seed) for seed in (5, 5, 6))
    assert_array_equal(first.X, again.X)
    assert_array_equal(first.y, again.y)
    assert not np.array_equal(first.X, other.X)
    assert first.y.dtype == np.int8
    assert first.name == generate.__name__
    assert all([first.source, first.license, first.difference])


@pytest.mark.parametrize("n_features", [1, 4, 7])
def test_mulcross_is_white_to_the_last_digits(n_features):
    data = mulcross(5000, n_features, n_clusters=min(2, 2 ** (n_features - 1)), random_state=0)
    assert_allclose(data.X.mean(axis=0), 0.0, atol=1e-12)
    assert_allclose(np.cov(data.X.T), np.eye(n_features).squeeze(), atol=1e-12)


def test_mulcross_before_whitening_follows_the_recipe():
    """Whitening is affine, so it keeps Mahalanobis distances under the nominal covariance."""
    data = mulcross(100_000, random_state=0)
    assert data.y.sum() == 10_000
    nominal, anomalies = data.nominal, data.anomalies
    unwhiten = np.linalg.inv(np.linalg.cholesky(np.cov(nominal.T)))
    anomalies = (anomalies - nominal.mean(axis=0)) @ unwhiten.T
    radius = 2 * np.sqrt(chi2.ppf(0.999, 4))
    assert_allclose(np.linalg.norm(anomalies, axis=1).mean(), radius, rtol=0.02)
    in_first = np.linalg.norm(anomalies - anomalies[0], axis=1) < radius / 2
    clusters = anomalies[in_first], anomalies[~in_first]
    assert [len(cluster) for cluster in clusters] == [5000, 5000]
    # Corners that differ in two of four coordinates are orthogonal.
    first, second = (cluster.mean(axis=0) for cluster in clusters)
    assert_allclose(first @ second / radius**2, 0.0, atol=0.02)
    for cluster in clusters:
        assert_allclose(np.cov(cluster.T), 0.01 * np.eye(4), atol=0.002)


def test_mulcross_is_shuffled_and_has_the_papers_size():
    data = mulcross(random_state=0)
    assert data.X.shape == (262_144, 4)
    assert data.y.sum() == 26_214
    assert_allclose(data.y[:20_000].mean(), 0.1, atol=0.01)


def test_any_two_corners_differ_in_two_coordinates_or_more():
    corners = _corners(5, 16)
    distances = (corners[:, None] != corners[None]).sum(axis=2)
    assert distances[np.triu_indices(16, 1)].min() == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"contamination": 1.0}, r"contamination=1.0 must lie in \[0, 1\)"),
        ({"contamination": -0.1}, r"contamination=-0.1 must lie in \[0, 1\)"),
        ({"n_clusters": 9}, "n_clusters=9 must lie between 1 and 8"),
        ({"n_clusters": 0}, "n_clusters=0 must lie between 1 and 8"),
        ({"n": 4}, "n=4 rows of 4 columns cannot be whitened. Set n to at least 5"),
    ],
)
def test_mulcross_refuses_what_it_cannot_make(arguments, message):
    with pytest.raises(ValueError, match=message):
        mulcross(**{"n": 100, **arguments})
