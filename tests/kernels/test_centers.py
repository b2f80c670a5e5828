import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rankad.kernels import (
    CenterFeatures,
    distances_between,
    effective_rank,
    gaussian_gram,
    kmeans_centers,
    mean_center_distance,
    pursue,
)


@pytest.fixture
def seed():
    return np.random.RandomState(0)


def test_kmeans_centers_cover_better_than_random_rows(rng, seed):
    points = rng.standard_t(3, size=(3000, 4))
    centers = kmeans_centers(points, 100, seed)
    assert centers.shape == (100, 4)
    random = points[rng.choice(3000, 100, replace=False)]
    covered, by_random = (mean_center_distance(points, c, seed) for c in (centers, random))
    assert covered < 0.9 * by_random


def test_few_distinct_rows_are_the_centers_themselves(rng, seed):
    distinct = rng.normal(size=(7, 2))
    centers = kmeans_centers(distinct[rng.integers(7, size=500)], 20, seed)
    assert_array_equal(centers, np.unique(distinct, axis=0))
    assert mean_center_distance(distinct, centers, seed) == 0.0


def test_centers_of_many_rows_come_from_a_sample_and_are_reproducible(rng, monkeypatch):
    monkeypatch.setattr("rankad.kernels.centers._MIN_SAMPLE", 100)
    points = rng.normal(size=(5000, 2))
    one, other = (kmeans_centers(points, 4, np.random.RandomState(3)) for _ in range(2))
    assert_array_equal(one, other)
    monkeypatch.setattr("rankad.kernels.centers._MIN_SAMPLE", 5000)
    assert np.abs(one - kmeans_centers(points, 4, np.random.RandomState(3))).max() > 1e-6


def test_the_mean_center_distance_is_the_obvious_one(rng, seed):
    points, centers = rng.normal(size=(300, 3)), rng.normal(size=(9, 3))
    assert_allclose(
        mean_center_distance(points, centers, seed),
        distances_between(points, centers).min(axis=1).mean(),
    )


@pytest.mark.parametrize("sigma", [0.3, 2.0, 300.0])
def test_features_are_orthonormal_coordinates(sigma, rng, monkeypatch):
    monkeypatch.setattr("rankad.kernels.centers._CHUNK_ENTRIES", 100)
    centers, points = rng.normal(size=(40, 3)), rng.normal(size=(90, 3))
    features = CenterFeatures.from_centers(centers, sigma)
    w = rng.normal(size=features.basis.shape[1])
    a = features.coefficients(w)
    gram = gaussian_gram(distances_between(centers, centers), sigma)
    values = gaussian_gram(distances_between(points, centers), sigma) @ a
    tolerance = 1e-15 * np.abs(a).sum()
    assert_allclose(features(points) @ w, values, rtol=1e-9, atol=tolerance)
    assert_allclose(a @ gram @ a, w @ w, rtol=1e-6, atol=tolerance * np.abs(a).sum())


def test_pursuit_finds_a_sum_that_has_few_centers(rng):
    centers = rng.normal(size=(60, 3))
    weights = np.zeros(60)
    weights[[3, 17, 40]] = [1.0, -2.0, 0.5]
    gram = gaussian_gram(distances_between(centers, centers), 0.2)
    found = pursue(gram, weights, tolerance=1e-6, n_max=30)
    assert sorted(found.picked) == [3, 17, 40]
    assert_allclose(found.weights, weights[found.picked])


@pytest.mark.parametrize("sigma", [5.0, 20.0])
def test_pursuit_certifies_the_change_of_every_score(sigma, rng):
    centers, weights = rng.normal(size=(200, 3)), rng.normal(size=200)
    gram = gaussian_gram(distances_between(centers, centers), sigma)
    found = pursue(gram, weights, tolerance=1e-2, n_max=150)
    assert len(found.picked) < 150
    assert found.error_bound <= 2e-2
    to_points = gaussian_gram(distances_between(5.0 * rng.normal(size=(500, 3)), centers), sigma)
    change = to_points[:, found.picked] @ found.weights - to_points @ weights
    assert np.abs(change).max() <= found.error_bound + 1e-9
    new_weights = np.zeros(200)
    new_weights[found.picked] = found.weights
    difference = weights - new_weights
    assert_allclose(found.error_bound, np.sqrt(difference @ gram @ difference), rtol=1e-6)


def test_pursuit_gives_up_where_too_many_centers_are_needed(rng):
    centers = rng.normal(size=(50, 5))
    gram = gaussian_gram(distances_between(centers, centers), 0.1)
    assert effective_rank(gram) > 49
    assert pursue(gram, rng.normal(size=50), tolerance=1e-3, n_max=25) is None
    assert pursue(np.ones((5, 5)), np.ones(5), tolerance=1e-3, n_max=2).picked.size == 1


@pytest.mark.parametrize("n_centers", [5, 100], ids=["by k-means", "all distinct rows"])
def test_centers_are_float64_whatever_the_rows(n_centers, rng, seed):
    points = rng.normal(size=(60, 2)).astype(np.float32)
    assert kmeans_centers(points, n_centers, seed).dtype == np.float64


def test_features_of_float32_centers_are_those_of_float64(rng):
    centers, points = rng.normal(size=(20, 3)).astype(np.float32), rng.normal(size=(9, 3))
    narrow, wide = (
        CenterFeatures.from_centers(c, 1.0) for c in (centers, centers.astype(np.float64))
    )
    assert_array_equal(narrow(points), wide(points))
